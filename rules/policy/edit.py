"""Changing single settings in the text of a policy file; comments, order and form of all else stay."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

from rules.errors import PolicyError
from rules.policy.model import DEFAULT_TEXT
from rules.policy.yaml_reader import MAX_BYTES, read

Key = tuple[str, ...]
FORM = "the file's form cannot be kept: edit it by hand"
TOO_LARGE = f"with this change the file is larger than {MAX_BYTES // 1024} KiB: shorten it by hand first"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*")  # needs no quotes, also in braces


def set_settings(text: str, changes: Mapping[Key, object]) -> str:
    """Return the file with each setting at its path set; a part that is missing is made.

    Raises PolicyError for a file that cannot be read, or whose form this cannot keep.
    """
    expected = read(text).tree
    for key, value in changes.items():
        try:
            text = _set(text, key, value)
        except yaml.YAMLError as error:  # an earlier change did not fit the file's form
            raise PolicyError((FORM,)) from error
        _put(expected, key, value)
    return _checked(text, expected)


def write_built_in_board(text: str) -> str:
    """Return the file with the built-in board at its end, where it has none: one column of it is no board.

    Raises PolicyError as `edit` does.
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


def _put(tree: dict[str, Any], key: Key, value: object) -> None:
    for name in key[:-1]:
        tree = tree.setdefault(name, {})
    tree[key[-1]] = value


def _set(text: str, key: Key, value: object) -> str:
    node, depth = yaml.compose(text, Loader=yaml.SafeLoader), 0
    while isinstance(node, MappingNode):
        pair = _pair(node, key[depth])
        if pair is None:
            return _insert(text, node, key[depth], _flow(_nested(key[depth + 1 :], value)))
        name, node = pair
        depth += 1
        if depth == len(key):
            return _replace(text, name, node, _flow(value))
    raise PolicyError((f"{'.'.join(key[:depth])}: is no group of settings: edit it by hand",))


def _pair(node: MappingNode, name: str) -> tuple[Node, Node] | None:
    pairs: Sequence[tuple[Node, Node]] = node.value
    return next((pair for pair in pairs if isinstance(pair[0], ScalarNode) and pair[0].value == name), None)


def _replace(text: str, name: Node, value: Node, written: str) -> str:
    """Return the text with another value behind the name; a comment between them comes after it."""
    colon = name.end_mark.index
    comment = re.search(r"#[^\n]*", text[colon : value.start_mark.index])
    return f"{text[:colon]}: {written}{f'  {comment[0]}' if comment else ''}{text[_end(text, value) :]}"


def _end(text: str, node: Node) -> int:
    """Return where the node's last letter is: a block's own end is where the next thing begins."""
    if isinstance(node, CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(text, last[1] if isinstance(last, tuple) else last)
    begin, end = node.start_mark.index, node.end_mark.index
    return begin + len(text[begin:end].rstrip())


def _nested(key: Key, value: object) -> object:
    for name in reversed(key):
        value = {name: value}
    return value


def _insert(text: str, node: MappingNode, name: str, value: str) -> str:
    """Return the text with one more pair: the last one in `{…}`, else before the mapping's first line."""
    pair = f"{_flow(name)}: {value}"
    if node.flow_style and node.value:
        end = _end(text, node.value[-1][1])
        return f"{text[:end]}, {pair}{text[end:]}"
    if node.flow_style:
        begin = node.start_mark.index + 1
        return f"{text[:begin]}{pair}{text[begin:]}"
    first = node.value[0][0].start_mark
    return f"{text[: first.index]}{pair}{_newline(text)}{' ' * first.column}{text[first.index :]}"


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
    return yaml.safe_dump(value).removesuffix("\n").removesuffix("\n...") if value is not None else "null"


def _escape(letter: str) -> str:
    """Return a letter as it stands between double quotes. Source: yaml.org/spec/1.2.2, 5.7."""
    if letter in '"\\':
        return f"\\{letter}"
    return letter if letter.isprintable() else "\\n" if letter == "\n" else f"\\U{ord(letter):08x}"
