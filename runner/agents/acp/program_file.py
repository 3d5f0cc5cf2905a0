"""Reads programs of the Agent Client Protocol from files: Cardinal's own, and the operator's in the home."""

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from runner.agents.acp.program import AcpProgram
from runner.errors import ProgramError

BUILT_IN = Path(__file__).parent / "programs"
_ENDING = ".yml"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")  # as a policy can say it
_CAP_BYTES = 256 * 1024
_PROGRAMS = TypeAdapter(AcpProgram)


def list_programs(folder: Path | None) -> tuple[str, ...]:
    """Return the names of the programs that a folder describes, sorted."""
    files = folder.glob(f"*{_ENDING}") if folder is not None else ()
    return tuple(sorted(file.stem for file in files if _NAME.fullmatch(file.stem)))


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


@lru_cache(maxsize=64)  # a policy's check reads all files, and parsing one takes ten times as long
def _parse_program(path: Path, data: bytes) -> AcpProgram:
    try:
        written = yaml.safe_load(data)
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
        wrong = (
            f"{'.'.join(map(str, it['loc'])) or 'it'}: {it['msg'].removeprefix('Value error, ')}"
            for it in error.errors(include_input=False, include_url=False)
        )
        raise ProgramError(path, "; ".join(wrong)) from error
    if missing := sorted({"default", "small"} - set(program.models)):
        raise ProgramError(path, f"models: lacks {' and '.join(missing)}, the names that a policy can say")
    if outside := [
        name for name in program.files if not name.startswith(tuple(f"{at}/" for at in program.clears))
    ]:
        raise ProgramError(path, f"files.{outside[0]}: is in no folder that `clears` names")
    return program
