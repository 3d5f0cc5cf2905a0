"""JSON from outside, read in one way only: where two readers could differ, it is refused."""

import json
from typing import Any

from ledger.errors import CardinalError


class StrictJsonError(CardinalError, ValueError):
    """The text is not JSON, or could be read in two ways; `because` says so, for its writer."""

    def __init__(self, because: str) -> None:
        self.because = because
        super().__init__(because)


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. Raises StrictJsonError.

    Refused are a key that an object has twice (RFC 8259, section 4: readers differ), NaN and Infinity,
    nesting or a number that Python does not read, and bytes that are not UTF-8.
    """
    try:
        said = text.decode("utf-8") if isinstance(text, bytes) else text
        return json.loads(said, object_pairs_hook=_without_doubles, parse_constant=_refuse_constant)
    except StrictJsonError:
        raise
    except RecursionError as error:
        raise StrictJsonError("it is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise StrictJsonError("it is not UTF-8") from error
    except ValueError as error:
        raise StrictJsonError(str(error)[:200]) from error


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for name, value in pairs:
        if name in read:
            raise StrictJsonError(f"it names the key {name[:60]!r} twice")
        read[name] = value
    return read


def _refuse_constant(name: str) -> Any:
    raise StrictJsonError(f"{name} is no number in JSON")
