"""The plans of runs."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class PlanRow:
    """A plan. `state`: proposed, approved or redirected, the last two `by` somebody; `text` is the words of a
    redirection. An approval is about `base` and `policy`.
    """

    run_id: RunId
    revision: int
    summary: str
    steps: tuple[str, ...]
    state: str
    at: datetime
    base: str
    policy: str
    by: str = ""
    text: str = ""
