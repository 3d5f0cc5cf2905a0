"""A question of a run to people, and what an answer to it means. Pure."""

from dataclasses import dataclass

from ledger.events.run import QuestionAsked
from ledger.ids import QuestionId
from ledger.model.limit_answers import Code, QuestionSource, Subject, asker_of, extended, subject_of


@dataclass(slots=True)
class Question:
    """A question of this run; `answer` and `code` are None while it is open."""

    event: QuestionAsked
    seq: int
    answer: str | None = None
    answered_by: str = ""
    code: Code | None = None

    @property
    def question_id(self) -> QuestionId:
        """Its id, which no other question has."""
        return self.event.question_id

    @property
    def text(self) -> str:
        """What people read."""
        return self.event.text

    @property
    def subject(self) -> Subject:
        """What it is about."""
        return subject_of(self.event)

    @property
    def is_own(self) -> bool:
        """Whether Cardinal's supervisor asks for itself, and not for a tool that the agent wants to use."""
        return asker_of(self.event.asker) is QuestionSource.SUPERVISOR and self.subject is not Subject.TOOL

    def permits(self, subject: Subject, code: Code) -> bool:
        """Whether it was about that, and answered so."""
        return self.subject is subject and self.code is code

    @property
    def allows_tool(self) -> bool:
        """Whether it gives leave to use the tool that it asks about, once or for good."""
        return self.permits(Subject.TOOL, Code.ALLOW_ONCE) or self.permits(Subject.TOOL, Code.ALLOW_CARD)

    @property
    def extends(self) -> Subject | None:
        """The limit that the run has as much again of; None where it has no more."""
        return extended(self.event, self.code) if self.code is not None else None

    @property
    def words(self) -> str:
        """What a person wrote instead of choosing."""
        return (self.answer or "").strip() if self.code is Code.WORDS else ""
