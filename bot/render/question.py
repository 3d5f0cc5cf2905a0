"""Comment with a run's question to a person, and its answer."""

from collections.abc import Mapping

from bot.render.markdown.checkboxes import box
from bot.render.markdown.escape import Alert, alert, fit_comment, line, quote
from ledger.rows.limit_answers import CHOSEN_ONLY, Subject
from ledger.rows.questions import QuestionRow

ASKERS: Mapping[str, str] = {
    "agent": "has a question",
    "rebase": "needs you: its branch conflicts with the default branch",
    "limit": "reached a limit: continue?",
    "workflows": "wants to change CI",
    "guard": "needs you: the guardrails question its changes",
    "budget": "has used its budget: continue?",
    "permission": "asks to use a tool",
    "validation": "cannot make the checks pass",
    "stage": "needs you before its next stage",
    "leave": "is not finished, but its card was dragged away",
    "elsewhere": "needs work in another repository",
}
HOW_TO_ANSWER: Mapping[str, str] = {
    "leave": "Tick one, or reply `/cardinal cancel` or `/cardinal finish`. Meanwhile the run continues.",
    "workflows": "It takes a maintainer: tick one, or `/cardinal allow workflows` for the whole card."
    " Whatever changes the files of CI runs with this repository's secrets: read it first.",
    "guard": "Tick one, or write what to do instead: the agent does that, and its changes are judged again."
    " `guardrails:` in .github/cardinal.yml says what is asked about.",
    "elsewhere": "Tick one or reply. The issue is created with these words, for everyone who can read that"
    " repository; it takes your write access there. It lands in the board's inbox; the run continues"
    " with your answer.",
    "permission": "Tick one or reply; the run continues where it stopped."
    " `/cardinal allow <pattern>` allows more than this one for the whole card.",
}
MAX_CHOICES = 20
MAX_BYTES = 500  # of a choice: as many as an agent's may have


def write(question: QuestionRow, mention: str = "", link: str = "") -> str:
    """Return the comment: with choices and a mention while the question is open, else with its answer.

    `link` leads to its run, and follows the title.
    """
    return fit_comment((f"### {_title(question)}{link}", _text(question), *_rest(question, mention)))


def _text(question: QuestionRow) -> str:
    waits = question.answered_at is None and not question.withdrawn
    return alert(Alert.IMPORTANT, question.text, 6_000) if waits else quote(question.text, 6_000)


def _title(question: QuestionRow) -> str:
    if question.answered_at is not None:
        return (
            f"☑️ Question of run {question.run_id}: answered by {line(question.answered_by, 60) or 'someone'}"
        )
    if question.withdrawn:
        return f"☑️ Question of run {question.run_id}: no answer is needed anymore"
    return f"🙋 Run {question.run_id} {ASKERS.get(question.asker, 'has a question')}"


def _rest(question: QuestionRow, mention: str) -> tuple[str, ...]:
    if question.answered_at is not None:
        return "**Answer**", quote(question.answer, 3_000)
    if question.withdrawn:
        return ("_The run ended before anyone answered._",)
    return (*_how_to_answer(question), mention)


def _how_to_answer(question: QuestionRow) -> tuple[str, ...]:
    boxes = "\n".join(
        box(f"choice:{question.question_id}:{number}", f"{number}. {line(choice, MAX_BYTES)}")
        for number, choice in enumerate(question.choices[:MAX_CHOICES], start=1)
    )
    if question.subject in CHOSEN_ONLY and question.asker != "leave":
        dollars = " `/cardinal budget +2` adds dollars and continues, too."
        how = "Tick one, or reply with its number. Other words decide nothing here."
        return boxes, f"{how}{dollars if question.subject == Subject.BUDGET else ''}"
    how = "Tick one or reply" if boxes else "Reply to this comment"
    usual = f"{how}; the run continues with your answer."
    return boxes, HOW_TO_ANSWER.get(question.asker, usual)
