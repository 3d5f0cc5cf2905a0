"""The contract of a guard: the change that it judges, and its breaches. No guard has I/O."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # their names alone are read, too
    from runner.run.run_spec import Guards

NOTHING, EXECUTABLE, LINK, SUBMODULE = "000000", "100755", "120000", "160000"  # modes, as git has them


@dataclass(frozen=True, slots=True)
class Touched:
    """One path as one comparison shows it: a rename is two, one gone and one new, so both are judged.

    `commit` is empty where base and head are compared. `lines` are those added, with their numbers, `gone`
    those taken away; `binary` and `unread` (too large, or one of too many) say why they may not be all.
    `target` is where a link leads. `whole` is the text before and after, of files judged by sections.
    """

    path: str
    before_mode: str
    mode: str
    before_object: str
    object: str
    commit: str = ""
    size_bytes: int = 0
    binary: bool = False
    unread: bool = False
    lines: tuple[tuple[int, str], ...] = ()
    target: str = ""
    gone: tuple[str, ...] = ()
    whole: tuple[str, str] | None = None

    @property
    def is_new(self) -> bool:
        """Whether nothing stood there before."""
        return self.before_mode == NOTHING

    @property
    def is_file(self) -> bool:
        return self.mode.startswith("100")

    @property
    def is_link(self) -> bool:
        """Whether a link or a submodule stands or stood there: it may bring a folder of somebody else's."""
        return not {self.mode, self.before_mode}.isdisjoint({LINK, SUBMODULE})

    @property
    def was_file(self) -> bool:
        return self.before_mode.startswith("100")


@dataclass(frozen=True, slots=True)
class Message:
    """The message of a commit that GitHub does not have yet."""

    commit: str
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """Everything that a push would put on GitHub, without people's own pushes.

    `before` has the paths of the commit at which it left the base; nothing where it adds no path. `ignored`
    are those of its new paths that the `.gitignore` files of that commit ignore.
    """

    base: str
    head: str
    touched: tuple[Touched, ...]
    messages: tuple[Message, ...]
    before: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Breach:
    """A finding that a guard does not let through. `rule` is the policy's key with its value; `what` ends a
    sentence that begins with the path, `advice` says how to undo it.

    `doubtful`: it may well be harmless, so that a person is asked even where the policy denies.
    """

    path: str
    rule: str
    what: str
    advice: str
    commit: str = ""
    line: int = 0
    mark: str = ""
    doubtful: bool = False


class Guard(Protocol):
    """One file in `runner/guards/builtin/`; its name is its key in `guardrails:` (ask, allow or deny)."""

    FINDS: str  # the subject of a sentence, for people
    ACTION: str  # ask or deny, where the policy does not have its key
    LOAD: Callable[[], object] | None = None  # what takes it long before its first change

    def find_breaches(self, change: Change, rules: "Guards") -> Iterator[Breach]:
        """Yield the breaches of the rules."""


def breach(
    touched: Touched, rule: str, what: str, advice: str, *, line: int = 0, doubtful: bool = False
) -> Breach:
    """Return the breach of one path; its content is the mark, so that permission for it covers no other."""
    mark = f"{touched.mode}:{touched.object}"
    return Breach(
        path=touched.path,
        rule=rule,
        what=what,
        advice=advice,
        commit=touched.commit,
        line=line,
        mark=mark,
        doubtful=doubtful,
    )
