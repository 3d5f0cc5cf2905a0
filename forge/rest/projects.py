"""Projects: their fields, and new views."""

from flask import Blueprint
from flask.typing import ResponseReturnValue

from forge.errors import NotFoundError, UnprocessableError
from forge.payloads import project as shown
from forge.payloads.view import Json
from forge.rest.access import require_board
from forge.rest.context import actor, answer_page, body, caller, require_texts, store, text_of, view
from forge.store.board import Project

blueprint = Blueprint("projects", __name__, url_prefix="/orgs/<login>/projectsV2/<int:number>")


def _project(login: str, number: int, level: str) -> Project:
    """Return the project; raises ForbiddenError or NotFoundError."""
    owner = store().users.get(login)
    require_board(caller(), owner, level)
    return store().projects.get(owner, number)


@blueprint.get("/fields")
def list_fields(login: str, number: int) -> ResponseReturnValue:
    return answer_page(_project(login, number, "read").fields, shown.field)


@blueprint.post("/views")
def create_view(login: str, number: int) -> tuple[Json, int]:
    if store().settings.server_version:
        raise NotFoundError  # the documentation of the servers has no such page
    project, wanted = _project(login, number, "write"), body()
    name, layout = require_texts(wanted, "ProjectV2View", "name", "layout")
    numbers = {key: wanted.get(key) for key in ("visible_fields", "vertical_group_by")}
    for key, given in numbers.items():
        if given is not None and not (isinstance(given, list) and all(type(each) is int for each in given)):
            raise UnprocessableError.on_field("ProjectV2View", key, "invalid")
    project_view = store().projects.create_view(
        project,
        name,
        layout,
        actor=actor(),
        query=text_of(wanted, "filter", "ProjectV2View"),
        visible=numbers["visible_fields"],
        columns=numbers["vertical_group_by"] or (),
    )
    return shown.view(view(), project_view), 201
