"""A card: what it waits for at the top, its work, its runs as chapters, its facts and their forms."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import quote

from flask import Response, request
from sqlalchemy import Connection

from bot.render.board.card_fields import parts_done
from bot.state import policies, served_boards, snapshots
from bot.state.card_filters import FilterError
from bot.web.acting import offered, on_github
from bot.web.acting.offered import FormView
from bot.web.card import work as card_work
from bot.web.card.panel import PanelInput, PanelView, panel_of
from bot.web.card.story import LineView, newest_lines, tell
from bot.web.site import following, markdown, parameters
from bot.web.site.layout import Site
from bot.web.site.lists import fit_rows
from bot.web.site.report import hand_over_view
from bot.web.site.times import stamp, when
from bot.web.site.visibility import find_visible_card, may_see, path_of
from ledger.event import Zoom
from ledger.events.board import CardArchived
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries.card_filter import CardScope
from ledger.queries.run_rows import RunRows
from ledger.queue.sign_ins import SignIn
from ledger.rows.cards import CardRow
from ledger.rows.links import LinkRow
from ledger.rows.messages import MessageRow
from ledger.rows.runs import RunRow
from ledger.states import Priority
from ledger.views import boards, cards, hand_overs, links, messages, runs, spend
from ledger.views.boards import BoardRow
from ledger.views.budgets import BudgetRow
from ledger.views.hand_overs import HandOverRow
from rules.card.preferences import choose_priority, describe_next_run
from rules.chatops.offers import CommandOffer, Urgency
from rules.explain import explain_with_workflow
from rules.policy.model import Policy
from rules.runs.cost import cost_words
from rules.snapshot import Snapshot, is_outside
from rules.text import brief, plain, sentence, state_word, usd

PATH = "/cards/<owner>/<name>/<int(max=999999999):number>"
EVENT = re.compile(r"[0-9]{1,17}")
# What every run says on GitHub, too; the depth debug is for whoever may write to the policy's repository.
ZOOMS = (Zoom.CONVERSATION, Zoom.ACTIVITY)
MAX_HAND_OVERS = 3  # the newest
MAX_ASKED = 10  # repositories of other issues about which one page asks GitHub: a reader has 30 in a minute
UNASKED = "There may be more issues you can read. Reload this page in a minute."
MAX_LINE, MAX_NAMES, MAX_RUNS = 500, 30, 8
BLOCKED_BY = "blocked_by"  # as the command link has it
ASSISTANT = ("assistant",)  # the place of its words


def mount(site: Site) -> None:
    """Mount the page."""

    @site.get(PATH, f"{PATH}/<card_id>")
    def card(visit: SignIn, owner: str, name: str, number: int, card_id: str = "") -> Response:
        parameters.check_names("zoom", "before")
        row = find_visible_card(site, visit, f"{owner}/{name}", number, card_id)
        return _page(site, visit, row) if row is not None else site.nothing(visit)

    @site.get("/live/cards/<card_id>")
    def card_news(visit: SignIn, card_id: str) -> Response:
        with event_store.reading(site.engine) as db:
            row = cards.get(db, CardId(card_id))
        if row is None or not may_see(site, visit, row):
            return site.nothing(visit)
        return following.card_stream(site, visit, CardScope(row.board_id), row.card_id)


@dataclass(frozen=True, slots=True)
class CardContent:
    """A card in the ledger at the event `after`; `rows` are of its newest run, `said` by the assistant."""

    after: int
    lines: Sequence[LineView]
    cut: bool
    runs: Sequence[RunRow]
    total_usd: float
    snapshot: Snapshot | None
    policy: Policy
    because: str
    left: str
    blockers: Sequence[LinkRow]
    parts: Sequence[CardRow]
    rows: RunRows | None
    said: MessageRow | None
    board: BoardRow | None
    handed_over: Sequence[HandOverRow]


def _explain(db: Connection, policy: Policy, snapshot: Snapshot, *, quotes: bool) -> str:
    return explain_with_workflow(policy, snapshots.with_place(db, snapshot), quotes=quotes)


def _read_card(site: Site, card: CardRow, zoom: Zoom, *, quotes: bool) -> CardContent:
    """Read the card. Raises FilterError."""
    with event_store.reading(site.engine) as db:
        lines, cut = newest_lines(db, card.card_id, zoom, _before())
        snapshot, policy = snapshots.of_card(db, card.card_id), policies.in_force(db, card.board_id)
        return CardContent(
            after=event_store.last_seq(db),
            lines=lines,
            cut=cut,
            runs=runs.of_card(db, card.card_id),
            total_usd=spend.of_card(db, card.card_id).usd,
            snapshot=snapshot,
            policy=policy,
            because=_explain(db, policy, snapshot, quotes=quotes) if snapshot else "",
            left=_describe_leave(db, card) if card.archived else "",
            blockers=links.of_card(db, card.card_id),
            parts=links.parts_of(db, card.repository, card.number, links.MAX_PARTS),
            rows=RunRows.read(db, snapshot.run) if snapshot and snapshot.run else None,
            said=next(iter(messages.newest(db, card.card_id, 1, ASSISTANT)), None),
            board=boards.get(db, card.board_id),
            handed_over=hand_overs.newest(db, card.card_id, MAX_HAND_OVERS),
        )


def _page(site: Site, visit: SignIn, card: CardRow) -> Response:
    zooms = _zooms(site, visit, card)
    wanted = Zoom(parameters.choice("zoom", tuple(Zoom), Zoom.CONVERSATION))
    zoom = wanted if wanted in zooms else Zoom.CONVERSATION  # of an operator who sent the address on
    commands = offered.for_card(site, visit, card.card_id, every=True)
    quotes = all(it.offer.command != "answer" for it in commands)  # else the form has the question
    read = _read_card(site, card, zoom, quotes=quotes)
    snapshot, policy = read.snapshot, read.policy
    # The runs of lines that are older than the listed ones have no summary.
    told = tell(read.lines, {run.run_id: run for run in read.runs}) if zoom is not Zoom.DEBUG else read.lines
    plans = policy.archetype(card.column).HAS_ASSISTANT and not (snapshot and snapshot.live_run)
    github = on_github.forms_for_card(site, visit, card, plans=plans)
    panel = None
    if snapshot is not None and (commands or github or not card.archived):
        panel = panel_of(PanelInput(policy, snapshot, read.rows, read.said, commands, github, read.because))
    work = card_work.work_of(site, visit, snapshot, policy) if snapshot else None
    budget = read.rows.budget if read.rows else None
    cost = usd(read.total_usd)
    return following.page(
        "card.html",
        f"/live/cards/{quote(card.card_id)}",
        read.after,
        title=plain(card.title, MAX_LINE) or "Untitled",
        name=f"{card.repository}#{card.number}",
        lines=[sentence(text) for text in (read.left, read.because) if text],
        state=state_word(card.state) or "at rest",
        column=plain(card.column or "no column"),
        since=stamp(card.state_at),
        waits=brief(site.clock() - card.state_at),
        issue=f"{site.config.git_url}/{card.repository}/issues/{card.number}",
        pull=_pull(site, card),
        new_card=f"/boards/{quote(read.board.owner)}/{read.board.number}/new"
        if read.board and commands
        else "",
        panel=panel,
        work=work,
        handed_over=list(map(hand_over_view, read.handed_over)),
        body=markdown.render(card.body) if card.body.strip() else None,
        facts=_facts(card, policy, budget, cost, _choice_forms(site, card, commands)),
        labels=fit_rows(plain(label) for label in card.labels[:MAX_NAMES]),
        assignees=[plain(login) for login in card.assignees[:MAX_NAMES]],
        github=github,
        cost=cost,
        runs=[_run(run) for run in read.runs[:MAX_RUNS]],
        timeline=told,
        oldest=read.lines[0].seq if read.lines else 0,
        count=len(read.lines),
        cut=read.cut,
        zoom=zoom,
        zooms=zooms,
        before=_before(),
        document=f"/cards/{quote(card.repository or '')}/{card.number}.md",
        path=path_of(card.repository, card.number, card.card_id),
        more=_further(commands, panel),
        visit=visit,
        **_describe_related(site, visit, card, commands, read),
    )


def _describe_related(
    site: Site, visit: SignIn, card: CardRow, commands: Sequence[FormView], read: CardContent
) -> dict[str, object]:
    """Return the other issues that the visitor may read: what the card waits for, and its parts."""
    readable, complete = _readable(site, visit, card, (*read.blockers, *read.parts))
    seen = [it for it in read.blockers if it.repository in readable]
    own = [it for it in read.parts if it.repository in readable]
    return {
        "dependencies": fit_rows(_dependency(site, link) for link in seen),
        "unasked": "" if complete else UNASKED,
        "dependencies_done": f"{sum(not link.holds for link in seen)} of {len(seen)} done",
        "link_forms": _link_forms(site, card, commands, seen),
        "parts_done": parts_done(own),
        "parts": fit_rows(map(_part, own)),
    }


def _further(commands: Sequence[FormView], panel: PanelView | None) -> list[FormView]:
    """Return the commands that the panel has not; a move to any column is one."""
    shown = {it.offer.name for it in panel.forms if it.offer.command != "move"} if panel else set[str]()
    return [it for it in commands if not it.offer.name or it.offer.name not in shown]


def _facts(
    card: CardRow, policy: Policy, budget: BudgetRow | None, spent: str, forms: Mapping[str, list[FormView]]
) -> list[tuple[str, str, list[FormView]]]:
    """Return the facts that are not empty: of each its name, its value, and the forms that change it."""
    chosen = choose_priority(policy, card)
    most = policy.limits.usd_per_card
    run = f"{usd(budget.spent_usd)} of {usd(budget.budget_usd)} for {budget.run_id}" if budget else ""
    facts = (
        ("Repository", plain(card.repository or "")),
        ("Column", plain(card.column or "no column")),
        ("Author", plain(card.author)),
        ("Moved by", plain(card.mover)),
        ("Spent", f"{spent} of {usd(most)}" if most else spent),
        ("Budget", run),
        ("Priority", f"{chosen.priority}, {plain(chosen.why, 200)}"),
        ("Limits of its next runs", describe_next_run(policy, card)),
    )
    return [(name, value, forms.get(name, [])) for name, value in facts if value]


def _choice_forms(site: Site, card: CardRow, commands: Sequence[FormView]) -> dict[str, list[FormView]]:
    """Return the forms that choose priority and limits, for those who may give their commands."""
    may, forms = _list_named_choices(commands), dict[str, list[FormView]]()
    if "priority" in may:
        words = [*(it for it in Priority if it is not card.priority), *(["none"] if card.priority else [])]
        choices = tuple((str(word), str(word)) for word in words)
        offer = CommandOffer("priority", "Set", "Its priority", Urgency.CARD, choices=choices)
        forms["Priority"] = [offered.form_view(site, card.card_id, offer)]
    if "limit" in may:
        asks = "Such as time 2h turns 120 budget 5, or none"
        limit = CommandOffer("limit", "Set", "Limits of its next runs", Urgency.CARD, asks=asks)
        forms["Limits of its next runs"] = [offered.form_view(site, card.card_id, limit)]
    return forms


def _list_named_choices(commands: Sequence[FormView]) -> set[str]:
    """Return the commands that the visitor may give by the form for all of them."""
    return {name for it in commands if not it.offer.name for name, _ in it.offer.choices}


def _link_forms(
    site: Site, card: CardRow, commands: Sequence[FormView], blockers: Sequence[LinkRow]
) -> list[FormView]:
    """Return the forms that add and remove dependencies, for those who may give their commands."""
    may = _list_named_choices(commands)
    mine = [f"#{link.number}" for link in blockers if link.repository == card.repository][:MAX_NAMES]
    forms = []
    if "link" in may:
        add = CommandOffer("link", "Add", "Add what it is blocked by", Urgency.CARD, asks=f"{BLOCKED_BY} #12")
        forms.append(offered.form_view(site, card.card_id, add, value=f"{BLOCKED_BY} #"))
    if "unlink" in may and mine:
        choices = tuple((f"{BLOCKED_BY} {name}", name) for name in mine)
        remove = CommandOffer("unlink", "Remove", "No longer blocked by", Urgency.CARD, choices=choices)
        forms.append(offered.form_view(site, card.card_id, remove))
    return forms


def _describe_leave(db: Connection, card: CardRow) -> str:
    """Return how the card left its board: by whom, and when."""
    ((at, event),) = event_store.newest_of(db, f"card:{card.card_id}", CardArchived, 1)
    did = {"archived": "archived", "deleted": "deleted on the board"}.get(event.reason)
    who = f"{did} by {event.by or 'someone'}" if did else "no longer on a board Cardinal serves"
    return f"{plain(who)}, {when(at)}"


def _run(run: RunRow) -> tuple[str, str, str, str]:
    took = brief(timedelta(seconds=run.active_s)) if run.active_s else ""
    return run.run_id, state_word(run.status), took, cost_words(run.usd, run.payer) if run.usd else ""


def _readable(
    site: Site, visit: SignIn, card: CardRow, others: Sequence[LinkRow | CardRow]
) -> tuple[frozenset[str], bool]:
    """Return which repositories of other issues the visitor may read, and whether GitHub was asked about all.

    Of another owner's nobody can say who may read them. Raises BusyError.
    """
    owner = (card.repository or "").partition("/")[0]
    names = {it.repository for it in others if it.repository and not is_outside(it.repository, owner)}
    return site.readers.soon_readable(visit, names, card.created_at, MAX_ASKED)


def _part(card: CardRow) -> tuple[str, str, str, str]:
    """Return the name, the title, the path and the state of the card of a sub-issue."""
    path = path_of(card.repository, card.number, card.card_id)
    state = state_word(card.state) or "at rest"
    return f"{card.repository}#{card.number}", plain(card.title, MAX_LINE), path, state


def _dependency(site: Site, link: LinkRow) -> tuple[str, str, str, str]:
    """Return the name, the title, the address and the state of an issue that blocks the card."""
    state = "not done" if link.holds else "done"
    if link.holds and link.state != "open":
        state = f"closed as {link.state.replace('_', ' ')}"
    name = f"{link.repository}#{link.number}"
    where = f"{site.config.git_url}/{link.repository}/issues/{link.number}"
    return name, plain(link.title, MAX_LINE), where, state


def _zooms(site: Site, visit: SignIn, card: CardRow) -> tuple[Zoom, ...]:
    """Return the depths that the visitor may choose. Raises BusyError."""
    with event_store.reading(site.engine) as db:
        board = served_boards.get(db, site.config, card.board_id)
    operates = board is not None and site.readers.writes(visit, board.home_repository)
    return (*ZOOMS, Zoom.DEBUG) if operates else ZOOMS


def _before() -> int | None:
    """Return the event before which the lines are wanted; None for the newest. Raises FilterError."""
    wanted = request.args.get("before")
    if wanted is not None and not EVENT.fullmatch(wanted):
        raise FilterError("before", "“before” must be the number of an event: correct it, or leave it out")
    return None if wanted is None else int(wanted)


def _pull(site: Site, card: CardRow) -> tuple[str, str] | None:
    if card.pull_number is None:
        return None
    state = "draft" if card.pull_draft and card.has_open_pull else card.pull_state
    review = "no review yet" if card.verdict == "none" and card.has_open_pull else card.verdict
    words = (it.replace("_", " ") for it in (state, review) if it not in ("", "none"))
    facts = ", ".join(map(plain, words))
    where = card.pull_repository or card.repository
    return f"#{card.pull_number} ({facts})", f"{site.config.git_url}/{where}/pull/{card.pull_number}"
