"""A run, a card or a board as one Markdown document to save: the API's, for a browser."""

from types import ModuleType
from typing import Any

from flask import Response
from pydantic import ValidationError

from bot.web.api.operation import ApiError, ApiRequest
from bot.web.api.operations import get_job, get_run, show_board
from bot.web.site import parameters
from bot.web.site.layout import Site
from ledger.queue.sign_ins import SignIn

KIND = "text/markdown"


def mount(site: Site) -> None:
    """Mount the three addresses."""

    @site.get("/runs/<run>.md")
    def run_document(visit: SignIn, run: str) -> Response:
        return _document(site, visit, get_run, name=run, run=run)

    @site.get("/cards/<owner>/<repository>/<int(max=999999999):number>.md")
    def card_document(visit: SignIn, owner: str, repository: str, number: int) -> Response:
        given = {"owner": owner, "repository": repository, "number": number}
        return _document(site, visit, get_job, name=f"card-{number}", **given)

    @site.get("/boards/<owner>/<int(max=999999999):number>.md")
    def board_document(visit: SignIn, owner: str, number: int) -> Response:
        given = {"owner": owner, "number": number, **show_board.TEXT_INPUT}
        return _document(site, visit, show_board, name=f"board-{number}", **given)


def _document(site: Site, visit: SignIn, operation: ModuleType, *, name: str, **given: Any) -> Response:
    """Return what the operation answers, as a file. Raises BusyError."""
    parameters.check_names()
    call = ApiRequest(site, visit)
    try:
        output = operation.run(call, operation.Input.model_validate(given))
    except (ApiError, ValidationError):
        return site.nothing(visit)
    answer = Response(operation.AS_TEXT[KIND](call, output), content_type=f"{KIND}; charset=utf-8")
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}.md"'
    return answer
