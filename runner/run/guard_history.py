"""What a run's events say of its guards: the newest judgement, and what the agent was told to undo. Pure."""

from dataclasses import dataclass, field

from ledger.event import Event
from ledger.events.guard import GuardsJudged, Violation
from ledger.events.turn import TurnStarted

GUARD_TURN = "repair-guard"
Key = tuple[str, str, str, str]


@dataclass(slots=True)
class Refusals:
    """A part of the fold of a run's stream; `count` are the judgements that refused the change."""

    judged: GuardsJudged | None = None
    count: int = 0
    moved: bool = True  # a turn was begun since the judgement, or there is none
    given_back: set[Key] = field(default_factory=set)

    def take(self, event: Event) -> int:
        """Fold one event, and return how many iterations it costs: a refused change costs one."""
        if isinstance(event, GuardsJudged):
            self.judged, self.moved = event, False
            self.count += bool(self.denied)
            return int(bool(self.denied))
        if isinstance(event, TurnStarted):
            self.moved = True
            if event.turn.startswith(GUARD_TURN):
                self.given_back |= set(map(_key, self.denied))
        return 0

    @property
    def turn(self) -> str:
        """The name of the turn in which the agent is to undo what was refused last."""
        return f"{GUARD_TURN}-{self.count}"

    @property
    def denied(self) -> tuple[Violation, ...]:
        """What the newest judgement refuses."""
        return tuple(one for one in self.judged.findings if one.action == "deny") if self.judged else ()

    @property
    def stands(self) -> bool:
        """Whether something is refused that the agent was told to undo before."""
        return any(_key(one) in self.given_back for one in self.denied)


def _key(one: Violation) -> Key:
    """Return what makes a finding the same, whatever commit it is in and on whatever line."""
    return one.guard, one.rule, one.path, one.what
