"""Facts about a folder of a repository, read from its manifests: tables, scripts, targets, packages."""

import json
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property

Tree = Mapping[str, object]
SEPARATOR = "#"  # between a file and the keys in it: names of packages have dots and slashes
MAX_CHARS = 100_000  # of one manifest; what is longer is not looked into, as TOML of dots takes long
_BYTE_ORDER_MARK = "\ufeff"  # Windows editors write it, and npm and Cargo read past it
# docs.npmjs.com/cli/commands/npm-init writes the last one.
_NO_CHECK = re.compile(r"(?<![\w-])(?:--fix\b|--write\b|--apply\b|-w\b)|no test specified")
_STRING = r'("(?:[^"\\\n]|\\.)*"?)'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])")
_WILD = re.compile(r"[*?\[]")
_KEY = re.compile(r"^([\w.-]+)\s*[=:]")
_RULE = re.compile(r"^([^\s#:=][^#:=]*)::?(?![:=])(?P<rest>.*)$")
_VARIABLE = re.compile(r"^\s*(?:(?:export|override|private)\s+)*[\w.-]+\s*[:+?!]*=")
_RECIPE = re.compile(r"[A-Za-z_][\w-]*")
_TASK = re.compile(r"""^(?P<indent>[ \t]+)['"]?(?P<name>[\w:.-]+)['"]?\s*:""")
_GEM = re.compile(
    r"""(?m)^[ \t]*(?:gem|\w+\.add(?:_development|_runtime)?_dependency)[ (]+['"]([\w.-]+)"""
    r"""|^ {4}([\w.-]+) \("""
)
_WORD = re.compile(r"[A-Za-z_][\w-]*")
_CTEST = re.compile(r"(?mi)^[^#\n]*?\b(enable_testing|ctest)\b")
_SESSION = re.compile(r"(?m)^def (\w+)\(\s*session\b")
_REQUIREMENT = re.compile(r"^\s*([A-Za-z0-9][\w.-]*)")


@dataclass(frozen=True)
class Project:
    """One folder's files, by their names from there on, and the texts of its manifests.

    `installed` are languages whose packages a person has installed already.
    """

    names: Collection[str]
    texts: Mapping[str, str]
    installed: frozenset[str] = frozenset()

    @cached_property
    def _trees(self) -> dict[str, Tree]:
        return {}

    @cached_property
    def _by_folder(self) -> Mapping[str, list[str]]:
        """The names by their first folder; those at the top are under an empty one."""
        matches: dict[str, list[str]] = {}
        for name in self.names:
            matches.setdefault(name.partition("/")[0] if "/" in name else "", []).append(name)
        return matches

    def _tree(self, name: str) -> Tree:
        """Return the content of a manifest; an empty tree where it cannot be read."""
        if name not in self._trees:
            text = self.texts[name]
            self._trees[name] = (
                _read(name, text.removeprefix(_BYTE_ORDER_MARK)) if len(text) <= MAX_CHARS else {}
            )
        return self._trees[name]

    def values(self, fact: str) -> Iterator[object]:
        """Yield the values at `FILE#KEY#KEY`; the file may be a pattern, and `*` is every key."""
        file, *keys = fact.split(SEPARATOR)
        matches: list[object] = [self._tree(name) for name in self.texts if fnmatchcase(name, file)]
        for key in keys:
            tables = [table for table in matches if isinstance(table, Mapping)]
            matches = [value for table in tables for name, value in table.items() if key in (name, "*")]
        yield from matches

    def has(self, fact: str) -> bool:
        """Tell whether a fact holds: a pattern of a file's name, keys in it, or `=` and a pattern of a text.

        Without a pattern, a script or recipe that changes files, or checks nothing, does not count.
        """
        at, _, wanted = fact.partition("=")
        if SEPARATOR not in at:
            return self.file_of(at) != ""
        return any(
            (fnmatchcase(value, wanted) if wanted else not _NO_CHECK.search(value))
            if isinstance(value, str)
            else value is not None and not wanted
            for value in self.values(at)
        )

    def file_of(self, fact: str) -> str:
        """Return the name of the file that a fact is about; empty without such a file."""
        pattern = fact.partition(SEPARATOR)[0]
        if not _WILD.search(pattern):
            return pattern if pattern in self.names else ""
        folder, slash, _ = pattern.partition("/")
        names = self.names if pattern.startswith("*") else self._by_folder.get(folder if slash else "", ())
        return min((name for name in names if fnmatchcase(name, pattern)), default="")


def requirement_names(value: object) -> Iterator[str]:
    """Yield the names of packages in requirements: a list of specifiers, or a table by name."""
    if isinstance(value, Mapping):
        yield from (str(key).casefold() for key in value)
    elif isinstance(value, list):
        for each in value:
            if isinstance(each, str) and (matches := _REQUIREMENT.match(each)):
                yield matches[1].casefold()


def _read(name: str, text: str) -> Tree:
    reader = next((read for pattern, read in _READERS if fnmatchcase(name.rpartition("/")[2], pattern)), None)
    return reader(text) if reader else {}


def _strict_json(text: str) -> Tree:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}  # the package manager refuses it as well
    return value if isinstance(value, dict) else {}


def _json_with_comments(text: str) -> Tree:
    return _strict_json(strip_comments(text))


def strip_comments(text: str) -> str:
    """Return JSON with comments as plain JSON, without its comments and last commas."""
    for extra in (_COMMENT, _LAST_COMMA):
        text = extra.sub(lambda matches: matches[1] or "", text)
    return text


def _toml(text: str) -> Tree:
    """Return the tables; of a file that does not parse, the names of its tables alone."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        tree: dict[str, object] = {}
        for name in _ini(text):
            at = tree
            for part in name.split(".")[:20]:
                below = at.setdefault(part.strip("\"' "), {})
                at = below if isinstance(below, dict) else {}
        return tree


def _ini(text: str) -> Tree:
    sections: dict[str, object] = {}
    keys: dict[str, object] = {}
    for line in text.splitlines():
        if line.startswith("["):
            keys = {}
            sections[line.lstrip("[").partition("]")[0].strip()] = keys
        elif key := _KEY.match(line):
            keys[key[1]] = True
    return sections


def _make(text: str) -> Tree:
    targets: dict[str, object] = {}
    current: tuple[str, ...] = ()
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            targets |= {name: f"{targets[name]}{line}\n" for name in current}
        elif (rule := _RULE.match(line)) and not _VARIABLE.match(rule["rest"]):
            current = tuple(rule[1].split())
            targets |= {name: targets.get(name, "") for name in current}
    return targets


def _just(text: str) -> Tree:
    """Return the recipes that can be started without an argument."""
    recipes: dict[str, object] = {}
    current = ""
    for line in text.splitlines():
        if line[:1] in (" ", "\t"):
            if current:
                recipes[current] = f"{recipes[current]}{line}\n"
        elif line.strip():
            head, _, rest = line.partition(":")
            recipe, *parameters = head.removeprefix("@").split() or [""]
            is_free = all(each.startswith("*") or "=" in each for each in parameters)
            starts = ":" in line and not rest.startswith("=") and _RECIPE.fullmatch(recipe)
            current = recipe if starts and is_free else ""
            if current:
                recipes[current] = ""
    return recipes


def _tasks(text: str) -> Tree:
    """Return the tasks of a Taskfile: the outermost keys below `tasks:`."""
    tasks: dict[str, object] = {}
    inside, indent, current = False, "", ""
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line[0] not in " \t":
            inside, indent = line.split("#")[0].strip() == "tasks:", ""
            continue
        task = _TASK.match(line) if inside else None
        if task and (not indent or task["indent"] == indent):
            indent, current = task["indent"], task["name"]
            tasks[current] = ""
        elif inside and current:
            tasks[current] = f"{tasks[current]}{line}\n"
    return {"tasks": tasks}


def _find_words(pattern: re.Pattern[str]) -> Callable[[str], Tree]:
    """Return a reader of the words that a pattern finds, the first group that is filled."""

    def read(text: str) -> Tree:
        return {
            next(filter(None, matches.groups()), matches[0]).casefold(): True
            for matches in pattern.finditer(text)
        }

    return read


def _requirements(text: str) -> Tree:
    return dict.fromkeys(requirement_names(text.splitlines()), True)


_READERS: tuple[tuple[str, Callable[[str], Tree]], ...] = (
    ("package.json", _strict_json),
    ("composer.json", _strict_json),
    ("deno.json", _json_with_comments),
    ("deno.jsonc", _json_with_comments),
    ("CMakePresets.json", _json_with_comments),
    ("pyproject.toml", _toml),
    ("Cargo.toml", _toml),
    ("tox.toml", _toml),
    ("Pipfile", _toml),
    ("setup.cfg", _ini),
    ("tox.ini", _ini),
    ("pytest.ini", _ini),
    ("mypy.ini", _ini),
    (".mypy.ini", _ini),
    ("GNUmakefile", _make),
    ("[Mm]akefile", _make),
    ("[Jj]ustfile", _just),
    (".justfile", _just),
    ("[Tt]askfile.y*ml", _tasks),
    ("[Tt]askfile.dist.y*ml", _tasks),
    ("Gemfile", _find_words(_GEM)),
    ("Gemfile.lock", _find_words(_GEM)),
    ("*.gemspec", _find_words(_GEM)),
    ("noxfile.py", _find_words(_SESSION)),
    ("*requirements*.txt", _requirements),
    ("go.mod", _find_words(_WORD)),
    ("CMakeLists.txt", _find_words(_CTEST)),
    ("Rakefile", _find_words(_WORD)),
    ("build.gradle", _find_words(_WORD)),
    ("build.gradle.kts", _find_words(_WORD)),
    *((name, _find_words(_WORD)) for name in ("pom.xml", "mix.exs", "*.PL", "cpanfile", "dist.ini")),
)


def is_manifest(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern, _ in _READERS)
