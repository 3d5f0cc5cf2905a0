"""The questions of runs, and people's answers."""

from dataclasses import dataclass
from datetime import datetime

from ledger.ids import CardId, QuestionId, RunId


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A question; `answered_at` is None while it waits. `withdrawn`: its run ended without an answer.

    `subject`, `codes` and `part` are as in QuestionAsked, `code` as in QuestionAnswered; also of an older
    log.
    """

    question_id: QuestionId
    run_id: RunId
    card_id: CardId
    asker: str
    text: str
    choices: tuple[str, ...]
    subject: str
    codes: tuple[str, ...]
    asked_at: datetime
    answered_at: datetime | None
    part: str
    answer: str = ""
    code: str = ""
    answered_by: str = ""
    withdrawn: bool = False
