"""A question of a run to people, and what an answer to it means. Pure."""

from dataclasses import dataclass

from ledger import answers
from ledger.ids import QuestionId

_YES = ("yes", "y", "ok", "okay", "sure", "go on", "continue", "yes please", "yes, please")


@dataclass(slots=True)
class Question:
    """A question of this run; `answer` is None while it is open."""

    question_id: QuestionId
    asker: str
    text: str
    choices: tuple[str, ...]
    seq: int
    answer: str | None = None
    answered_by: str = ""

    def chose(self, choice: str) -> bool:
        """Whether the answer is that choice, by its words or by its number."""
        return answers.chose(self.choices, choice, self.answer or "")

    def agreed(self) -> bool:
        """Whether the answer is the first choice, or nothing but a plain yes."""
        plain = (self.answer or "").strip().lower().rstrip(".!") in _YES
        return plain or (bool(self.choices) and self.chose(self.choices[0]))

    def allowed(self) -> bool:
        """Whether it gives leave, as the answer to a permission: any choice but the last, or a plain yes."""
        return self.agreed() or any(self.chose(choice) for choice in self.choices[:-1])

    @property
    def words(self) -> str:
        """What a person wrote instead of choosing; empty for a choice, for a plain yes or no, and for more
        dollars.
        """
        answer = (self.answer or "").strip()
        chosen = self.refused() or self.agreed() or any(self.chose(choice) for choice in self.choices)
        return "" if chosen or answers.is_raise(answer) else answer

    def refused(self) -> bool:
        """Whether the answer is the last choice, or begins with a plain no."""
        return answers.refused(self.choices, self.answer or "")

    def extends(self) -> bool:
        """Whether the answer gives the run as much again."""
        return self.answer is not None and answers.extends(self.choices, self.answer)
