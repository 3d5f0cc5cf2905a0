"""Tools: every operation of the API, and two short ones for the commonest commands of a job."""

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic import Field

from bot.web.api.client import ApiClient
from bot.web.api.jobs import JobName
from bot.web.api.operation import OPERATIONS, ApiModel, check_fields
from bot.web.api.operations.get_job import Job, JobOffer
from bot.web.api.sending import ApiProblemError, ApiUnreachableError
from ledger.parts import UnknownPartError, charter
from ledger.queue.api_tokens import Scope
from rules.chatops import parser

Act = Callable[[ApiClient, Mapping[str, Any], str], Awaitable[dict[str, Any]]]


class ResumeRequest(JobName):
    """The job, and the text or choice for it."""

    text: str = Field(
        "",
        max_length=parser.MAX_ARGUMENT,
        description="If empty, approves its plan or resumes it. Otherwise answers its question, in words or "
        "by number; without a question, sends the plan back, or messages the agent at work",
    )


@dataclass(frozen=True, slots=True)
class JobTool:
    """A tool of its own: its docstring is the function's."""

    Input: type[ApiModel]
    act: Act
    EXAMPLE: Mapping[str, Any]


async def _resume(client: ApiClient, fields: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Resume a waiting job: answer its question, approve its plan, or send the plan back with changes."""
    given = check_fields(ResumeRequest, fields)
    assert isinstance(given, ResumeRequest)
    name = given.model_dump(exclude={"text"})
    job = Job.model_validate(await client.call("get_job", name))
    command, text = command_for(job, given.text)
    return await client.call("give_command", {**name, "command": command, "text": text}, key)


async def _cancel(client: ApiClient, fields: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Cancel a job's run; its branch stays."""
    name = check_fields(JobName, fields).model_dump()
    return await client.call("give_command", {**name, "command": "cancel"}, key)


_JOB = {"owner": "acme", "repository": "shop", "number": 1}
JOB_TOOLS: Mapping[str, JobTool] = {
    "cancel_job": JobTool(JobName, _cancel, _JOB),
    "resume_job": JobTool(ResumeRequest, _resume, {**_JOB, "text": "2"}),
}


def list_tools() -> list[Tool]:
    """Return all tools, as a client lists them."""
    of_api = (
        _tool(name, charter(part), part.Input, part.SCOPE is Scope.READ) for name, part in OPERATIONS.all()
    )
    own = (_tool(name, charter(it.act), it.Input, False) for name, it in JOB_TOOLS.items())
    return sorted((*of_api, *own), key=lambda tool: tool.name)


async def call_tool(
    client: ApiClient, name: str, fields: Mapping[str, Any], session: str, request: object
) -> CallToolResult:
    """Return the tool's result, or why it has none. The same request of a session acts once."""
    about = json.dumps([session, request, name, fields], sort_keys=True)
    key = hashlib.sha256(about.encode()).hexdigest()
    try:
        own = JOB_TOOLS.get(name)
        answer = await (own.act(client, fields, key) if own else _operate(client, name, fields, key))
    except (ApiProblemError, ApiUnreachableError, UnknownPartError) as error:
        return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)
    text = json.dumps(answer, ensure_ascii=False)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=answer)


async def _operate(client: ApiClient, name: str, fields: Mapping[str, Any], key: str) -> dict[str, Any]:
    is_act = OPERATIONS.load(name).SCOPE is not Scope.READ
    return await client.call(name, fields, key if is_act else "")


def _tool(name: str, about: str, model: type[ApiModel], reads: bool) -> Tool:
    return Tool(
        name=name,
        description=about,
        input_schema=model.model_json_schema(),
        annotations=ToolAnnotations(read_only_hint=reads, open_world_hint=not reads),
    )


def command_for(job: Job, text: str) -> tuple[str, str]:
    """Return the command and its text. Raises ApiProblemError where the job waits for nothing of the kind."""
    answers = [it for it in job.offers if _word(it) == "answer"]
    if text:
        wanted = next((it for it in answers if _takes(it, text)), None)
        if wanted is None and answers:
            choices = ", ".join(choice for it in answers for choice in it.choices)
            raise _unfit(f"`text` must be one of {choices}", "choose one of them")
        wanted = wanted or _first(job.offers, "redirect")
    elif answers:
        raise _unfit("the job is waiting for an answer", "send `text`; get_job has the question")
    else:
        ways = (_first(job.offers, word) for word in ("approve", "resume", "unblock"))
        wanted = next(filter(None, ways), None)
        text = wanted.choices[0] if wanted and wanted.choices else ""
    if wanted is None:
        raise _unfit(f"there is nothing to resume: {job.why}", "get_job has the commands to give")
    return wanted.name, text


def _word(offer: JobOffer) -> str:
    return offer.name.partition(":")[0]


def _takes(offer: JobOffer, text: str) -> bool:
    return text in offer.choices if offer.choices else bool(offer.takes)


def _first(offers: Iterable[JobOffer], word: str) -> JobOffer | None:
    return next((it for it in offers if _word(it) == word), None)


def _unfit(because: str, remedy: str) -> ApiProblemError:
    return ApiProblemError(HTTPStatus.CONFLICT, "unfit", because, remedy)
