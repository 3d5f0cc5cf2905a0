"""The policy of a board as people read it, and the changes by another file; nothing is kept of that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import BoundedSemaphore

from flask import Response, make_response, render_template, request
from sqlalchemy import Connection
from werkzeug.exceptions import RequestEntityTooLarge

from bot.github.errors import GithubError, NotFoundError, RateLimitedError
from bot.repo_config import policy_file, profiles, workflow_files
from bot.state import policies, served_boards
from bot.state.policy_names import list_installed
from bot.web.authorization import LAST, RequestLimiter
from bot.web.pages.act import try_later
from bot.web.site import parameters
from bot.web.site.layout import Site
from bot.web.site.times import stamp
from bot.web.site.visibility import VisibleBoard
from ledger.events.policy import ColumnChange, SettingChange, WorkflowFile
from ledger.log import event_store
from ledger.queries import lanes, policy_history
from ledger.queue.sign_ins import SignIn
from ledger.views import policies as rows
from rules.card.column_actions import consequence, find_changed_columns
from rules.errors import PolicyError
from rules.policy import locations, schema
from rules.policy.locations import PATH, WORKFLOWS_FOLDER
from rules.policy.model import WORKFLOW_SUFFIX, Policy, parse
from rules.policy.settings import MAX_TEXT, find_changed_settings, settings_of, settings_of_no_column
from rules.text import plain

MAX_BYTES = 200_000  # of a form; the reader of policies takes less
MAX_PASTED = 100_000  # characters
BUILT_IN = f"No {PATH} found: the built-in board applies."
PREVIEWS_A_MINUTE, PREVIEWS_AN_HOUR = 20, 600  # each is a file to parse
READS_AT_ONCE = 2  # of branches: each holds a thread while GitHub answers
TOO_OFTEN = "too many files were compared in a short time"
TOO_LONG = "Nothing was compared: the file is larger than a policy file may be."
SHOWN_APART = ("archetype", "on_entry", "on_exit")  # of a column: the effect of a drag says it
PARTS = {"The whole board": "board.", "The policy's own repository": "repository."}
DEPTH = 3  # of what nobody gave: a part of these, not the parts of a part
PASTED = "the pasted file"
NO_PLACE = (
    "There is no branch or pull request {place} in {home}: enter a branch name, or a pull request such as "
    "#12."
)
NO_FILE = "There is no {path} on {place}."


@dataclass(frozen=True, slots=True)
class OtherPolicy:
    """A policy file, its name, and the place that was wanted; `missing` says why there is none.

    `profiles` and `workflows`: the repository's own at that place; None where they are not known.
    """

    text: str
    name: str = PASTED
    place: str = ""
    missing: str = ""
    profiles: tuple[str, ...] | None = None
    workflows: tuple[WorkflowFile, ...] | None = None


@dataclass(frozen=True, slots=True)
class ChangesView:
    """Differences of another policy."""

    columns: tuple[ColumnChange, ...] = ()
    settings: tuple[SettingChange, ...] = ()
    more: int = 0


@dataclass(frozen=True, slots=True)
class PreviewView:
    """Result of another file: problems, or differences."""

    problems: tuple[str, ...] = ()
    changes: ChangesView = ChangesView()


def mount(site: Site) -> None:
    """Mount the page, for anyone who can read the repository that the policy is in."""
    pace = RequestLimiter(site.clock, each=PREVIEWS_A_MINUTE, of_all=PREVIEWS_AN_HOUR)
    room = BoundedSemaphore(READS_AT_ONCE)

    site.blueprint.get(schema.ADDRESS)(show_schema)

    @site.blueprint.route("/policy/<owner>/<int:number>", methods=["GET", "POST"])
    def policy(owner: str, number: int) -> Response:
        visit = site.visit()
        if request.method == "POST" and not site.is_from_here():
            return site.foreign(visit)
        if visit is None:
            return site.stranger()
        parameters.check_names()
        mine = site.find_board(visit, owner, number)
        if mine is None or not mine.home:
            return site.nothing(visit)
        other = None
        if request.method == "POST":
            request.max_content_length = MAX_BYTES
            try:
                form = request.form
            except RequestEntityTooLarge:
                return site.page("Nothing was compared", TOO_LONG, status=413, visit=visit)
            reads = bool(form.get("branch"))
            if not pace.take(visit.user_id) or (reads and not room.acquire(blocking=False)):
                return try_later(site, TOO_OFTEN)
            try:
                other = read_other(site, mine, form)
            except GithubError:
                return try_later(site, "GitHub did not return the file")
            finally:
                if reads:
                    room.release()
        return make_response(_page(site, visit, mine, other))


def show_schema() -> Response:
    """Give editors the schema of policy files: they cannot sign in, and it says nothing of any board."""
    return Response(schema.schema_text(), mimetype="application/schema+json")


def _page(site: Site, visit: SignIn, board: VisibleBoard, other: OtherPolicy | None) -> str:
    with event_store.reading(site.engine) as db:
        served = served_boards.require_board(db, site.config, board.board_id)
        row, known = rows.current(db, board.board_id), policies.in_force(db, board.board_id)
        cards = cards_by_column(db, board)
        flows = row.workflows if row is not None else ()
        preview = (
            None
            if other is None
            else _preview(site, served.home_repository, known, other, cards=cards, workflows=flows)
        )
        past = policy_history.newest(db, board.board_id, 2)
    home = f"{site.config.git_url}/{served.home_repository}"
    source = row.commit if row is not None and row.text else ""
    return render_template(
        "policy.html",
        title=f"Policy of {plain(board.title)}",
        lines=() if source else (BUILT_IN,),
        source=(f"{home}/blob/{source}/{PATH}", source[:10]) if source else None,
        flows=[
            (it.name, f"{home}/blob/{source}/{WORKFLOWS_FOLDER}/{it.name}{WORKFLOW_SUFFIX}") for it in flows
        ],
        problems=policy_lines(row.problems) if row is not None else (),
        rejected=row.rejected_commit[:10] if row is not None else "",
        columns=[
            (
                plain(name),
                plain(consequence(column), MAX_TEXT),
                [it for it in settings_of(column, depth=0) if not it.name.startswith(SHOWN_APART)],
            )
            for name, column in known.board.columns.items()
        ],
        parts=[
            (caption, [it for it in settings_of_no_column(known, DEPTH) if it.name.startswith(prefix)])
            for caption, prefix in PARTS.items()
        ],
        other=other,
        text=other.text if other is not None and len(other.text) <= MAX_PASTED else "",
        max_pasted=MAX_PASTED,
        preview=preview,
        home=served.home_repository,
        since=stamp(past[0].at) if past else "",
        changes=compare_policies(policies.of_text(past[1].text, past[1].workflows), known, cards)
        if len(past) > 1
        else None,
        path=board.policy_path,
        board_path=board.path,
        visit=visit,
    )


def _preview(
    site: Site,
    home: str,
    before: Policy,
    other: OtherPolicy,
    *,
    cards: Mapping[str | None, int],
    workflows: tuple[WorkflowFile, ...],
) -> PreviewView | None:
    if other.missing:
        return None
    try:
        after = parse(
            other.text,
            home=home,
            installed=list_installed(site.config.agents),
            profiles=other.profiles,
            workflows=workflows if other.workflows is None else other.workflows,
        )
    except PolicyError as error:
        return PreviewView(policy_lines(error.problems))
    return PreviewView(changes=compare_policies(before, after, cards))


def cards_by_column(db: Connection, board: VisibleBoard) -> dict[str | None, int]:
    """Return how many cards that the reader may see stand in each column."""
    counts = lanes.lane_counts(db, [board.scope])
    return {name: sum(by_state.values()) for name, by_state in counts.items()}


def policy_lines(problems: Iterable[str]) -> tuple[str, ...]:
    """Return the problems of a file as a page shows them."""
    return tuple(plain(problem, MAX_TEXT).replace("`", "") for problem in problems)


def compare_policies(before: Policy, after: Policy, cards: Mapping[str | None, int]) -> ChangesView:
    """Return what differs, with the cards that now stand in each column."""
    return ChangesView(find_changed_columns(before, after, cards), *find_changed_settings(before, after))


def read_other(site: Site, board: VisibleBoard, form: Mapping[str, str]) -> OtherPolicy:
    """Return the pasted file, or that of the branch that the form names.

    The caller knows that the visitor may read_other the repository of the board's policy. Raises GithubError.
    """
    place = form.get("branch", "").strip()
    if not place:
        return OtherPolicy(form.get("text", "").replace("\r\n", "\n"))
    with event_store.reading(site.engine) as db:
        home = served_boards.require_board(db, site.config, board.board_id).home_repository
    hub = served_boards.hub_of(site.engine, site.config, site.services.context.app, home)
    wait_s = hub.budget.spare(LAST)
    if wait_s > 0:  # Cardinal's own calls go first
        raise RateLimitedError(home, 0, "the rate limit is nearly reached", wait_s)
    name = plain(place)
    try:
        text, commit = policy_file.read_proposed(hub, home, place)
    except NotFoundError:
        return OtherPolicy("", name, name, NO_PLACE.format(place=name, home=home))
    if text is None:
        return OtherPolicy("", name, name, NO_FILE.format(path=locations.PATH, place=name))
    own = profiles.own_profile_names(hub, home, commit, text)
    flows = workflow_files.read_workflows(hub, home, commit)
    return OtherPolicy(text, f"{name} at {commit[:10]}", place, profiles=own, workflows=flows)
