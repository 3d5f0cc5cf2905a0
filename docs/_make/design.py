"""The design of the pages, from its style sheet: tokens with their contrast, states, parts, icons."""

import re
from collections.abc import Mapping
from pathlib import Path

from bot.web.assets import files

SHEET = Path(files.__file__).with_name("style.css")
TEMPLATE = Path(files.__file__).parents[1] / "pages/templates/parts/ui.html"
GROUNDS = ("paper", "sheet", "soft")  # what text stands on
TEXTS = ("ink", "quiet", "link", "brand", "good", "bad", "warn", "busy", "merged")
TINTED = {name: f"{name}-soft" for name in ("good", "bad", "warn", "busy", "merged")}
PAGES = Path(files.__file__).parents[1]
COMPONENTS = {
    "badge of a state": "state",
    "dot of a state": "dot",
    "rows of one line": "rows",
    "table that scrolls sideways": "wide",
    "panel": "panel",
    "bar of stages": "stages",
    "timeline, newest first": "chapters",
    "conversation": "story",
    "diff": "diff",
    "progress": "progress",
    "empty state": "empty",
    "toast": "toast",
    "skeleton": "skeleton",
}
_TOKEN = re.compile(r"--([a-z-]+): ([^;]+);")
_COLOUR = re.compile(r"light-dark\((#[0-9a-f]{3,6}), (#[0-9a-f]{3,6})\)")
_STATES = re.compile(r"^((?:\.[a-z-]+, )*\.[a-z-]+) \{ color: var\(--(\w+)\); background", re.MULTILINE)


def tokens() -> Mapping[str, str]:
    """Return each token's value by its name."""
    root = SHEET.read_text().partition("\n}\n")[0]
    return dict(_TOKEN.findall(root))


def colours() -> Mapping[str, tuple[str, str]]:
    """Return each colour by light and by dark."""
    found = ((name, _COLOUR.fullmatch(value)) for name, value in tokens().items())
    return {name: (match[1], match[2]) for name, match in found if match}


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, 1 to 21. Source: w3.org/TR/WCAG22/#dfn-contrast-ratio."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    parts = (int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4))
    red, green, blue = (it / 12.92 if it <= 0.04045 else ((it + 0.055) / 1.055) ** 2.4 for it in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def least_contrast(text: str) -> float:
    """Return the least contrast of a colour of text on any ground that it stands on, light or dark."""
    known = colours()
    grounds = (*GROUNDS, *filter(None, (TINTED.get(text),)))
    return min(contrast(known[text][it], known[ground][it]) for ground in grounds for it in (0, 1))


def table() -> str:
    """Return the colours of text with their least contrast, and the other tokens."""
    known = colours()
    rows = [
        f"| `--{name}` | `{known[name][0]}` | `{known[name][1]}` | {least_contrast(name):.1f} |"
        for name in TEXTS
    ]
    others = [f"| `--{name}` | `{value}` |" for name, value in tokens().items() if name not in TEXTS]
    head = ["| colour of text | light | dark | least contrast |", "| --- | --- | --- | --- |"]
    return "\n".join((*head, *rows, "", "| token | value |", "| --- | --- |", *others))


def states() -> str:
    """Return which colour says which states."""
    rules = re.sub(r"\} \.", "}\n.", SHEET.read_text())
    found = [(name, re.findall(r"\.([a-z-]+)", listed)) for listed, name in _STATES.findall(rules)]
    icons = icons_of_states()
    rows = (
        f"| `--{name}` | {', '.join(_state(it.replace('-', ' '), icons) for it in its)} |"
        for name, its in found
    )
    return "\n".join(("| colour | states, each with its icon |", "| --- | --- |", *rows))


def icons_of_states() -> Mapping[str, str]:
    """Return the icon of each state by its word."""
    return dict(re.findall(r'"([a-z ]+)": "([a-z0-9-]+)"', TEMPLATE.read_text()))


def _state(word: str, icons: Mapping[str, str]) -> str:
    return f"{word} (`{icons[word]}`)" if word in icons else word


def components() -> str:
    """Return which class makes each part, and the templates that have it."""
    texts = [(it.name, it.read_text()) for it in sorted(PAGES.rglob("*.html"))]
    rows = []
    for name, word in COMPONENTS.items():
        having = re.compile(rf"class=\"[^\"]*(?<![\w-]){word}(?![\w-])")
        users = dict.fromkeys(f"`{it}`" for it, text in texts if having.search(text))
        rows.append(f"| {name} | `.{word}` | {', '.join(users) or 'its script'} |")
    return "\n".join(("| part | class | used in |", "| --- | --- | --- |", *rows))


def parts() -> str:
    """Return the macros that templates are made of, and the icons."""
    macros = re.findall(r"\{% macro (\w+)\(([^)]*)\)", TEMPLATE.read_text())
    rows = "\n".join(f"| `{name}` | `{given}` |" for name, given in macros)
    icons = ", ".join(f"`{name}`" for name in sorted(files.ICONS.split()))
    return f"| macro | takes |\n| --- | --- |\n{rows}\n\nIcons, by their names at lucide.dev: {icons}."
