"""Metadata on the command line: NAME=VALUE, where VALUE is JSON or else a text."""

from collections.abc import Sequence

from bot.cli import CliError
from ledger.model.metadata import Metadata
from ledger.model.strict_json import StrictJsonError, parse_json


def read_metadata(pairs: Sequence[str]) -> Metadata:
    """Return the metadata as it may be kept. Raises CliError."""
    from pydantic import TypeAdapter, ValidationError  # what only reads starts without them

    from runner.text.metadata import SentMetadata

    try:
        read: Metadata = TypeAdapter(SentMetadata).validate_python(parse_pairs(pairs))
    except ValidationError as error:
        raise CliError(f"--metadata: {error.errors()[0]['msg']}") from error
    return read


def parse_pairs(pairs: Sequence[str]) -> Metadata:
    """Return the values by their names, unchecked. Raises CliError for a pair without a `=`."""
    given: Metadata = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name in given:
            raise CliError(f"--metadata {pair[:60]}: write NAME=VALUE, each NAME once")
        try:
            given[name] = parse_json(value)
        except StrictJsonError:  # most values are plain text
            given[name] = value
    return given
