"""Board calls in an agent's text: fenced blocks called `board`, for agents without our tools."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ledger.model.strict_json import StrictJsonError, parse_json

_TEXT_BYTES = 400_000
_BLOCK_BYTES = 40_000
_BLOCKS = 20
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)")


@dataclass(frozen=True, slots=True)
class TextCall:
    """One block. `problem` is for the agent; empty without one."""

    tool: str
    input: Any
    problem: str = ""


def calls_in(text: str) -> tuple[TextCall, ...]:
    """Return the calls in the blocks of `text`, in order; never raises.

    A block inside another one, in a quote, or without an end is plain text.
    """
    blocks = _blocks(text[:_TEXT_BYTES])
    return tuple(_read(block) for block, _ in zip(blocks, range(_BLOCKS), strict=False))


def _blocks(text: str) -> Iterator[str]:
    fence, ours, lines = "", False, list[str]()
    for line in text.split("\n"):
        match = _FENCE.fullmatch(line.rstrip("\r"))
        if not fence:
            if match:
                fence, ours, lines = match["fence"], match["info"].strip() == "board", []
        elif match and match["fence"].startswith(fence) and not match["info"].strip():
            if ours:
                yield "\n".join(lines)
            fence = ""
        elif ours:
            lines.append(line)


def _read(block: str) -> TextCall:
    if len(block) > _BLOCK_BYTES:
        return TextCall("", None, f"the block is longer than {_BLOCK_BYTES} characters: say it shorter")
    try:
        said = parse_json(block)
    except StrictJsonError as error:
        return TextCall("", None, f"the block is no JSON: {error.because}")
    tool = said.get("tool") if isinstance(said, dict) else None
    if not isinstance(tool, str) or not tool:
        return TextCall("", None, 'the block must be {"tool": "<name>", "input": {…}}')
    extra = [name[:40] for name in said if name not in ("tool", "input")]
    if extra:
        return TextCall(tool, None, f"besides `tool` and `input` there is {', '.join(extra[:3])}")
    return TextCall(tool, said.get("input", {}))
