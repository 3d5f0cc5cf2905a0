"""The format of the env file: `NAME=value` lines, comments, quotes that may span lines."""

import re

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
    lines = enumerate(text.splitlines(), start=1)
    for number, line in lines:
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.fullmatch(stripped)
        if match is None:
            raise EnvLineError(number, "not NAME=value")
        name, value = match.groups()
        if name in found:
            raise EnvLineError(number, f"{name} is given twice")
        quote = value[:1]
        if quote in ("'", '"'):
            while value.find(quote, 1) < 0:
                following = next(lines, None)
                if following is None:
                    raise EnvLineError(number, f"the quote of {name} never ends")
                value = f"{value}\n{following[1]}"
            value, _, rest = value[1:].partition(quote)
            if rest.strip() and not rest.strip().startswith("#"):
                raise EnvLineError(number, f"text after the quote of {name}")
            value = value.replace("\\n", "\n") if quote == '"' else value
        found[name] = value
    return found
