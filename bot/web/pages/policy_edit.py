"""Forms for the columns and limits of a board's policy: what a change would do, then a pull request."""

import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin
from urllib.parse import quote

from flask import Response, make_response, render_template, request
from pydantic.fields import FieldInfo

from bot.github.api import proposals
from bot.github.api.proposals import FileProposal
from bot.github.errors import ConflictError, GithubError
from bot.repo_config import policy_file
from bot.state import policies, served_boards
from bot.state.policy_names import list_installed
from bot.web.authorization import RequestLimiter
from bot.web.pages.act import try_later
from bot.web.pages.policy import ChangesView, cards_by_column, compare_policies, policy_lines
from bot.web.site import parameters
from bot.web.site.layout import Site
from bot.web.site.visibility import VisibleBoard
from ledger.events.policy import WorkflowFile
from ledger.log import event_store
from ledger.queue.sign_ins import SignIn
from ledger.views import policies as rows
from rules.card.column_actions import consequence
from rules.errors import PolicyError
from rules.policy import schema
from rules.policy.column import ColumnPolicy
from rules.policy.edit import Key, set_settings, write_built_in_board
from rules.policy.locations import PATH
from rules.policy.model import DEFAULT_TEXT, Policy, parse
from rules.policy.network import FULL
from rules.policy.settings import MAX_TEXT, plain_meaning
from rules.policy.stages import OUTCOMES
from rules.policy.validate import Installed
from rules.registry import ARCHETYPES
from rules.text import plain, sentence

MAX_BYTES = 64 * 1024
A_MINUTE, AN_HOUR = 20, 300
NO_RIGHT = "Only people who may write to {home} can propose a change of its policy."
CHANGED = "GitHub has another policy file by now: wait until it is in force, or mend it, then start again."
NO_CHANGES = ChangesView()
TITLE = "Change {what} of the board's policy"
BODY = "`{login}` proposes this on Cardinal's policy page. The check `cardinal/policy` says what it would do."
NOTHING = "Nothing differs from the policy in force: change a setting first."
# What each kind of column is set by, in this order; all that a column of that kind may have can be typed.
_WORK = ("agent", "model", "effort", "instructions", "budget_usd", "timeout_minutes", "concurrency")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "execution": (
        *(*_WORK, "usd_per_day", "plan_approval", "tools.network", "reviewers", "recent_work", "workflow"),
        *("on_success.move", "on_failure.move", "on_changes_requested.move"),
        *("workspace", "folder", "checks"),
    ),
    "review": ("on_changes_requested.move",),
    "planning": ("agent", "model", "effort", "instructions"),
}
WHOLE = (
    "board.limits.runs",
    "board.limits.runs_per_repository",
    "board.limits.usd_per_day",
    "repository.profile",
)  # of a policy, not of one column
NETWORKS = {"none": [], "full": ["*"]}  # words for lists of hosts
EMPTIED: Mapping[str, str] = dict.fromkeys(
    OUTCOMES, "stay"
)  # what is written where nothing is wanted any more
LABELS = {
    "budget_usd": "Dollars for one run",
    "timeout_minutes": "Minutes for one run",
    "concurrency": "Runs at once",
    "usd_per_day": "Dollars per day",
    "plan_approval": "Approval of the plan",
    "tools.network": "Network",
    "recent_work": "Recent work that it is told of",
    "on_success.move": "After success, move to",
    "on_failure.move": "After failure, move to",
    "on_changes_requested.move": "When a review asks for changes, move to",
    "checks": "Checks of work without a repository",
    "board.limits.runs": "Runs at once",
    "board.limits.runs_per_repository": "Runs at once in one repository",
    "board.limits.usd_per_day": "Dollars per day",
    "repository.profile": "Profile of the policy's own repository",
}


@dataclass(frozen=True, slots=True)
class SettingField:
    """A field of the form: its kind is choice, number, lines, paragraph or text."""

    name: str
    label: str
    meaning: str
    kind: str
    value: str
    choices: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CurrentPolicy:
    """The policy in force: its home, the cards by column, its file ("" if built in), the text to change."""

    home: str
    policy: Policy
    cards: Mapping[str | None, int]
    file: str
    text: str
    workflows: tuple[WorkflowFile, ...]


@dataclass(frozen=True, slots=True)
class PolicyPart:
    """What one form is about: a column, or the whole policy, for which `column` is empty."""

    policy: Policy
    column: str = ""

    @property
    def of(self) -> ColumnPolicy | Policy:
        return self.policy.board.columns[self.column] if self.column else self.policy

    @property
    def key(self) -> Key:
        return ("board", "columns", self.column) if self.column else ()

    @property
    def kind(self) -> str:
        return self.policy.board.columns[self.column].archetype if self.column else ""

    @property
    def query(self) -> str:
        return f"column={quote(self.column, safe='')}" if self.column else "part=board"

    @property
    def what(self) -> str:
        return f"the column {plain(self.column)}" if self.column else "the limits"

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the settings that have a field."""
        return FIELDS.get(kind, ()) if self.column else WHOLE


@dataclass(frozen=True, slots=True)
class PolicyDraft:
    """The file that a form makes, and what it would do; `problems` by the field, "" for those of none."""

    text: str = ""
    problems: Mapping[str, tuple[str, ...]] | None = None
    changes: ChangesView = NO_CHANGES


def mount(site: Site) -> None:
    """Mount the form."""
    pace = RequestLimiter(site.clock, each=A_MINUTE, of_all=AN_HOUR)

    @site.blueprint.route("/policy/<owner>/<int:number>/edit", methods=["GET", "POST"])
    def edit_policy(owner: str, number: int) -> Response:
        visit = site.sender(MAX_BYTES) if request.method == "POST" else site.visit() or site.stranger()
        if isinstance(visit, Response):
            return visit
        parameters.check_names("column", "part")
        board = site.find_board(visit, owner, number)
        if board is None or not board.home:
            return site.nothing(visit)
        if request.method == "POST" and not pace.take(visit.user_id):
            return try_later(site, "too many changes were made in a short time")
        return _answer(site, visit, board)


def _answer(site: Site, visit: SignIn, board: VisibleBoard) -> Response:
    current = read_current(site, board)
    policy, names = current.policy, tuple(current.policy.board.columns)
    whole = request.args.get("part", "") == "board"
    wanted = "" if whole else request.args.get("column", names[0])
    if not whole and wanted not in names:
        return site.nothing(visit)
    part, draft = PolicyPart(policy, wanted), PolicyDraft()
    given = {name: value.replace("\r\n", "\n").strip() for name, value in request.form.items()}
    if request.method == "POST":
        draft = _draft(current, part, given, list_installed(site.config.agents))
        if given.get("do") == "propose" and draft.text and not draft.problems:
            return propose_policy(site, visit, current, what=part.what, text=draft.text)
    kind = given.get("archetype", part.kind)
    shown = render_template(
        "policy_edit.html",
        title=f"Edit {plain(wanted) or 'the whole board'}",
        visit=visit,
        path=f"/policy/{quote(board.owner)}/{board.number}",
        column=wanted,
        columns=names,
        query=part.query,
        effect=plain(consequence(policy.board.columns[wanted]), MAX_TEXT) if wanted else "",
        archetypes=sorted(ARCHETYPES.names()),
        archetype=kind,
        fields=list(_fields(part, kind, given, draft.problems or {})),
        draft=draft if request.method == "POST" else None,
        others=(draft.problems or {}).get("", ()),
        home=current.home,
    )
    return make_response(shown)


def read_current(site: Site, board: VisibleBoard) -> CurrentPolicy:
    """Return the policy in force of a board whose home the visitor may read."""
    with event_store.reading(site.engine) as db:
        home = served_boards.require_board(db, site.config, board.board_id).home_repository
        row, policy = rows.current(db, board.board_id), policies.in_force(db, board.board_id)
        cards = cards_by_column(db, board)
    file = row.text if row is not None else ""
    built_in = schema.name_schema(DEFAULT_TEXT, f"{site.config.public_url}{schema.ADDRESS}")
    workflows = row.workflows if row is not None else ()
    return CurrentPolicy(home, policy, cards, file=file, text=file or built_in, workflows=workflows)


def _draft(
    current: CurrentPolicy, part: PolicyPart, given: Mapping[str, str], installed: Installed
) -> PolicyDraft:
    """Return the file with the form's changes."""
    changes: dict[Key, object] = {}
    kind = given.get("archetype", part.kind) if part.column else ""
    if kind != part.kind:
        changes[(*part.key, "archetype")] = kind
    for name in part.names(kind):
        before, value = _value_of(part.of, name), _read(_info(part, name), given.get(name, ""))
        # A browser sends every field: one that still shows what is in force is not a change.
        if name not in given or given[name] == _shown(before).strip() or value == _plain_value(before):
            continue
        key = (*part.key, *name.split("."))
        is_route = len(key) > 4 and key[3] in EMPTIED
        keeps = value != "" if is_route else value is not None
        changes.update({key: value} if keeps else {key[:4]: EMPTIED.get(key[3])})
    if not changes:
        return PolicyDraft(problems={"": (NOTHING,)})
    try:
        changed = set_settings(write_built_in_board(current.text), changes)
        after = parse(changed, home=current.home, installed=installed, workflows=current.workflows)
    except PolicyError as error:
        return PolicyDraft(problems=_by_field(policy_lines(error.problems), part))
    return PolicyDraft(changed, changes=compare_policies(current.policy, after, current.cards))


def _by_field(problems: Iterable[str], part: PolicyPart) -> Mapping[str, tuple[str, ...]]:
    """Return the problems by the field that each is about."""
    found: dict[str, list[str]] = {}
    named = {name for kind in FIELDS for name in part.names(kind)}
    names = sorted(named, key=len, reverse=True)
    # As `locate` writes a place: after "line 1: ".
    before = policy_lines([".".join((*part.key, ""))])[0] if part.key else ": "
    for problem in problems:
        _, _, rest = problem.partition(before)
        place, _, rest = rest.partition(": ")
        name = next((it for it in names if place.startswith(it)), "")
        found.setdefault(name, []).append(rest or problem if name else problem)
    return {name: tuple(its) for name, its in found.items()}


def propose_policy(site: Site, visit: SignIn, current: CurrentPolicy, *, what: str, text: str) -> Response:
    """Return the way to the pull request of the new text; none where the file is another one by now, or the
    visitor may not write to the board's home.
    """
    home = current.home
    if not site.readers.writes(visit, home):
        return site.page("You may not do that", NO_RIGHT.format(home=home), status=403, visit=visit)
    hub = served_boards.hub_of(site.engine, site.config, site.services.context.app, home)
    title, body = TITLE.format(what=what), BODY.format(login=visit.login)
    try:
        now = policy_file.read(hub, home)
        if (now.text or "") != current.file:
            return site.page("Nothing was proposed", CHANGED, status=409, visit=visit)
        proposal = FileProposal(path=PATH, text=text, start=now.commit, title=title, body=body)
        number = proposals.propose_file(hub, home, proposal)
    except ConflictError as error:
        return site.page("Nothing was proposed", sentence(error.because), status=409, visit=visit)
    except GithubError:
        return try_later(site, "GitHub did not take the pull request")
    where = f"{site.config.git_url}/{home}/pull/{number}"
    # A redirect to GitHub would be one of a form, which the pages' own security policy forbids.
    ways = [(where, f"Pull request #{number}", f"in {home}: review and merge it there")]
    return site.page("Proposed", "The change is a draft pull request.", visit=visit, links=ways)


def _info(part: PolicyPart, name: str) -> FieldInfo:
    """Return the model's field of a setting, such as `tools.network`."""
    model: Any = type(part.of)
    for word in name.split("."):
        info: FieldInfo = model.model_fields[word]
        model = next(
            (it for it in (info.annotation, *get_args(info.annotation)) if hasattr(it, "model_fields")), None
        )
    return info


def _value_of(model: ColumnPolicy | Policy, name: str) -> Any:
    value: Any = model
    for part in name.split("."):
        value = getattr(value, part) if value is not None else None
    return value


def _plain_value(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _fields(
    part: PolicyPart, kind: str, given: Mapping[str, str], problems: Mapping[str, tuple[str, ...]]
) -> Iterator[SettingField]:
    for name in part.names(kind):
        info = _info(part, name)
        shape, choices = _shape(name, info)
        yield SettingField(
            name=name,
            label=LABELS.get(name, name.replace("_", " ").capitalize()),
            meaning=plain_meaning(info.description or ""),
            kind=shape,
            value=given.get(name, _shown(_value_of(part.of, name))),
            choices=choices,
            problems=problems.get(name, ()),
        )


def _shape(name: str, info: FieldInfo) -> tuple[str, tuple[str, ...]]:
    """Return the field's kind, and its choices."""
    kinds = _kinds(info.annotation)
    if get_origin(info.annotation) is Literal:
        return "choice", tuple(map(str, get_args(info.annotation)))
    if kinds & {int, float}:
        return "number", ()
    if tuple in kinds:
        return "lines", ()
    return ("paragraph" if name == "instructions" else "text"), ()


def _kinds(annotation: Any) -> set[Any]:
    """Return the plain types of an annotation, and of the parts of a union."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return set[Any]().union(*map(_kinds, get_args(annotation)))
    if hasattr(annotation, "__metadata__"):
        return _kinds(get_args(annotation)[0])
    return {origin or annotation}


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if value == FULL:
        return "full"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _read(info: FieldInfo, text: str) -> object:
    """Return what a field's text says; what is no number stays a text, for the policy's reader to refuse."""
    kinds = _kinds(info.annotation)
    if tuple in kinds and text in NETWORKS:
        return NETWORKS[text]
    if tuple in kinds:
        return [part.strip() for part in text.replace("\n", ",").split(",") if part.strip()]
    if kinds & {int, float}:
        if not text and type(None) in kinds:
            return None
        for read in (int, float):
            if read in kinds:
                try:
                    return read(text)
                except ValueError:
                    continue
    return text or (None if type(None) in kinds else "")
