"""The command that lets a waiting job go on, chosen from its offers."""

from collections.abc import Iterable
from http import HTTPStatus

from pydantic import Field

from bot.web.api.client import ApiProblemError
from bot.web.api.jobs import Job, JobName, JobOffer
from rules.chatops import parser


class ResumeRequest(JobName):
    """The job, and the text or choice for it."""

    text: str = Field(
        "",
        max_length=parser.MAX_ARGUMENT,
        description="Empty approves its plan, or lets it go on. Words answer its question, or choose by "
        "number; without a question they send the plan back, or tell the agent at work",
    )


def command_for(job: Job, text: str) -> tuple[str, str]:
    """Return the command and its text. Raises ApiProblemError where the job waits for nothing of the kind."""
    answers = [it for it in job.offers if _word(it) == "answer"]
    if text:
        wanted = next((it for it in answers if _takes(it, text)), None)
        if wanted is None and answers:
            raise _unfit(f"`text` is none of {', '.join(_choices(answers))}", "choose one of them")
        wanted = wanted or _first(job.offers, "redirect")
    elif answers:
        raise _unfit("the job waits for an answer", "send `text`; get_job has the question")
    else:
        ways = (_first(job.offers, word) for word in ("approve", "resume", "unblock"))
        wanted = next(filter(None, ways), None)
        text = wanted.choices[0] if wanted and wanted.choices else ""
    if wanted is None:
        raise _unfit(f"there is nothing to go on with: {job.why}", "get_job has the commands to give")
    return wanted.name, text


def _word(offer: JobOffer) -> str:
    return offer.name.partition(":")[0]


def _takes(offer: JobOffer, text: str) -> bool:
    return text in offer.choices if offer.choices else bool(offer.takes)


def _first(offers: Iterable[JobOffer], word: str) -> JobOffer | None:
    return next((it for it in offers if _word(it) == word), None)


def _choices(answers: Iterable[JobOffer]) -> list[str]:
    return [choice for it in answers for choice in it.choices]


def _unfit(because: str, remedy: str) -> ApiProblemError:
    return ApiProblemError(HTTPStatus.CONFLICT, "unfit", because, remedy)
