"""Cardinal's pages and the forge's look alike: the same tokens, and buttons and badges made of them."""

import re
from pathlib import Path

import pytest

from bot.web.assets import files
from bot.web.live import run_parts
from bot.web.site import layout
from docs._make import design

ROOT = Path(__file__).parents[2]
CARDINAL, FORGE = ROOT / "bot/web/assets/style.css", ROOT / "forge/pages/assets/base.css"
SHEETS = {
    CARDINAL: sorted(ROOT.glob("bot/web/**/*.html")),
    FORGE: [*sorted(ROOT.glob("forge/pages/**/*.html")), *sorted(ROOT.glob("forge/pages/assets/*.css"))],
}
TOKENS = re.compile(r"^:root \{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
SHARED = ("font-size", "font-weight", "padding", "border-radius", "line-height")


def tokens(sheet: Path) -> str:
    (block,) = TOKENS.findall(sheet.read_text())
    return str(block)


def shape(sheet: Path, selector: str) -> dict[str, str]:
    """Return what a rule says of a thing's shape; its colours say what it means there."""
    (rule,) = re.findall(rf"^{re.escape(selector)} \{{(.*)\}}$", sheet.read_text(), re.MULTILINE)
    said = dict(it.strip().split(": ", 1) for it in rule.split(";") if it.strip())
    return {name: said[name] for name in SHARED if name in said}


def test_both_have_the_same_tokens() -> None:
    assert tokens(CARDINAL) == tokens(FORGE)


@pytest.mark.parametrize(
    ("cardinals", "forges"), [(".button, button", ".button"), (".state", ".badge")], ids=["button", "badge"]
)
def test_buttons_and_badges_have_one_shape(cardinals: str, forges: str) -> None:
    assert shape(CARDINAL, cardinals) == shape(FORGE, forges) != {}


@pytest.mark.parametrize("sheet", SHEETS, ids=["cardinal", "forge"])
def test_every_token_comes_from_there(sheet: Path) -> None:
    defined = set(re.findall(r"(--[a-z-]+):", tokens(sheet)))
    texts = [it.read_text() for it in (sheet, *SHEETS[sheet])]
    assert set(re.findall(r"var\((--[a-z-]+)", "".join(texts))) <= defined
    assert [it for text in texts for it in re.findall(r"(--[a-z-]+):", TOKENS.sub("", text))] == []


def test_no_token_is_idle() -> None:
    files = [it for sheet, others in SHEETS.items() for it in (sheet, *others)]
    used = set(re.findall(r"var\((--[a-z-]+)", "".join(it.read_text() for it in files)))
    assert set(re.findall(r"(--[a-z-]+):", tokens(FORGE))) <= used


@pytest.mark.parametrize("text", design.TEXTS)
def test_text_can_be_read_on_every_ground_by_day_and_by_night(text: str) -> None:
    assert design.least_contrast(text) >= 4.5


@pytest.mark.parametrize("fill", ["good", "bad", "busy", "merged"])
def test_white_letters_can_be_read_on_what_is_filled(fill: str) -> None:
    assert design.contrast(design.tokens()[f"{fill}-fill"], "#ffffff") >= 4.5


def test_no_class_has_a_look_that_nothing_on_a_page_has() -> None:
    sources = "".join(
        it.read_text() for it in ROOT.glob("bot/web/**/*.*") if it.suffix in (".html", ".py", ".js")
    )
    given = re.findall(r"""class(?:Name)?\\?\s*[=:]\s*\\?["'](.*?)["'][ >}),]|["']([\w-]+)["']""", sources)
    made = "".join(word.replace(" ", "-") + " " for word in design.icons_of_states())
    known = set(re.findall(r"[\w-]+", made + " ".join(f"{its} {word}" for its, word in given)))
    rules = re.sub(r"\{[^{}]*\}", "", re.sub(r"/\*.*?\*/", "", CARDINAL.read_text(), flags=re.DOTALL))
    styled = set(re.findall(r"\.([a-zA-Z][\w-]*)", rules))
    assert {it for it in styled - known if not re.fullmatch(r"[cs][0-9]+", it)} == set()  # colours by number
    assert set(design.COMPONENTS.values()) <= styled & known


def test_every_icon_that_pages_show_is_in_the_sprite_and_none_there_is_idle() -> None:
    files_of_pages = [it for it in ROOT.glob("bot/web/**/*.*") if it.suffix in (".html", ".py", ".js")]
    texts = {it: it.read_text() for it in files_of_pages if it.name != "files.py"}
    named = set(re.findall(r'icon\("([a-z0-9-]+)"', "".join(texts.values())))
    named |= {*design.icons_of_states().values(), *run_parts.ICONS.values(), *run_parts.STEP_ICONS.values()}
    named |= {icon for _, icon, _ in (*layout.NAV, *layout.OPERATORS_NAV)}
    icons = set(files.ICONS.split())
    assert named - icons == set()
    assert {it for it in icons if not any(f'"{it}"' in text for text in texts.values())} == set()
