"""The format of the env file: `NAME=value` lines, comments, quotes that may span lines."""

import re
from collections.abc import Iterator, Mapping

from ledger.errors import CardinalError

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", re.DOTALL)


class EnvLineError(CardinalError):
    """A line is not `NAME=value`; `line` counts from 1. The text is left out: it may be a secret."""

    def __init__(self, line: int, because: str) -> None:
        self.line, self.because = line, because
        super().__init__(f"line {line}: {because}")


def parse(text: str) -> dict[str, str]:
    """Return the values by name. In double quotes, `\\n` is a line break; a quoted value may span lines.

    Raises EnvLineError on a line that is none, on a quote that never ends and on a name given twice.
    """
    found: dict[str, str] = {}
    for name, value, number, _last in _statements(text):
        if name in found:
            raise EnvLineError(number, f"{name} is given twice")
        found[name] = value
    return found


def changed(text: str, values: Mapping[str, str]) -> str:
    """Return the file's text with these values set; everything else stays as people wrote it.

    Raises EnvLineError for a text that cannot be read, and ValueError for a value that no line can hold.
    """
    lines = text.splitlines()
    spans = {name: (first, last) for name, _, first, last in _statements(text) if name in values}
    for name, (first, last) in sorted(spans.items(), key=lambda span: span[1], reverse=True):
        lines[first - 1 : last] = [_line(name, values[name])]
    lines += [_line(name, value) for name, value in values.items() if name not in spans]
    return "\n".join([*lines, ""])


def _line(name: str, value: str) -> str:
    if not re.fullmatch(r"[^\s'\"#][^\s'\"]*|", value):
        raise ValueError(f"{name} would need quotes")
    return f"{name}={value}"


def _statements(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield name, value, first and last line of each assignment."""
    lines = enumerate(text.splitlines(), start=1)
    for number, line in lines:
        stripped, last = line.strip(), number
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.fullmatch(stripped)
        if match is None:
            raise EnvLineError(number, "not NAME=value")
        name, value = match.groups()
        quote = value[:1]
        if quote in ("'", '"'):
            while value.find(quote, 1) < 0:
                following = next(lines, None)
                if following is None:
                    raise EnvLineError(number, f"the quote of {name} never ends")
                value, last = f"{value}\n{following[1]}", following[0]
            value, _, rest = value[1:].partition(quote)
            if rest.strip() and not rest.strip().startswith("#"):
                raise EnvLineError(number, f"text after the quote of {name}")
            value = value.replace("\\n", "\n") if quote == '"' else value
        yield name, value, number, last
