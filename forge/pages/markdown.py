"""Markdown of strangers as harmless HTML: allow-listed tags, task lists, references to issues."""

import re
import secrets
from collections.abc import Iterable
from functools import lru_cache

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup, escape

TAGS = frozenset(
    {"a", "b", "blockquote", "br", "code", "dd", "del", "details", "div", "dl", "dt", "em", "hr", "i", "img"}
    | {"h1", "h2", "h3", "h4", "h5", "h6", "ins", "kbd", "li", "ol", "p", "pre", "q", "s", "samp", "span"}
    | {"strike", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr"}
    | {"tt", "ul", "var"}
)
ATTRIBUTES = {
    "a": {"href", "title"},
    "img": {"src", "alt", "title", "width", "height"},
    "td": {"align", "style"},
    "th": {"align", "style"},
    "details": {"open"},
    "ol": {"start"},
    "code": {"class"},
}
TASK = re.compile(r"\[([ xX])\]\s+")
TASK_LINE = re.compile(r"^((?:\s|>)*(?:[-*+]|\d{1,9}[.)])\s+\[)([ xX])(\]\s+)(.*)$")
ALERT = re.compile(r"\[!(note|tip|important|warning|caution)\]", re.IGNORECASE)
ALERT_ICONS = {
    "note": "M3 12a9 9 0 1 0 18 0a9 9 0 1 0-18 0M12 11v6M12 7v.5",
    "tip": "M9 18h6M10 21h4M12 3a6 6 0 0 1 3 11v1H9v-1a6 6 0 0 1 3-11z",
    "important": "M4 4h16v12h-8l-5 4v-4H4zM12 7v4M12 13v.5",
    "warning": "M12 4l9 16H3zM12 10v5M12 17v.5",
    "caution": "M8 3h8l5 5v8l-5 5H8l-5-5V8zM12 8v5M12 16v.5",
}
REFERENCE = re.compile(
    r"(?<![\w/#&.-])(?:([\w.-]+/[\w.-]+)?#(\d{1,9})|@([A-Za-z0-9](?:[A-Za-z0-9_-]{0,38})))\b"
)


class ChangedMeanwhileError(Exception):
    """The ticked task is no longer in the text; `label` is its text."""

    def __init__(self, label: str) -> None:
        self.label = label
        super().__init__(f"The task is no longer there: {label}")


@lru_cache(maxsize=256)
def render(text: str | None, repo: str = "", *, may_tick: bool = False, breaks: bool = True) -> Markup:
    """Return the HTML of `text`; `repo` (owner/name) is where a bare #1 points to.

    A task's checkbox can be ticked when `may_tick`; it carries its line and words for `with_tick`.
    """
    # Only this call knows the mark, so no text can forge a checkbox.
    mark = secrets.token_hex(12)
    parser = MarkdownIt("commonmark", {"html": True, "linkify": True, "breaks": breaks, "maxNesting": 30})
    parser.enable(["table", "strikethrough", "linkify"])
    parser.core.ruler.push("tasks", _mark_tasks)
    parser.core.ruler.push("alerts", _mark_alerts)
    parser.core.ruler.push("references", _link_references)
    tasks: list[tuple[int, bool, str]] = []
    html = parser.render(text or "", {"mark": mark, "tasks": tasks, "repo": repo})

    def keep(_tag: str, attribute: str, value: str) -> str | None:
        if mark in value or (attribute == "class" and not value.startswith("language-")):
            return None
        if attribute == "style":
            return value if re.fullmatch(r"text-align:(left|center|right)", value) else None
        return value

    clean = nh3.clean(
        html,
        tags=set(TAGS),
        attributes={tag: set(names) for tag, names in ATTRIBUTES.items()},
        attribute_filter=keep,
        url_schemes={"http", "https", "mailto"},
        link_rel="nofollow noopener noreferrer",
    )
    # A style attribute would be refused by the page's own policy: the alignment becomes a class.
    clean = re.sub(r'(<t[dh]) style="text-align:(\w+)"', r'\1 class="\2"', clean)
    clean = re.sub(rf"<blockquote>\n<p>{mark}a(\w+)x(</p>)?", _alert, clean)
    for number, task in enumerate(tasks):
        clean = clean.replace(f"{mark}x{number}x", _checkbox(*task, may_tick=may_tick))
    return Markup(clean)  # noqa: S704  the text went through nh3


def _checkbox(line: int, checked: bool, label: str, *, may_tick: bool) -> str:
    state = (" checked" if checked else "") + ("" if may_tick else " disabled")
    words = escape(label)
    return f'<input type="checkbox" class="task" data-line="{line}" data-label="{words}"{state}>'


def _mark_tasks(state: StateCore) -> None:
    tokens = state.tokens
    for before, opener, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if before.type != "list_item_open" or opener.type != "paragraph_open" or inline.type != "inline":
            continue
        task = TASK.match(inline.content)
        first = inline.children[0] if inline.children else None
        if task is None or first is None or first.type != "text" or inline.map is None:
            continue
        tasks = state.env["tasks"]
        label = inline.content[task.end() :].split("\n", 1)[0].strip()
        first.content = f"{state.env['mark']}x{len(tasks)}x {first.content[task.end() :]}"
        tasks.append((inline.map[0], task[1] != " ", label))


def _mark_alerts(state: StateCore) -> None:
    """Mark each block quote of the text's own level that begins with an alert's title, and has more."""
    tokens = state.tokens
    for place, (opener, first, inline) in enumerate(zip(tokens, tokens[1:], tokens[2:], strict=False)):
        if opener.type != "blockquote_open" or opener.level or first.type != "paragraph_open":
            continue
        title = ALERT.fullmatch(inline.content.split("\n", 1)[0].strip())
        children = inline.children or []
        alone = len(children) == 1 and tokens[place + 4].type == "blockquote_close"
        if title is None or alone or children[0].content.strip() != title[0]:
            continue
        inline.children = [_text(f"{state.env['mark']}a{title[1].lower()}x"), *children[2:]]


def _alert(match: re.Match[str]) -> str:
    kind, is_whole = match[1], match[2]
    path = f'<path d="{ALERT_ICONS[kind]}"/>'
    icon = f'<svg viewBox="0 0 24 24" width="16" height="16" aria-hidden="true">{path}</svg>'
    title = f'<p class="alert-title">{icon}{kind.capitalize()}</p>'
    return f'<blockquote class="alert {kind}">\n{title}{"" if is_whole else "<p>"}'


def _link_references(state: StateCore) -> None:
    for token in state.tokens:
        if token.type != "inline" or not token.children:
            continue
        depth = 0
        children: list[Token] = []
        for child in token.children:
            depth += (child.type == "link_open") - (child.type == "link_close")
            plain = child.type == "text" and depth == 0
            children.extend(_split_references(child.content, state.env["repo"]) if plain else [child])
        token.children = children


def _split_references(text: str, repo: str) -> Iterable[Token]:
    start = 0
    for match in REFERENCE.finditer(text):
        target, number = match[1] or repo, match[2]
        if number and not target:
            continue
        yield _text(text[start : match.start()])
        if number:
            yield Token("link_open", "a", 1, attrs={"href": f"/{target}/issues/{number}"})
        else:
            yield Token("strong_open", "strong", 1)
        yield _text(match[0])
        yield Token("link_close", "a", -1) if number else Token("strong_close", "strong", -1)
        start = match.end()
    yield _text(text[start:])


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def with_tick(body: str, line: int, label: str, checked: bool) -> str:
    """Return `body` with the task ticked or not; raises ChangedMeanwhileError when it is not there.

    The text may have been edited since the page was shown: the words of the task count, its line is a hint.
    """
    lines = body.split("\n")
    places = [number for number, text in enumerate(lines) if _is_task(text, label)]
    if line not in places and len(places) != 1:
        raise ChangedMeanwhileError(label)
    position = line if line in places else places[0]
    lines[position] = TASK_LINE.sub(
        rf"\g<1>{'x' if checked else ' '}\g<3>\g<4>", lines[position].rstrip("\r")
    )
    return "\n".join(lines)


def _is_task(text: str, label: str) -> bool:
    match = TASK_LINE.match(text.rstrip("\r"))
    return match is not None and match[4].strip() == label
