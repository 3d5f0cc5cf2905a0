"""Terminal output of a program as HTML: colours as classes, everything else as text."""

from markupsafe import Markup, escape

from runner.text.plain import TERMINAL_CODE
from runner.text.untrusted import without_invisible

_BOLD = "bold"


def terminal_html(text: str) -> Markup:
    """Return the text, escaped, in spans of the classes `bold` and `c0` to `c15`."""
    text = "\n".join(map(_last_written, text.split("\n")))
    pieces, place, colour, bold = list[Markup](), 0, "", False
    for match in TERMINAL_CODE.finditer(text):
        pieces.append(_span(text[place : match.start()], colour, bold))
        place = match.end()
        if match["sgr"] is not None:
            colour, bold = _style(match["sgr"], colour, bold)
    pieces.append(_span(text[place:], colour, bold))
    return Markup("").join(pieces)


def _last_written(line: str) -> str:
    """Return the final text of a line that a progress bar rewrites."""
    return line.rstrip("\r").rpartition("\r")[2]


def _span(text: str, colour: str, bold: bool) -> Markup:
    kept = without_invisible(text)
    classes = " ".join(filter(None, (colour, _BOLD if bold else "")))
    return Markup('<span class="{}">{}</span>').format(classes, kept) if classes and kept else escape(kept)


def _style(codes: str, colour: str, bold: bool) -> tuple[str, bool]:
    """Return the style after these codes; a colour beyond the sixteen leaves the text as it was."""
    numbers = iter([int(code or 0) for code in codes.split(";")])
    for number in numbers:
        match number:
            case 0:
                colour, bold = "", False
            case 1:
                bold = True
            case 22:
                bold = False
            case 39:
                colour = ""
            case 38 | 48:
                for _ in range(1 if next(numbers, 0) == 5 else 3):
                    next(numbers, 0)
            case _ if 30 <= number <= 37:
                colour = f"c{number - 30}"
            case _ if 90 <= number <= 97:
                colour = f"c{number - 82}"
    return colour, bold
