"""Reads programs of the Agent Client Protocol from files: Cardinal's own, and the operator's in the home."""

import re
from collections import Counter
from dataclasses import fields
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails
from yaml.constructor import ConstructorError
from yaml.nodes import MappingNode, ScalarNode

from runner.agents.acp.program import AcpProgram
from runner.agents.contract import Metering
from runner.errors import ProgramError

BUILT_IN = Path(__file__).parent / "programs"
_ENDING = ".yml"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")  # as a policy can say it
_CAP_BYTES = 256 * 1024
_PROGRAMS = TypeAdapter(AcpProgram)
_KEYS = tuple(field.name for field in fields(AcpProgram) if field.name != "name")


def list_programs(folder: Path | None) -> tuple[str, ...]:
    """Return the names of the programs that a folder describes, sorted."""
    files = folder.glob(f"*{_ENDING}") if folder is not None else ()
    return tuple(sorted(file.stem for file in files if _NAME.fullmatch(file.stem)))


def list_unread_files(folder: Path) -> tuple[Path, ...]:
    """Return what else is in a folder of programs, sorted: no policy can name it."""
    files = folder.glob("[!.]*")  # an editor's own begin with a dot
    return tuple(sorted(it for it in files if it.suffix != _ENDING or not _NAME.fullmatch(it.stem)))


def read_program(folder: Path, name: str) -> AcpProgram:
    """Return the program of that name. Raises ProgramError, which names the file and what to change."""
    path = folder / f"{name}{_ENDING}"
    try:
        with path.open("rb") as file:
            data = file.read(_CAP_BYTES + 1)
    except OSError as error:
        raise ProgramError(path, f"cannot be read: {error.strerror}") from error
    if len(data) > _CAP_BYTES:
        raise ProgramError(path, f"is larger than {_CAP_BYTES // 1024} KiB")
    return _parse_program(path, data)


class _Loader(yaml.SafeLoader):
    """Refuses a key that a mapping has twice: the last would count."""

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = Counter(key.value for key, _ in node.value if isinstance(key, ScalarNode))
        if twice := next((key for key, times in keys.items() if times > 1), None):
            raise ConstructorError(None, None, f"{twice} is written twice: keep one", node.start_mark)
        return super().construct_mapping(node, deep)


@lru_cache(maxsize=64)  # a policy's check reads all files, and parsing one takes ten times as long
def _parse_program(path: Path, data: bytes) -> AcpProgram:
    try:
        written = yaml.load(data, _Loader)  # noqa: S506  a safe one
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ProgramError(path, f"is not YAML: {' '.join(str(error).split())[:300]}") from error
    if not isinstance(written, dict):
        raise ProgramError(path, "is not a mapping of keys, such as `version` and `command`")
    if "name" in written:
        raise ProgramError(path, "has a `name`: the file's own name is the agent's, so remove the key")
    return _validate_program(path, {"name": path.stem, **written})


def _validate_program(path: Path, written: dict[str, Any]) -> AcpProgram:
    try:
        program = _PROGRAMS.validate_python(written)
    except (ValidationError, TypeError) as error:  # TypeError: a key that is not text
        if isinstance(error, TypeError):
            raise ProgramError(path, "has a key that is not text") from error
        details = error.errors(include_input=False, include_url=False)
        raise ProgramError(path, "; ".join(map(_sentence_of, details))) from error
    if missing := sorted({"default", "small"} - set(program.models)):
        raise ProgramError(path, f"models: lacks {' and '.join(missing)}, the names that a policy can say")
    if outside := [
        name for name in program.files if not name.startswith(tuple(f"{at}/" for at in program.clears))
    ]:
        raise ProgramError(path, f"files.{outside[0]}: is in no folder that `clears` names")
    if not program.provider and program.metering is Metering.GATEWAY:
        raise ProgramError(path, "provider: is empty, so nothing would be metered: set `metering: agent` too")
    return program


def _sentence_of(detail: ErrorDetails) -> str:
    """Return where a mistake is, and what to write there."""
    loc = [str(part) for part in detail["loc"] if part != "[key]"]
    match detail["type"]:
        case "unexpected_keyword_argument":
            meant = get_close_matches(loc[-1], _KEYS, n=1) or [f"one of {', '.join(_KEYS)}"]
            said = f"is not a key: did you mean {meant[0]}?"
        case "missing" | "missing_argument":
            said = "is missing: add it"
        case "string_type" | "invalid_key":
            said = 'must be text: write it in quotes, "…"'
        case "tuple_type":
            said = "must be a list: write [first, second]"
        case "too_short":
            said = "is empty: write at least one word"
        case "dict_type" | "mapping_type":
            said = "must have keys: write {KEY: value}"
        case "enum":
            said = f"must be {detail.get('ctx', {}).get('expected')}"
        case _:
            said = detail["msg"].removeprefix("Value error, ")
    return f"{'.'.join(loc) or 'it'}: {said}"
