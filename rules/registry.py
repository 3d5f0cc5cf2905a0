"""The kinds of parts that rules have: the contract of each, and the registry that finds its files."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel

from ledger.parts import Registry
from ledger.states import CardState

if TYPE_CHECKING:  # the policy and the snapshot need the registries themselves
    from ledger.events.conversation import CommandGiven
    from rules.card.state import DerivedState
    from rules.card.trigger import RuleTrigger
    from rules.chatops.offers import CommandOffer
    from rules.intents.outbound import Decision
    from rules.policy.column import ColumnPolicy
    from rules.policy.model import Policy
    from rules.policy.roles import Role
    from rules.snapshot import Snapshot


class SlashCommand(Protocol):
    """A file of `rules/commands/`; its name is the word after `/cardinal`.

    `TAKES`: none, optional (a word on the first line), text, or optional text; the latter two go over lines.
    `INSTEAD` is the advice against a text that the command does not take. A command that includes others
    needs their roles, too: always those of `ALSO`, and after a first word that of `SCOPES`. `MOVES`: it needs
    the right to move cards. `offers` yields the forms and buttons that fit how a card stands, whoever looks;
    a page has each command for its card without them.
    """

    USAGE: str
    ROLE: "Role"
    TAKES: str = "none"
    INSTEAD: str = ""
    ALSO: tuple[str, ...] = ()
    SCOPES: Mapping[str, str] = {}
    MOVES: bool = False
    NAMES_RUN: bool = False  # its text begins with a run of the card, any one, also one beside its own
    TAKES_METADATA: bool = False  # programs may send a dictionary with its text
    IS_SAFE: bool = False  # it stops work or only answers: it is obeyed whatever else its comment says
    offers: "Callable[[Policy, Snapshot], Iterable[CommandOffer]] | None" = None

    def handle(
        self, policy: "Policy", snapshot: "Snapshot", given: "CommandGiven", now: datetime
    ) -> "Decision":
        """Return the command's decision."""


class Archetype(Protocol):
    """A file of `rules/columns/`: a kind of column.

    `STATES` are those that a card may have there, the first one first; archived is legal everywhere.
    `ENTRY_ACTIONS` hold where a policy gives no `on_entry`. `AFTER_DISMISSAL` is how a card stands once its
    last verdict was taken back; None: as `derive` says.
    """

    STATES: tuple[CardState, ...]
    STARTS_RUNS: bool = False  # agents work on the cards
    HAS_ASSISTANT: bool = False  # the planning assistant answers comments
    HAS_REVIEWS: bool = False  # people review the pull request
    IS_FINAL: bool = False  # the end of a card's way: what is delivered is merged
    TAKES_NEW_CARDS: bool = False  # cards that agents propose are put there
    ENTRY_ACTIONS: tuple[dict[str, Any], ...] = ()
    AFTER_DISMISSAL: "DerivedState | None" = None

    def enter(
        self, policy: "Policy", snapshot: "Snapshot", column: "ColumnPolicy", trigger: "RuleTrigger"
    ) -> "Decision":
        """Return the decision on a card that enters."""

    def derive(self, policy: "Policy", snapshot: "Snapshot") -> "DerivedState | None":
        """Return the state of a card without a live run; None: as it is."""

    def headline(self, column: "ColumnPolicy") -> str:
        """Return the effect of an entry, in one line."""


class Action(Protocol):
    """A file of `rules/actions/`: an entry of `on_entry` and `on_exit`, under the file's name."""

    Settings: type[BaseModel]

    def fits(self, archetype: Archetype) -> bool:
        """Return whether columns of that kind may list it."""

    def plan(
        self, policy: "Policy", snapshot: "Snapshot", settings: Any, trigger: "RuleTrigger"
    ) -> "Decision":
        """Return the action's decision."""

    def headline(self, settings: Any) -> str:
        """Return the end of a sentence that begins with `Entering`."""


class BuiltInProfile(Protocol):
    """A file of `rules/profiles/`: how people work in one kind of repository, and the checks that suit it."""

    TEXT: str
    SETUP: tuple[str, ...] = ()
    FAST: tuple[str, ...] = ()
    FULL: tuple[str, ...] = ()
    START: str = ""
    ADDRESS: str = ""
    SKILLS: tuple[str, ...] = ()


class EventHandlers(Protocol):
    """A file of `rules/handlers/`: its functions say by `@answers(Kind)` about which events they decide."""


COMMANDS = Registry[SlashCommand]("slash command", "rules.commands", SlashCommand, dashes=True)
ARCHETYPES = Registry[Archetype]("kind of column", "rules.columns", Archetype)
ACTIONS = Registry[Action]("action", "rules.actions", Action)
PROFILES = Registry[BuiltInProfile]("profile", "rules.profiles", BuiltInProfile)
HANDLERS = Registry[EventHandlers]("rule", "rules.handlers", EventHandlers)
UNNAMED = "inbox"  # the archetype of a column that no policy names
