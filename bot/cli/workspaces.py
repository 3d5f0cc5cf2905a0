"""`cardinal workspaces`: the workspaces on all hosts, and their removal."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot.cli import CliError, _home
from bot.cli._show import answer_rows, clean, json_option, show
from bot.state.run_filters import MAX_DAYS
from bot.web.api.operation import check_fields
from bot.web.api.operations import list_workspaces
from ledger.log import event_store
from ledger.queries import workspaces
from ledger.views import workspaces as of_place
from rules.commands import clean as cleaning

if TYPE_CHECKING:  # the list does not wait for GitHub's client
    from bot.bootstrap import Services

MAX_AT_ONCE = list_workspaces.MAX_LISTED


@click.command("workspaces")
@click.option("--card", "name", help="Only those of this card, owner/repository#number.")
@click.option("--older-than", "older_than_days", type=click.IntRange(1, MAX_DAYS), metavar="DAYS",
              help="Only those that no run took for so many days.")  # fmt: skip
@click.option("--larger-than", "larger_than_mb", type=click.IntRange(1, list_workspaces.MAX_MB), metavar="MB",
              help="Only those of at least so many MB.")  # fmt: skip
@click.option("--column", help="Only those of cards in this column.")
@click.option("--state", help="Only those of cards in this state, such as failed.")
@click.option("--host", help="Only those on this host.")
@click.option("--clean", "cleans", is_flag=True, help="Say which of them would be removed.")
@click.option("--yes", is_flag=True, help="With --clean: remove them.")
@click.option("--discard", is_flag=True, help="With --clean: also work that is saved nowhere else.")
@json_option
def command(
    name: str | None, cleans: bool, yes: bool, discard: bool, as_json: bool, **given: str | int | None
) -> None:
    """List the workspaces, or remove them.

    The longest unused comes first, each with its card, host, size, last run, branch, and the files that are
    not committed. With --clean, a workspace where a run is working stays; so does one with work that is saved
    nowhere else, which is named. The next run makes a removed one again from its checkpoint or its branch. A
    workspace on another host is removed by that host, within a minute or two.

    \b
    Examples:
      cardinal workspaces --larger-than 500
      cardinal workspaces --older-than 14 --clean
      cardinal workspaces --older-than 14 --clean --yes
    """
    if not cleans and (yes or discard):
        raise CliError("--yes and --discard go with --clean")
    fields = {field: it for field, it in given.items() if it is not None}
    query = check_fields(list_workspaces.WorkspaceQuery, {**fields, "limit": MAX_AT_ONCE})
    with _home.open_request() as request, event_store.reading(request.site.engine) as db:
        card = _home.find_card(db, name) if name else None
        listed = workspaces.longest_unused(
            db, None, query.read_filter(request.site.clock()), card_id=card.card_id if card else None,
            limit=MAX_AT_ONCE,
        )  # fmt: skip
    if cleans:
        _clean(listed, yes=yes, discard=discard, as_json=as_json)
        return
    answer = {"workspaces": [list_workspaces.as_row(it).model_dump(mode="json") for it in listed]}
    rows = answer_rows(answer["workspaces"], list_workspaces.COLUMNS, empty="no workspaces")
    show(answer, as_json=as_json, text=lambda: rows)


def _clean(
    listed: tuple[workspaces.ListedWorkspace, ...], *, yes: bool, discard: bool, as_json: bool
) -> None:
    """Remove those that may be removed, or only name them; print what becomes of each."""
    stays = {it.workspace.place: cleaning.obstacle((it.workspace,), discards=discard) for it in listed}
    said = {place: because or "would be removed" for place, because in stays.items()}
    gone = set[str]()
    if yes and not all(stays.values()):
        from bot.bootstrap import open_services
        from bot.scheduler import cleanup

        with open_services(os.environ, Path.cwd()) as services:
            _ask(services, [it for it in listed if not stays[it.workspace.place]], discard)
            cleanup.clean_up(services)
            with event_store.reading(services.engine) as db:
                rows = {place: of_place.get(db, place) for place, because in stays.items() if not because}
        gone = {place for place, row in rows.items() if row is not None and row.gone}
        said |= dict.fromkeys(rows, "stays: its card says why") | dict.fromkeys(gone, "removed")
        asked = (place for place, row in rows.items() if row is not None and row.clean_by)
        said |= dict.fromkeys(asked, "its host removes it within a minute or two")
    document: list[dict[str, Any]] = [
        {
            **list_workspaces.as_row(it).model_dump(mode="json"),
            "removed": it.workspace.place in gone,
            "why_not": stays[it.workspace.place],
        }
        for it in listed
    ]
    lines = [
        f"{clean(_home.name_of(it.card))} on {clean(it.workspace.host)}: {clean(said[it.workspace.place])}"
        for it in listed
    ]
    if not (yes or all(stays.values())):
        lines.append("Nothing was removed yet: repeat this with --yes.")
    report = {"dry_run": not yes, "workspaces": document}
    show(report, as_json=as_json, text=lambda: lines or ["no workspaces"])


def _ask(services: "Services", listed: list[workspaces.ListedWorkspace], discard: bool) -> None:
    """Ask the hosts to remove them, unless that would lose something by now."""
    from bot.reactor import reactor
    from bot.web.acting import record

    with event_store.writing(services.engine) as db:
        for it in listed:
            now = (row for row in workspaces.of_card(db, it.card.card_id) if row.place == it.workspace.place)
            for row in now:
                if not cleaning.obstacle((row,), discards=discard):
                    asked = cleaning.make_requests((row,), record.OPERATOR, discards=discard)
                    reactor.append_and_react(db, *asked, now=services.now())
