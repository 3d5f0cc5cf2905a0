"""Forms for the columns and limits of a board's policy: what a change would do, then a pull request."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from flask import Response, make_response, render_template, request

from bot.github.api import proposals
from bot.github.api.proposals import FileProposal
from bot.github.errors import ConflictError, GithubError
from bot.repo_config import policy_file
from bot.state import policies, served_boards, structure
from bot.state.policy_names import list_installed
from bot.web.acting.policy_form import FormField, PolicyForm, place_problems
from bot.web.authorization import RequestLimiter
from bot.web.pages.act import try_later
from bot.web.pages.policy import ChangesView, cards_by_column, compare_policies, policy_lines
from bot.web.site import parameters
from bot.web.site.layout import Site
from bot.web.site.visibility import VisibleBoard
from ledger.events.policy import WorkflowFile
from ledger.log import event_store
from ledger.model.column_names import column_key, same_column
from ledger.model.policy_settings import MAX_NAME
from ledger.queue.sign_ins import SignIn
from ledger.views import policies as rows
from ledger.views import runs
from rules.card.column_actions import consequence
from rules.errors import PolicyError
from rules.policy import schema
from rules.policy.edit import rename_group, write_built_in_board, write_tree
from rules.policy.locations import PATH
from rules.policy.model import DEFAULT_TEXT, Policy, parse
from rules.policy.schema import find_columns, lead_elsewhere, policy_schema, spec_at
from rules.policy.settings import MAX_TEXT
from rules.policy.validate import Installed
from rules.policy.yaml_reader import read
from rules.registry import ACTIONS, ARCHETYPES, UNNAMED
from rules.text import code, plain, sentence

MAX_BYTES = 256 * 1024  # of a form; the reader of policies takes less
A_MINUTE, AN_HOUR = 20, 300
NO_RIGHT = "Only people who may write to {home} can propose a change of its policy."
CHANGED = "GitHub has another policy file by now: wait until it is in force, or mend it, then start again."
STALE = (
    "The policy has changed since you opened this form, and what you see below may undo that: compare, put"
    " right what you did not mean to change, then propose."
)
NO_CHANGES = ChangesView()
BODY = "`{login}` proposes this on Cardinal's policy page. The check `cardinal/policy` says what it would do."
BY_HAND = "No form fits this file"
NOTHING = "Nothing differs from the policy in force: change a setting first."
NAMELESS = "a column needs the name that it has on the board"
TAKEN = "the policy has a column of that name already; case, spaces and emoji make no difference"
LED_TO = "choose a column: {places} would lead nowhere"
CALLED, INSTEAD, SEEN = "called", "instead", "seen"  # fields of the form that are no keys of the policy
COLUMNS = ("board", "columns")
# The keys of each kind of column that its form shows first; all others are under *More settings*.
RULES = ("archetype", "on_entry", "on_exit")
ASSISTANT = ("agent", "model", "effort", "instructions")
FIRST: Mapping[str, tuple[str, ...]] = {
    "execution": (
        *(*RULES, *ASSISTANT, "budget_usd", "timeout_minutes", "concurrency", "usd_per_day"),
        *("plan_approval", "tools", "on_success", "on_failure", "on_changes_requested"),
    ),
    "planning": (*RULES, *ASSISTANT),
    "review": (*RULES, "on_changes_requested"),
}
WORDS = {"": "not set", "true": "yes", "false": "no"}  # for choices
WHOLE = ("board.limits", "repository.profile")  # of a policy, not of one column


class PartKind(StrEnum):
    """What a form is about: its `part` in the address; a column, if there is none."""

    COLUMN = ""
    NEW = "new"
    REMOVE = "remove"
    BOARD = "board"


@dataclass(frozen=True, slots=True)
class CurrentPolicy:
    """The policy in force: its home, the cards by column, its file ("" if built in), the text to change; the
    queued runs by column.
    """

    home: str
    policy: Policy
    cards: Mapping[str | None, int]
    file: str
    text: str
    workflows: tuple[WorkflowFile, ...]
    queued: Mapping[str, int]
    unnamed: tuple[str, ...]  # columns of the board that the policy does not name

    @property
    def digest(self) -> str:
        return sha256(self.text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class PolicyPart:
    """What one form is about; `column` is empty for the whole board, and may be for a new one."""

    kind: PartKind
    column: str = ""

    @property
    def is_there(self) -> bool:
        """Whether it is a column that the policy has."""
        return self.kind in (PartKind.COLUMN, PartKind.REMOVE)

    @property
    def key(self) -> tuple[str, ...]:
        return () if self.kind is PartKind.BOARD else (*COLUMNS, self.column)

    @property
    def query(self) -> str:
        words = {"part": self.kind.value, "column": self.column}
        return "&".join(f"{name}={quote(word, safe='')}" for name, word in words.items() if word)

    def title(self, called: str) -> str:
        """Return what a form does, where the column is to be `called` so."""
        name, other = plain(self.column), plain(called)
        match self.kind:
            case PartKind.BOARD:
                return "Change the limits of the board's policy"
            case PartKind.NEW:
                return f"Add the column {other} to the board's policy"
            case PartKind.REMOVE:
                return f"Remove the column {name} from the board's policy"
            case PartKind.COLUMN if called != self.column:
                return f"Rename the column {name} of the board's policy to {other}"
            case PartKind.COLUMN:
                return f"Change the column {name} of the board's policy"


@dataclass(frozen=True, slots=True)
class PolicyDraft:
    """What a sent form makes of its part of the file, and the file; `problems` are of both."""

    tree: Mapping[str, Any]
    text: str = ""
    policy: Policy | None = None
    changes: ChangesView = NO_CHANGES
    problems: tuple[str, ...] = ()
    of_field: tuple[str, str] = ("", "")  # a problem of a field that is no key of the policy, and its name


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
    part = _find_part(current)
    if part is None:
        return site.nothing(visit)
    try:
        current = replace(current, text=write_built_in_board(current.text))
    except PolicyError as error:
        return site.page(BY_HAND, *policy_lines(error.problems), visit=visit)
    given = {name: value.replace("\r\n", "\n").strip() for name, value in request.form.items()}
    called = given.get(CALLED, part.column)
    tree = _tree_of(current, part)
    form = _form_of(current, part, given.get("archetype", tree.get("archetype", "")), tree)
    draft = None
    if request.method == "POST":
        draft = _draft(current, part, form, given, list_installed(site.config.agents))
        stale = given.get(SEEN, current.digest) != current.digest
        if stale:
            draft = replace(draft, problems=(STALE, *draft.problems))
        elif given.get("do") == "propose" and draft.policy is not None:
            return propose_policy(site, visit, current, title=part.title(called), text=draft.text)
    shown_tree = tree if draft is None else draft.tree
    fields = form.fields(shown_tree)
    asked = draft if given.get("do", "preview") in ("preview", "propose") else None
    page = render_template(
        "policy_edit.html",
        title=_heading(part),
        visit=visit,
        path=board.policy_path,
        part=part,
        called=called,
        instead=given.get(INSTEAD, ""),
        columns=tuple(current.policy.board.columns),
        effect=plain(consequence(current.policy.board.columns[part.column]), MAX_TEXT)
        if part.is_there
        else "",
        unnamed=[(name, current.cards.get(name, 0)) for name in current.unnamed],
        fields=fields,
        first=_first(fields, shown_tree),
        draft=asked,
        words=WORDS,
        problems=_place(asked, fields, part, called),
        absent=_absent(site, board, current, asked),
        queued=current.queued,
        seen=current.digest,
        home=current.home,
    )
    return make_response(page)


def _find_part(current: CurrentPolicy) -> PolicyPart | None:
    """Return what the address asks for; None for a column that neither policy nor board has.

    One of the board that the policy does not name is a new one.
    """
    names = tuple(current.policy.board.columns)
    kind = PartKind(parameters.choice("part", tuple(PartKind), PartKind.COLUMN))
    wanted = request.args.get("column", "" if kind is PartKind.NEW else names[0])
    alike = (name for name in names if same_column(name, wanted))
    column = wanted if wanted in names else next(alike, "")
    if kind is PartKind.BOARD:
        return PolicyPart(kind)
    if kind is PartKind.NEW or (kind is PartKind.COLUMN and not column and wanted in current.unnamed):
        return PolicyPart(PartKind.NEW, wanted[:MAX_TEXT])
    return PolicyPart(kind, column) if column else None


def _heading(part: PolicyPart) -> str:
    match part.kind:
        case PartKind.BOARD:
            return "Edit the whole board"
        case PartKind.NEW:
            return "New column"
        case PartKind.REMOVE:
            return f"Remove {plain(part.column)}"
        case PartKind.COLUMN:
            return f"Edit {plain(part.column)}"


def read_current(site: Site, board: VisibleBoard) -> CurrentPolicy:
    """Return the policy in force of a board whose home the visitor may read."""
    with event_store.reading(site.engine) as db:
        home = served_boards.require_board(db, site.config, board.board_id).home_repository
        row, policy = rows.current(db, board.board_id), policies.in_force(db, board.board_id)
        cards = cards_by_column(db, board)
        queued = Counter(run.column for run in runs.list_queued(db, board.board_id))
        unnamed = structure.unknown_to_policy(db, board.board_id)
    file = row.text if row is not None else ""
    built_in = schema.name_schema(DEFAULT_TEXT, f"{site.config.public_url}{schema.ADDRESS}")
    return CurrentPolicy(
        home=home,
        policy=policy,
        cards=cards,
        file=file,
        text=file or built_in,
        workflows=row.workflows if row is not None else (),
        queued=queued,
        unnamed=tuple(name for name in unnamed if len(name) <= MAX_NAME),  # no policy can name the others
    )


def _tree_of(current: CurrentPolicy, part: PolicyPart) -> dict[str, Any]:
    """Return what the file says of a part."""
    if part.kind is PartKind.NEW:
        return {"archetype": UNNAMED}
    tree = read(current.text).tree
    for name in part.key:
        tree = tree[name]
    return tree


def _form_of(current: CurrentPolicy, part: PolicyPart, kind: str, tree: Mapping[str, Any]) -> PolicyForm:
    """Return the form of a part; `kind` is the column's archetype, as it is in the form."""
    if part.kind is PartKind.BOARD:
        return PolicyForm(policy_schema(), only=WHOLE)
    kinds = [name for name in (kind, tree.get("archetype", "")) if name in ARCHETYPES.names()]
    actions = [[dict(it) for it in ARCHETYPES.load(name).ENTRY_ACTIONS] for name in kinds]
    archetype = ARCHETYPES.load(kinds[0] if kinds else UNNAMED)
    fitting = tuple(name for name, action in ACTIONS.all() if action.fits(archetype))
    names = {"column": tuple(current.policy.board.columns), "action": fitting}
    return PolicyForm(spec_at(*COLUMNS, ""), names, {"on_entry": actions})


def _first(fields: Sequence[FormField], tree: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the fields that are not under *More settings*: also those that the file sets."""
    names = (*FIRST.get(tree.get("archetype", ""), RULES), *tree)
    return frozenset(it.name for it in fields if it.name.partition(".")[0] in names)


def _draft(
    current: CurrentPolicy,
    part: PolicyPart,
    form: PolicyForm,
    given: Mapping[str, str],
    installed: Installed,
) -> PolicyDraft:
    """Return the file with the form's changes."""
    before = _tree_of(current, part)
    after = form.read(before, given)
    called = given.get(CALLED, part.column)
    mistake = _mistake(current, part, given, called)
    if mistake[0]:
        return PolicyDraft(after, of_field=mistake)
    try:
        changed = _write(current.text, part, after, called=called, instead=given.get(INSTEAD, ""))
        if changed == current.text:
            return PolicyDraft(after, problems=(NOTHING,))
        policy = parse(changed, home=current.home, installed=installed, workflows=current.workflows)
    except PolicyError as error:
        return PolicyDraft(after, problems=error.problems)
    return PolicyDraft(after, changed, policy, compare_policies(current.policy, policy, current.cards))


def _mistake(
    current: CurrentPolicy, part: PolicyPart, given: Mapping[str, str], called: str
) -> tuple[str, str]:
    """Return what is wrong with the column's name, or with what follows it, and the field of that."""
    names = current.policy.board.columns
    if part.kind in (PartKind.COLUMN, PartKind.NEW):
        others = {*names} if part.kind is PartKind.NEW else {*names} - {part.column}
        taken = column_key(called) in set(map(column_key, others))
        return (NAMELESS if not called else TAKEN if taken else "", CALLED)
    if part.kind is PartKind.REMOVE and given.get(INSTEAD, "") not in {*names} - {part.column}:
        ways = find_columns(read(current.text).tree, part.column)
        places = [code(".".join(map(str, way)), 200) for way in ways if way[:3] != part.key]
        return (LED_TO.format(places=", ".join(dict.fromkeys(places))) if places else "", INSTEAD)
    return ("", "")


def _write(text: str, part: PolicyPart, after: dict[str, Any], *, called: str, instead: str) -> str:
    """Return the file with what a form says. Raises PolicyError for one whose form that cannot keep."""
    column = part.column
    if part.kind is PartKind.BOARD:
        return write_tree(text, after)
    if part.kind is PartKind.COLUMN and called != column:
        text = rename_group(text, part.key, called)
    tree = read(text).tree
    if part.kind is PartKind.REMOVE:
        del tree["board"]["columns"][column]
    else:
        tree["board"]["columns"][called] = after
    follows = instead if part.kind is PartKind.REMOVE else called
    if part.kind is not PartKind.NEW and follows != column and follows:
        lead_elsewhere(tree, column, follows)
    return write_tree(text, tree)


def _place(
    draft: PolicyDraft | None, fields: Sequence[FormField], part: PolicyPart, called: str
) -> Mapping[str, Sequence[str]]:
    """Return the problems as the page shows them, by the name of the field that each is about."""
    if draft is None:
        return {}
    at = (*COLUMNS, called) if part.key else ()
    placed = place_problems(fields, draft.problems, at)
    said, name = draft.of_field
    shown = {name: policy_lines(its) for name, its in placed.items()}
    return {**shown, name: policy_lines([said])} if said else shown


def _absent(
    site: Site, board: VisibleBoard, current: CurrentPolicy, draft: PolicyDraft | None
) -> tuple[str, ...]:
    """Return the columns that the draft adds, and the board does not have."""
    if draft is None or draft.policy is None:
        return ()
    with event_store.reading(site.engine) as db:
        absent = structure.absent_columns(db, board.board_id, draft.policy)
    return tuple(plain(name) for name in absent if current.policy.column(name) is None)


def propose_policy(site: Site, visit: SignIn, current: CurrentPolicy, *, title: str, text: str) -> Response:
    """Return the way to the pull request of the new text; none where the file is another one by now, or the
    visitor may not write to the board's home.
    """
    home = current.home
    if not site.readers.writes(visit, home):
        return site.page("You may not do that", NO_RIGHT.format(home=home), status=403, visit=visit)
    hub = served_boards.hub_of(site.engine, site.config, site.services.context.app, home)
    body = BODY.format(login=visit.login)
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
