"""The workspaces on the hosts, of the cards that a visitor may see; the chosen ones are cleaned in bulk."""

from collections.abc import Mapping
from urllib.parse import urlencode

from flask import Response, make_response, render_template, request
from markupsafe import Markup
from pydantic import ValidationError

from bot.state.card_filters import MAX_CHARS, FilterError
from bot.web.api.operation import ApiRequest, faults_of
from bot.web.api.operations import list_workspaces
from bot.web.api.operations.list_workspaces import WorkspaceInList
from bot.web.site import parameters
from bot.web.site.layout import Site
from bot.web.site.times import stamp
from bot.web.site.visibility import path_of
from ledger.ids import CardId
from ledger.queue.sign_ins import SignIn
from rules.text import plain, sentence, state_word

FIELDS = ("host", "column", "state", "older_than_days", "larger_than_mb")
PAGE, MAX_TITLE = 200, 120


def mount(site: Site) -> None:
    """Mount the list; each row can be chosen for `/cardinal clean`, for which its card asks for a right."""

    @site.get("/workspaces")
    def workspaces_page(visit: SignIn) -> Response:
        parameters.check_names(*FIELDS)
        chosen = {name: request.args.get(name, "").strip()[:MAX_CHARS] for name in FIELDS}
        rows, more, problem = _read(site, visit, chosen)
        shown = render_template(
            "workspaces.html",
            title="Workspaces",
            visit=visit,
            chosen=chosen,
            problem=problem,
            rows=rows,
            more=more,
            here=f"/workspaces?{urlencode({name: it for name, it in chosen.items() if it})}".rstrip("?"),
        )
        return make_response(shown)


def _read(site: Site, visit: SignIn, chosen: Mapping[str, str]) -> tuple[list[dict[str, object]], bool, str]:
    """Return the rows, whether there are more, and what is wrong with the filter. Raises BusyError."""
    given = {name: text for name, text in chosen.items() if text}
    try:
        query = list_workspaces.WorkspaceQuery.model_validate({**given, "limit": PAGE})
        answer = list_workspaces.run(ApiRequest(site, visit), query)
    except ValidationError as error:
        return [], False, sentence(faults_of(error, list_workspaces.WorkspaceQuery))
    except FilterError as error:
        return [], False, sentence(str(error))
    return [_row(it) for it in answer.workspaces], answer.more, ""


def _row(it: WorkspaceInList) -> dict[str, object]:
    facts = (
        plain(it.host),
        f"{it.size_mb:g} MB" if it.size_mb else "",
        f"branch {plain(it.branch)}" if it.branch and not it.investigates else "",
        "investigation" if it.investigates else "",
        Markup("last used {}").format(stamp(it.used_at)),
    )
    more = it.uncommitted_files - len(it.uncommitted)
    names = [*map(plain, it.uncommitted), *([f"{more} more"] if more > 0 else [])]
    return {
        "card": it.card,
        "name": f"{it.repository}#{it.number}" if it.number else "draft",
        "path": path_of(it.repository, it.number, CardId(it.card)),
        "title": plain(it.title, MAX_TITLE),
        "run": it.run,
        "status": state_word(it.status),
        "facts": Markup(" · ").join(filter(None, facts)),
        "uncommitted": ", ".join(names),
        "unsaved": plain("; ".join(it.unsaved), 400),
        "clean_by": plain(it.clean_by),
    }
