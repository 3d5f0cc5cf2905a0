"""Events of the board: its columns as seen, cards as seen, moved, ranked, archived; stops."""

from dataclasses import dataclass
from datetime import datetime

from ledger.event import Event, RuleEvent, Zoom
from ledger.ids import BoardId, CardId
from ledger.states import CardState, PullCard, Reason

# The reasons that give the work up. Source: docs.github.com/rest/issues/issues (state_reason).
ABANDONED = ("not_planned", "duplicate")


def name_person(by: str) -> str:
    """Return the person; older Cardinals wrote `the board` for a drag."""
    return "somebody" if by in ("", "the board") else by


@dataclass(frozen=True, slots=True)
class BoardEvent(Event):
    """The base of events of a whole board."""

    board_id: BoardId

    @property
    def stream(self) -> str:
        return f"board:{self.board_id}"


@dataclass(frozen=True, slots=True)
class CardEvent(Event):
    """The base of events of one card."""

    card_id: CardId

    @property
    def stream(self) -> str:
        return f"card:{self.card_id}"


@dataclass(frozen=True, slots=True)
class Column:
    """One option of the board's Status field."""

    option_id: str
    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Field:
    """One project field; `kind` is GitHub's dataType: TEXT, NUMBER, SINGLE_SELECT …"""

    field_id: str
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class BoardSeen(BoardEvent):
    """The board's shape was read; appended only when it differs from the one known."""

    owner: str
    number: int
    title: str
    status_field_id: str
    columns: tuple[Column, ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class BoardServed(BoardEvent):
    """Cardinal works for this board. Its policy is in `policy_repository` (owner/name; empty: OWNER/board);
    while several boards wait for workers, each starts runs in proportion to its `weight`.
    """

    policy_repository: str = ""
    weight: int = 1


@dataclass(frozen=True, slots=True)
class BoardRemoved(BoardEvent):
    """Cardinal works for this board no more; its cards stay where they are."""


@dataclass(frozen=True, slots=True)
class Renaming:
    """A column that has another name now; its option, and with it its cards, are the same."""

    option_id: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ColumnsChanged(BoardEvent):
    """Somebody renamed or deleted columns. Nobody dragged the cards that stand there: those of a column that
    was renamed stay in it, those of one that was deleted stand in none.
    """

    renamed: tuple[Renaming, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StatusLost(BoardEvent):
    """The board has no field Status any more, so no card's column can be read. `renamed`: how the field is
    called now; empty where it is gone.
    """

    renamed: str


@dataclass(frozen=True, slots=True)
class StatusFound(BoardEvent):
    """The board has its field Status again."""


@dataclass(frozen=True, slots=True)
class CardSeen(CardEvent, zoom=Zoom.CONVERSATION, is_audited=True):
    """A card was seen first. `repository` is owner/name; None with `number` for a draft issue.

    `arrived` is false for a card that stood on the board before Cardinal did: it starts nothing by itself.
    `by` put it there and has the role `role` in its repository; both are empty where that is not known.
    `own`: Cardinal did.
    """

    board_id: BoardId
    content_id: str
    repository: str | None
    number: int | None
    title: str
    body: str
    author: str
    column: str | None
    state: CardState
    labels: tuple[str, ...] = ()
    arrived: bool = True
    by: str = ""
    role: str = ""
    own: bool = False
    pull_card: PullCard = PullCard.NONE

    def describe(self) -> str:
        return f"appeared in {self.column or 'no column'}: {self.title}"


@dataclass(frozen=True, slots=True)
class CardDescribed(CardEvent, is_audited=True, affects_dispatch=False):
    """The title, description or labels of the card's issue differ from the known ones.

    `expanded`: GitHub shows a description that a rule's model wrote over `body`, as in BodyExpanded.
    """

    title: str
    body: str
    labels: tuple[str, ...]
    expanded: bool = False


@dataclass(frozen=True, slots=True)
class CardAssigned(CardEvent, zoom=Zoom.ACTIVITY):
    """The people to whom the card's issue is assigned differ from those that were known."""

    assignees: tuple[str, ...]

    def describe(self) -> str:
        return f"is assigned to {', '.join(self.assignees) or 'no one'}"


@dataclass(frozen=True, slots=True)
class LabelJudged(CardEvent, zoom=Zoom.ACTIVITY, affects_dispatch=False):
    """`by`, with the role `role` in the card's repository, set a label. `counts`: they may choose by it."""

    label: str
    by: str
    role: str
    counts: bool

    def describe(self) -> str:
        return f"{self.by} set the label {self.label}{'' if self.counts else ', which chooses nothing'}"


@dataclass(frozen=True, slots=True)
class CardConverted(CardEvent, zoom=Zoom.ACTIVITY, line="became {repository}#{number}"):
    """A draft issue became an issue, or its issue is in another place now.

    `before` is the earlier name of the repository where the issue is the same: that was renamed, or given to
    another owner, and everything of the card that was there is. `place_before` is owner/repository#number of
    the issue until then; empty for a draft.
    """

    content_id: str
    repository: str
    number: int
    before: str = ""
    place_before: str = ""


@dataclass(frozen=True, slots=True)
class CardReplaced(CardEvent, zoom=Zoom.ACTIVITY, line="became {repository}#{number}"):
    """A new issue took the place of the draft issue `draft` on the board, where GitHub let the App convert
    none: that card has this id from now on.
    """

    draft: CardId
    content_id: str
    repository: str
    number: int


@dataclass(frozen=True, slots=True)
class CardMoved(CardEvent, zoom=Zoom.CONVERSATION, is_audited=True, changes_lane=True):
    """The card stands in another column than known; `by_cardinal` tells an own move from a person's.

    `by` moved it and has the role `role` in its repository; both are empty where that is not known. Of an own
    move `by` is who asked for it, or whose run it was made for. `told_at` is when a delivery or a sweep said
    that the card changed; None where nothing said so, and in older events.
    """

    before: str | None
    after: str | None
    by_cardinal: bool
    by: str = ""
    role: str = ""
    told_at: datetime | None = None

    def describe(self) -> str:
        way = f"from {self.before or 'no column'} to {self.after or 'no column'}"
        return f"{'Cardinal' if self.by_cardinal else name_person(self.by)} moved it {way}"


@dataclass(frozen=True, slots=True)
class MoverFound(
    CardEvent,
    RuleEvent,
    only_shows=True,
    zoom=Zoom.CONVERSATION,
    line="{by} had moved it to {column}",
    is_audited=True,
):
    """It became known who put the card into the column where it was seen already: a delivery came late, or
    somebody stood up for it by a command.
    """

    column: str
    by: str
    role: str


@dataclass(frozen=True, slots=True)
class CardArrived(CardEvent, zoom=Zoom.CONVERSATION, is_audited=True):
    """A delivery told that the card came to the column where it is known to stand, at `came_at` by GitHub's
    clock: it left and came back between two looks, or was dragged there before Cardinal knew the board.
    `by` did it, with that role; both are empty where it is not known.
    """

    column: str
    came_at: datetime
    by: str = ""
    role: str = ""

    def describe(self) -> str:
        return f"{name_person(self.by)} moved it to {self.column} again"


@dataclass(frozen=True, slots=True)
class CardArchived(CardEvent, zoom=Zoom.CONVERSATION, is_audited=True, changes_lane=True):
    """The card left the board: archived, or deleted for good; `reason` is the observation.

    `by` took it away and has the role `role` in its repository; both are empty where that is not known.
    """

    reason: str
    by: str = ""
    role: str = ""

    def describe(self) -> str:
        return f"{self.by or 'someone'} took it off the board: {self.reason}"


@dataclass(frozen=True, slots=True)
class CardRestored(CardEvent, zoom=Zoom.CONVERSATION, is_audited=True):
    """An archived card is back on the board; `by` and `role` are as in CardArchived."""

    by: str = ""
    role: str = ""

    def describe(self) -> str:
        return f"{self.by or 'someone'} brought it back on the board"


@dataclass(frozen=True, slots=True)
class ColumnRanked(BoardEvent):
    """The order of a column's cards from top to bottom was read and differs from the one known."""

    column: str
    order: tuple[CardId, ...]


@dataclass(frozen=True, slots=True)
class CardStateChanged(CardEvent, zoom=Zoom.ACTIVITY, changes_lane=True):
    """The rules moved the card's state; `because` is the sentence that people read, `reason` its code."""

    before: CardState
    after: CardState
    because: str
    reason: Reason = Reason.OTHER

    def describe(self) -> str:
        return f"{self.before} → {self.after}: ".replace("_", " ") + self.because


@dataclass(frozen=True, slots=True)
class CardExplained(
    CardEvent, RuleEvent, only_shows=True, zoom=Zoom.ACTIVITY, line="{because}", changes_lane=True
):
    """Why the card waits or does not move, in one line, changed; `reason` is its code.

    `changed`: the code is another than before; false in older events. `queue_place` is 0 but in old events:
    there the line begins with the place of the card's run in the queue.
    """

    because: str
    reason: Reason = Reason.OTHER
    queue_place: int = 0
    changed: bool = False


@dataclass(frozen=True, slots=True)
class CardHeldBack(CardEvent, RuleEvent, zoom=Zoom.CONVERSATION):
    """Somebody dragged the card out mid-run; it is put back until they choose. Empty `wanted`: chosen."""

    wanted: str
    by: str

    def describe(self) -> str:
        if not self.wanted:
            return "not held back now"
        return f"{name_person(self.by)} dragged it to {self.wanted}; held back"


@dataclass(frozen=True, slots=True)
class IssueClosed(CardEvent, zoom=Zoom.CONVERSATION):
    """The card's issue was closed; `reason` is GitHub's state_reason: completed, not_planned, duplicate.

    `by` is empty when it is not known. `trusted`: is known to have the right to move cards.
    """

    reason: str
    by: str
    trusted: bool = False

    def describe(self) -> str:
        return f"{self.by or 'someone'} closed the issue: {self.reason}"


@dataclass(frozen=True, slots=True)
class IssueReopened(CardEvent, zoom=Zoom.CONVERSATION):
    """The card's issue was opened again."""

    by: str

    def describe(self) -> str:
        return f"{self.by or 'someone'} reopened the issue"


@dataclass(frozen=True, slots=True)
class DecisionFailed(
    CardEvent, zoom=Zoom.CONVERSATION, line="nothing was decided about {of} (event {seq}): {because}"
):
    """The rules could not decide the event numbered `seq`, of the kind `of`: nothing of it was done.

    `because` is the error, for whoever mends Cardinal. A board's events use the board's id as `card_id`.
    """

    seq: int
    of: str
    because: str


@dataclass(frozen=True, slots=True)
class StopOrdered(BoardEvent, RuleEvent):
    """No run starts in the scope, and those there were told to stop. `scope`: board, column or card.

    `because` is why somebody blocked a card, for people; empty for a pause. `claims`: `by` took the card.
    """

    scope: str
    target: str
    by: str
    because: str = ""
    claims: bool = False


@dataclass(frozen=True, slots=True)
class StopLifted(BoardEvent, RuleEvent):
    """Runs may start in the scope again."""

    scope: str
    target: str
    by: str


@dataclass(frozen=True, slots=True)
class BoardHalted(BoardEvent, RuleEvent):
    """Runs of several cards failed for one cause, so none starts until `until`; then one may try.

    `because` is the text for people; `tries` counts the runs that tried in vain.
    """

    cause: str
    because: str
    until: datetime
    tries: int


@dataclass(frozen=True, slots=True)
class BoardProbed(BoardEvent):
    """The board waited long enough: one run may try whether the cause of the halt is gone."""

    cause: str


@dataclass(frozen=True, slots=True)
class HaltLifted(BoardEvent, RuleEvent):
    """Runs may start again; `by` is Cardinal when a run showed that the cause is gone."""

    cause: str
    by: str


@dataclass(frozen=True, slots=True)
class WorkStalled(BoardEvent):
    """So many runs may start, and no worker has taken them for a while; 0: that is over."""

    runs: int


@dataclass(frozen=True, slots=True)
class DiskWasFull(BoardEvent):
    """The disk of Cardinal's home was full from `since` on; there is room again now."""

    since: datetime
