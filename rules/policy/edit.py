"""Changing the text of a policy file to what it should say; comments, order and form of all else stay."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Any

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

from rules.errors import PolicyError
from rules.policy.model import DEFAULT_TEXT
from rules.policy.yaml_reader import MAX_BYTES, read

Key = tuple[str, ...]
FORM = "the file's form cannot be kept: edit it by hand"
TOO_LARGE = f"with this change the file is larger than {MAX_BYTES // 1024} KiB: shorten it by hand first"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*")  # needs no quotes, also in braces
_BREAK = re.compile(r"\r\n?|\n|\Z")


def set_settings(text: str, changes: Mapping[Key, object]) -> str:
    """Return the file with each setting at its path set; a part that is missing is made.

    Raises PolicyError as `write_tree` does.
    """
    tree = read(text).tree
    for key, value in changes.items():
        _put(tree, key, value)
    return write_tree(text, tree)


def _put(tree: dict[str, Any], key: Key, value: object) -> None:
    """Set one setting of a file's tree. Raises PolicyError where a part of the path is no group."""
    for depth, name in enumerate(key[:-1], 1):
        tree = tree.setdefault(name, {})
        if not isinstance(tree, dict):
            raise PolicyError((f"{'.'.join(key[:depth])}: is no group of settings: edit it by hand",))
    tree[key[-1]] = value


def write_tree(text: str, tree: dict[str, Any]) -> str:
    """Return the file that says `tree`: what it says already stays as it is written.

    What is new comes on one line, a key behind its group's others. Raises PolicyError for a file that cannot
    be read, or whose form this cannot keep.
    """
    before = read(text).tree
    edits = list(_edit_value(text, yaml.compose(text, Loader=yaml.SafeLoader), before, tree))
    changed = text
    for edit in reversed(sorted(edits, key=lambda edit: (edit.start, edit.end))):
        changed = changed[: edit.start] + edit.written + changed[edit.end :]
    return _checked(changed, tree)


def rename_group(text: str, key: Key, name: str) -> str:
    """Return the file with another name for the key; its value and its place stay.

    Raises PolicyError as `write_tree` does, and where the group has that name already, or has no such key.
    """
    tree = group = read(text).tree
    value: Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    for depth, part in enumerate(key):
        pair = _pair(value, part) if isinstance(value, MappingNode) else None
        if pair is None:
            raise PolicyError((FORM,))
        mark, value = pair
        group = group[part] if depth < len(key) - 1 else group
    renamed = {name if it == key[-1] else it: its for it, its in group.items()}
    group.clear()
    group.update(renamed)
    return _checked(f"{text[: mark.start_mark.index]}{_flow(name)}{text[mark.end_mark.index :]}", tree)


def write_built_in_board(text: str) -> str:
    """Return the file with the built-in board at its end, where it has none: one column of it is no board.

    Raises PolicyError as `write_tree` does.
    """
    tree = read(text).tree
    if "board" in tree:
        return text
    newline = _newline(text)
    board = DEFAULT_TEXT.partition("\n")[2].replace("\n", newline)
    before = text if text.endswith(("\n", "\r")) else text + newline
    return _checked(before + board, {**tree, "board": read(DEFAULT_TEXT).tree["board"]})


def start_from(text: str, recipe: str) -> str:
    """Return the file with the recipe's columns in place of its own.

    What else the recipe sets is added where the file does not set it, except the home; all that the file
    says stays. Raises PolicyError as `set_settings` does.
    """
    text = write_built_in_board(text)
    tree, other = read(text).tree, read(recipe).tree
    changes: dict[Key, object] = {(name,): value for name, value in other.items() if name not in tree}
    board = tree["board"] if isinstance(tree["board"], dict) else {}
    for name, value in other["board"].items():
        if name not in board:
            changes[("board", name)] = value
        elif name != "columns" and isinstance(value, dict) and isinstance(board[name], dict):
            changes |= {("board", name, key): its for key, its in value.items() if key not in board[name]}
    changes.pop(("board", "home"), None)
    return set_settings(_replace_columns(text, recipe), changes)


def _replace_columns(text: str, recipe: str) -> str:
    """Return the file with the recipe's columns as they are written there, indented as the file is."""
    expected = read(text).tree
    columns = read(recipe).tree["board"]["columns"]
    mine, theirs = _at_columns(text), _at_columns(recipe)
    if mine is None or theirs is None:  # a board without columns
        return set_settings(text, {("board", "columns"): columns})
    (board, name, value), (_, their_name, their_value) = mine, theirs
    if board.flow_style:
        return set_settings(text, {("board", "columns"): columns})
    indent = " " * name.start_mark.column
    written = recipe[their_name.start_mark.index : _end(recipe, their_value)]
    first, *others = written.split("\n")
    more = [indent + line[their_name.start_mark.column :] if line else "" for line in others]
    block = _newline(text).join([first, *more])
    changed = text[: name.start_mark.index] + block + text[_end(text, value) :]
    expected["board"]["columns"] = columns
    return _checked(changed, expected)


def _at_columns(text: str) -> tuple[CollectionNode, Node, Node] | None:
    """Return the board's node, and its columns' name and value."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    board = _pair(root, "board") if isinstance(root, MappingNode) else None
    columns = _pair(board[1], "columns") if board and isinstance(board[1], MappingNode) else None
    return (board[1], *columns) if board and columns and isinstance(board[1], CollectionNode) else None


def _checked(text: str, expected: dict[str, Any]) -> str:
    """Return the text if it is read as expected."""
    if len(text.encode()) > MAX_BYTES:
        raise PolicyError((TOO_LARGE,))
    try:
        found = read(text).tree
    except PolicyError as error:  # the file was right: it is the change that does not fit its form
        raise PolicyError((FORM,)) from error
    if found != expected:
        raise PolicyError((FORM,))
    return text


def _newline(text: str) -> str:
    """Return how the file's first line ends."""
    found = re.search(r"\r\n?|\n", text)
    return found[0] if found else "\n"


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Other letters for those from `start` up to `end`."""

    start: int
    end: int
    written: str


@dataclass(frozen=True, slots=True)
class WrittenChild:
    """A pair of a mapping, or an item of a sequence with its dash, as it stands in the text."""

    start: int
    end: int
    keep: bool  # it stays


def _edit_value(text: str, node: Node | None, before: object, after: object) -> Iterator[TextEdit]:
    """Yield the edits by which a value becomes another; one that is replaced whole is the caller's."""
    match node, before, after:
        case MappingNode(), dict(), dict():
            yield from _edit_mapping(text, node, before, after)
        case SequenceNode(), list(), list():
            yield from _edit_sequence(text, node, before, after)


def _is_replaced(before: object, after: object) -> bool:
    """Tell whether a value is written anew; one with a part that stays keeps its form."""
    if isinstance(before, dict) and isinstance(after, dict):
        return before.keys().isdisjoint(after) and before != after
    if isinstance(before, list) and isinstance(after, list):
        return not (before and after) and before != after
    return type(before) is not type(after) or before != after


def _edit_mapping(
    text: str, node: MappingNode, before: dict[str, Any], after: dict[str, Any]
) -> Iterator[TextEdit]:
    children = list[WrittenChild]()
    for name, value in node.value:
        key = name.value
        children.append(WrittenChild(name.start_mark.index, _end(text, value), key in after))
        if key not in after:
            continue
        if _is_replaced(before[key], after[key]):
            yield _replace(text, name, value, _flow(after[key]))
        else:
            yield from _edit_value(text, value, before[key], after[key])
    new = [f"{_flow(name)}: {_flow(value)}" for name, value in after.items() if name not in before]
    yield from _arrange(text, node, children, new, len(children))


def _edit_sequence(text: str, node: SequenceNode, before: list[Any], after: list[Any]) -> Iterator[TextEdit]:
    """Items alike at the end stay; before them one is changed into another, as far as there are two."""
    most = min(len(before), len(after))
    tail = next((at for at in range(most) if before[-1 - at] != after[-1 - at]), most)
    both = range(most - tail)
    children = list[WrittenChild]()
    for index, item in enumerate(node.value):
        start = item.start_mark.index
        keep = index < both.stop or index >= len(before) - tail
        with_dash = start if node.flow_style else text.rindex("-", 0, start)
        children.append(WrittenChild(with_dash, _end(text, item), keep))
        if index not in both:
            continue
        if _is_replaced(before[index], after[index]):
            yield TextEdit(start, children[-1].end, _flow(after[index]))
        else:
            yield from _edit_value(text, item, before[index], after[index])
    dash = "" if node.flow_style else "- "
    new = [f"{dash}{_flow(item)}" for item in after[both.stop : len(after) - tail]]
    yield from _arrange(text, node, children, new, both.stop)


def _arrange(
    text: str, node: CollectionNode, children: list[WrittenChild], new: list[str], at: int
) -> Iterator[TextEdit]:
    """Yield the edits that take out the children that go, and put new ones in before the one of number `at`.

    At least one child stays, if there is any.
    """
    for keep, run in groupby(children, lambda child: child.keep):
        gone = [] if keep else list(run)
        for child in gone:
            line = _line_start(text, child.start)
            if not node.flow_style and not text[line : child.start].strip():
                yield TextEdit(line, _next_line(text, child.end), "")
                continue
            behind = children[children.index(gone[-1]) + 1 :]
            if behind:  # up to the next one that stays, which may be on this line
                yield TextEdit(child.start, behind[0].start, "")
            else:
                yield TextEdit(children[children.index(gone[0]) - 1].end, gone[-1].end, "")
            break
    between = ", " if node.flow_style else _newline(text) + " " * node.start_mark.column
    before = [child for child in children[:at] if child.keep]
    if new and before:
        place = before[-1].end if node.flow_style else _line_end(text, before[-1].end)
        yield TextEdit(place, place, "".join(between + it for it in new))
    elif new:
        first = next(child.start for child in children if child.keep)
        yield TextEdit(first, first, "".join(it + between for it in new))


def _line_start(text: str, index: int) -> int:
    return max(text.rfind("\n", 0, index), text.rfind("\r", 0, index)) + 1


def _line_end(text: str, index: int) -> int:
    found = _BREAK.search(text, index)
    return found.start() if found else len(text)


def _next_line(text: str, index: int) -> int:
    found = _BREAK.search(text, index)
    return found.end() if found else len(text)


def _pair(node: MappingNode, name: str) -> tuple[Node, Node] | None:
    pairs: Sequence[tuple[Node, Node]] = node.value
    return next((pair for pair in pairs if isinstance(pair[0], ScalarNode) and pair[0].value == name), None)


def _replace(text: str, name: Node, value: Node, written: str) -> TextEdit:
    """Return the edit to another value behind the name; a comment between them comes after it."""
    colon = name.end_mark.index
    comment = re.search(r"#[^\r\n]*", text[colon : value.start_mark.index])
    shown = f": {written}{f'  {comment[0]}' if comment else ''}"
    return TextEdit(colon, _end(text, value), shown)


def _end(text: str, node: Node) -> int:
    """Return where the node's last letter is: a block's own end is where the next thing begins."""
    if isinstance(node, CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(text, last[1] if isinstance(last, tuple) else last)
    begin, end = node.start_mark.index, node.end_mark.index
    return begin + len(text[begin:end].rstrip())


def _flow(value: object) -> str:
    """Return a value on one line."""
    match value:
        case dict():
            return f"{{{', '.join(f'{_flow(name)}: {_flow(one)}' for name, one in value.items())}}}"
        case list() | tuple():
            return f"[{', '.join(map(_flow, value))}]"
        case str() if not (_PLAIN.fullmatch(value) and read(f"it: {value}").tree == {"it": value}):
            return f'"{"".join(map(_escape, value))}"'
        case str():
            return value
        case float():
            return f"{Decimal(repr(value)):f}"  # the reader knows no exponents
    return yaml.safe_dump(value).removesuffix("\n").removesuffix("\n...") if value is not None else "null"


def _escape(letter: str) -> str:
    """Return a letter as it stands between double quotes. Source: yaml.org/spec/1.2.2, 5.7."""
    if letter in '"\\':
        return f"\\{letter}"
    return letter if letter.isprintable() else "\\n" if letter == "\n" else f"\\U{ord(letter):08x}"
