"""Takes out of HTML in Markdown what GitHub's readers do not see: attributes, odd tags, comments. Pure.

Where Markdown and HTML disagree on where a tag ends, the longer one counts: too much is taken out, never too
little.
"""

import re

_COMMENT = re.compile(r"<!--[\s\S]*?(?:-->|\Z)")
# Dropped by GitHub's renderer: instructions, declarations and CDATA are HTML that no sanitizer lets through,
# and a browser takes `<! …>` and `</ …>` for comments, too.
# html.spec.whatwg.org/multipage/parsing.html#parse-error-incorrectly-opened-comment
_DECLARED_OPEN = re.compile(r"<\?[\s\S]*|<!\[CDATA\[[\s\S]*|<![A-Za-z][\s\S]*")
_DECLARED = re.compile(
    r"<\?[\s\S]*?(?:\?>|\Z)|<!\[CDATA\[[\s\S]*?(?:\]\]>|\Z)|<!(?!--)[^>]*>|</(?![A-Za-z])[^>]*>"
)
# As a browser reads them: a quote holds whatever stands in it, a `>` too.
_ATTRIBUTE = r"""[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"|'[^']*+'|(?!["'])[^\s>]++)?)?+"""
_TAG = re.compile(r"<(/?[A-Za-z][A-Za-z0-9-]*+)(?=[\s/])")
_REST = re.compile(r"(?:" + _ATTRIBUTE + r")*+[\s/]*+>")
_PLAIN_REST = re.compile(r"[^<>]*>")
_MOST_ENDLESS = 50  # tags without an end; nobody writes more for people, and each is looked for to the end
# Attributes are read by nobody, but `href` and `src`, which say where a link leads.
_ADDRESS = re.compile(r"""(?<![\w-])(?:href|src)\s*=\s*(?:"[^"\s]*"|'[^'\s]*'|[^\s"'>]+)""", re.IGNORECASE)
# github.github.com/gfm/#html-blocks (6): such a line is HTML to the next blank one.
_OPEN_BLOCK = re.compile(
    r"^(?P<lead>[ \t>*+-]{0,20})</?(?:address|article|aside"
    r"|blockquote|body|center|dd|details|dialog|dir|div|dl"
    r"|dt"
    r"|fieldset|figcaption|figure|footer|form|h[1-6]|head|header|hr|html|legend|li|link|main|menu|nav|ol|p"
    r"|section|summary|table|tbody|td|tfoot|th|thead|title|tr|ul)[\s/][^<>]*?(?=\n[ \t]*\n|\Z)",
    re.MULTILINE | re.IGNORECASE,
)
_EMPTIED = ("math", "svg", "noscript")  # html-pipeline's sanitizer drops them with what is in them
_LONG = re.compile(r"</?[A-Za-z][\w.-]{30,}>")  # a name that nobody gives, and that says something
_MOST_UNKNOWN = 4
_RUN = re.compile(r"(?:<[A-Za-z][A-Za-z0-9-]*+>\s*+){5,}")
_NAME = re.compile(r"<([A-Za-z][A-Za-z0-9-]*+)>")
# What GitHub shows; other tags are dropped, so that a row of them would be a sentence for models alone.
_WORDS = """
a abbr b bdo blockquote br caption cite code dd del details dfn div dl dt em figcaption figure h1 h2
h3 h4 h5 h6 hr i img ins kbd li mark ol p picture pre q rp rt ruby s samp small source span strike
strong sub summary sup table tbody td tfoot th thead time tr tt ul var wbr
"""
_SHOWN = frozenset(_WORDS.split())


def without_comments(text: str) -> str:
    """Return `text` without HTML comments; one that does not end goes to the end."""
    return _COMMENT.sub("", text) if "<!--" in text else text


def without_hidden_html(text: str) -> str:
    """Return `text` with its tags bare, and without what HTML keeps from readers."""
    if "<" not in text:
        return text
    for name in _EMPTIED:
        text = _emptied(text, name)
    last = text.rfind(">") + 1  # what never ends is shown, and is looked for only once
    text = _DECLARED.sub("", text[:last]) + _DECLARED_OPEN.sub("", text[last:])
    text = _LONG.sub("", _OPEN_BLOCK.sub(r"\g<lead>", _without_attributes(text)))
    return _RUN.sub(_known, text)


def _emptied(text: str, name: str) -> str:
    folded = text.lower()  # as long as the text: what case folding makes longer is no ASCII
    kept, at = list[str](), 0
    if len(folded) != len(text):
        folded = text
    while True:
        start = folded.find(f"<{name}", at)
        end = folded.find(f"</{name}", start) if start >= 0 else -1
        end = folded.find(">", end) if end >= 0 else -1
        if end < 0:
            return "".join([*kept, text[at:]])
        kept.append(text[at:start])
        at = end + 1


def _without_attributes(text: str) -> str:
    kept, at, endless = list[str](), 0, 0
    found = _TAG.search(text)
    while found is not None:
        rest = _REST.match(text, found.end())
        if rest is None:
            endless += 1
            if endless > _MOST_ENDLESS:
                return "".join([*kept, text[at : found.start()]])
            rest = _PLAIN_REST.match(text, found.end())
        end = rest.end() if rest else found.end()
        kept += [text[at : found.start()], _bare(found[1], rest[0]) if rest else found[0]]
        at = end
        found = _TAG.search(text, at)
    return "".join([*kept, text[at:]])


def _bare(name: str, rest: str) -> str:
    kept = "" if name.startswith("/") else " ".join(_ADDRESS.findall(rest)[:1])
    end = "/" if rest.removesuffix(">").rstrip().endswith("/") else ""
    return f"<{name}{' ' if kept else ''}{kept}{end}>"


def _known(found: re.Match[str]) -> str:
    unknown = [name for name in _NAME.findall(found[0]) if name.lower() not in _SHOWN]
    if len(unknown) <= _MOST_UNKNOWN:
        return found[0]
    return _NAME.sub(lambda tag: tag[0] if tag[1].lower() in _SHOWN else "", found[0])
