"""Facts of a delivery resolved: missing data is read from GitHub, then events are made.

Calls happen before the transaction; event factories run inside it and see events recorded meanwhile, so a
fact that is delivered twice becomes one event.
"""

from typing import assert_never

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.github.api import merge_queue as github_merges
from bot.github.api import projects as github_board
from bot.github.api import pulls, reviews, roles
from bot.github.errors import NotFoundError, expect_newer
from bot.ingest import comments, facts
from bot.ingest.facts import Resolution
from bot.state import served_boards
from bot.sync import access, board, checks, policy_proposal
from bot.sync import card as card_sync
from ledger.event import Event
from ledger.events import pull as on_pull
from ledger.events.access import RepositoryMoved
from ledger.ids import CardId
from ledger.log import event_store
from ledger.log.event_store import EventFactory, no_events
from ledger.rows.cards import CardRow
from ledger.states import RunState
from ledger.views import cards, links, merges, placements, remotes, runs, verdicts

MAX_DEPENDENTS = 500  # cards refreshed for one changed issue; the sweep finds the others


def resolve(services: Services, delivered: tuple[facts.Fact, ...]) -> Resolution:
    """Resolve the facts; raises a GithubError when a call fails."""
    result = Resolution()
    for fact in delivered:
        match fact:
            case facts.CardTouched():
                _card_touched(services, fact, result)
            case facts.CommentAltered():
                for card in _find_known(
                    services, fact.repository, fact.number
                ):  # an unknown issue costs no call
                    on = services.if_served(card.board_id)
                    result.makers.append(comments.comment_altered(on, fact, card))
            case facts.BlockerChanged():
                _refresh_dependents(services, fact, result)
            case facts.IssueFact():
                for card in _cards_of_fact(services, fact):
                    on = services.if_served(card.board_id)
                    if on is not None:
                        _about_card(on, fact, card, result)
            case _:
                _about_repository(services, fact, result)
    return result


def _about_repository(services: Services, fact: facts.Fact, result: Resolution) -> None:
    match fact:
        case facts.Pushed():
            _serve_push(services, fact)
        case facts.AccessChanged():
            for each in services.on_every_board():
                access.check_access(each, thoroughly=True)
        case facts.Renamed():
            result.makers.append(_serve_rename(fact))
        case facts.ChecksMoved():
            _checks(services, fact, result)
        case facts.ButtonPressed():
            _serve_press(services, fact, result)
        case _:
            fact.resolve(services, result)


def _refresh_dependents(services: Services, fact: facts.IssueFact, result: Resolution) -> None:
    with event_store.reading(services.engine) as db:
        for card_id in links.dependents(db, fact.repository, fact.number, MAX_DEPENDENTS):
            card = cards.get(db, card_id)
            if card is not None and not card.archived:
                result.refreshes.append((card_id, card.board_id))


def _cards_of_fact(services: Services, fact: facts.IssueFact) -> tuple[CardRow, ...]:
    """Return the cards that the fact is about, of all cards of its issue or pull request."""
    match fact:
        case facts.PullRequestRead(echo=True):
            known_cards = _find_known(services, fact.repository, fact.number)  # an unknown one costs no call
            with event_store.reading(services.engine) as db:
                return tuple(card for card in known_cards if not _is_known(db, card, fact))
        case facts.BoxTicked():
            known_cards = find_cards(services, fact.repository, fact.number)
            with event_store.reading(services.engine) as db:
                posted = remotes.cards_of(db, str(fact.comment_id))
            return (
                known_cards
                if len(known_cards) < 2
                else tuple(card for card in known_cards if card.card_id in posted)
            )
        case _:
            return find_cards(services, fact.repository, fact.number)


def find_cards(services: Services, repository: str, number: int) -> tuple[CardRow, ...]:
    """Return the cards of an issue or pull request; an unknown card is read from GitHub."""
    known_cards = _find_known(services, repository, number)
    if not known_cards:
        hub = served_boards.hub_of(services.engine, services.config, services.context.app, repository)
        for card_id, board_id in github_board.cards_of_issue(hub, repository, number).items():
            on = services.if_served(board_id)
            if on is not None:
                card_sync.require_synced(on, card_id)
        known_cards = _find_known(services, repository, number)
    return known_cards


def _find_known(services: Services, repository: str, number: int) -> tuple[CardRow, ...]:
    with event_store.reading(services.engine) as db:
        return cards.of_pull(db, repository, number) or cards.of_issue(db, repository, number)


def _card_touched(services: Services, fact: facts.CardTouched, result: Resolution) -> None:
    if board.if_served(services, fact.board_id) is None:
        return  # a board that Cardinal does not serve must cost no call
    result.refreshes.append((fact.card_id, fact.board_id))
    if fact.change is not None:
        result.changes.append((fact.card_id, fact.change))
    if fact.moved is not None:
        result.moves[fact.card_id] = fact.moved


def _serve_push(services: Services, fact: facts.Pushed) -> None:
    if not fact.touches_policy:
        return
    for each in services.on_every_board():
        if fact.repository.casefold() != each.board.home_repository.casefold():
            continue
        if fact.on_default:
            board.refresh(each)
        elif each.board.board_id is not None and fact.after.strip("0"):  # else the branch is gone
            policy_proposal.read(each, each.board.board_id, fact.after)


def _serve_rename(fact: facts.Renamed) -> EventFactory:
    def make(db: Connection) -> tuple[Event, ...]:
        concerned = {card.board_id for card in placements.cards_working_in(db, fact.before)}
        return tuple(RepositoryMoved(board_id, fact.before, fact.after) for board_id in sorted(concerned))

    return make


def _checks(services: Services, fact: facts.ChecksMoved, result: Resolution) -> None:
    with event_store.reading(services.engine) as db:
        concerned = cards.of_head(db, fact.repository, fact.sha)
    for card in concerned:
        on = services.if_served(card.board_id)
        if on is not None:
            result.makers.append(checks.read(on, card))


def _serve_press(services: Services, fact: facts.ButtonPressed, result: Resolution) -> None:
    if not fact.app_id or fact.app_id != services.config.app_id:
        return  # another App's check run, with any content
    with event_store.reading(services.engine) as db:
        card = cards.get(db, CardId(fact.mark))
    if card is None or card.pull_repository != fact.repository or card.archived:
        return
    on = services.if_served(card.board_id)
    if on is not None:
        result.makers += comments.events_of_press(on, fact, card)


def _about_card(services: Services, fact: facts.IssueFact, card: CardRow, result: Resolution) -> None:
    match fact:
        case facts.CommentWritten():
            result.makers.append(comments.comment_written(services, fact, card))
        case _ if card.pull_card:
            pass  # a pull request on the board: its reviews and pushes are no run's
        case facts.BoxTicked():
            result.makers += comments.resolve_ticks(services, fact, card)
        case facts.LinksChanged():  # in any order: the sync reads the current state
            result.request_refresh(card)
        case facts.IssueEdited():
            result.request_refresh(card, fact.change)
        case facts.PullRequestRead():
            result.makers.append(_pull(services, fact, card))
        case facts.MergeLeft():
            result.makers.append(_read_unmerged(services, fact, card))
        case facts.Reviewed() | facts.ReviewWanted() | facts.ReviewTakenBack():
            result.makers.append(_about_review(services, fact, card))
        case _:
            raise TypeError(f"no rule for the fact {type(fact).__name__}")


def _about_review(
    services: Services, fact: facts.Reviewed | facts.ReviewWanted | facts.ReviewTakenBack, card: CardRow
) -> EventFactory:
    match fact:
        case facts.Reviewed():
            return _review(services, fact, card)
        case facts.ReviewWanted():
            return _serve_review_request(services, fact, card)
        case facts.ReviewTakenBack():
            return lambda _: (on_pull.ReviewDismissed(card.card_id, fact.review_id),)
        case _:
            assert_never(fact)


def _pull(services: Services, fact: facts.PullRequestRead, card: CardRow) -> EventFactory:
    """Read the pull request, because deliveries come in any order; not for one that tells no news."""
    with event_store.reading(services.engine) as db:
        if _is_known(db, cards.get(db, card.card_id) or card, fact):
            return no_events
    seen = (fact.state, fact.draft, fact.head)
    if not fact.merged:  # a merged one stays as it is
        try:
            pull = pulls.read(services.hub, fact.repository, fact.number)
        except NotFoundError:
            return no_events  # it is gone, and a sync of the card finds the rest
        if pull.updated_at is not None and pull.updated_at < fact.at:
            expect_newer(f"pull request {fact.number}", fact.at, services.hub.now())
        seen = (pull.state, pull.draft, pull.head)

    def make(db: Connection) -> tuple[Event, ...]:
        known_card = cards.get(db, card.card_id)
        if (
            known_card is None
            or known_card.pull_number != fact.number
            or (fact.echo and _is_known(db, known_card, fact))
        ):
            return ()
        if seen == (known_card.pull_state, known_card.pull_draft, known_card.pull_head):
            return ()
        return (on_pull.PullChanged(card.card_id, fact.number, *seen),)

    return make


def _is_known(db: Connection, card: CardRow, fact: facts.PullRequestRead) -> bool:
    """Tell whether the card has these facts; or, for an echo, a live run, which records its own acts."""
    run = runs.get(db, card.run_id) if fact.echo and card.run_id else None
    lives = run is not None and run.state is not RunState.ENDED
    return lives or (card.pull_state, card.pull_draft, card.pull_head) == (fact.state, fact.draft, fact.head)


def _read_unmerged(services: Services, fact: facts.MergeLeft, card: CardRow) -> EventFactory:
    """Read the pull request: one that left the queue may have been merged."""
    with event_store.reading(services.engine) as db:
        if merges.get(db, card.card_id) is None:
            return no_events  # Cardinal did not request this merge
    try:
        merging = github_merges.read(services.hub, card.pull_node_id)
    except NotFoundError:
        return no_events  # it is gone, and a sync of the card finds the rest

    def make(db: Connection) -> tuple[Event, ...]:
        merge = merges.get(db, card.card_id)
        gone = merging.state == "open" and not merging.queued and not merging.auto
        if merge is None or merge.number != fact.number or not gone:
            return ()
        return (on_pull.MergeAwaited(card.card_id, fact.number, "", merge.head, fact.reason.lower()),)

    return make


def _review(services: Services, fact: facts.Reviewed, card: CardRow) -> EventFactory:
    trusted = roles.writes(services.hub, fact.repository, fact.author)
    where = fact.repository, fact.number, fact.review_id
    try:
        threads = reviews.threads_of_review(services.hub, *where)
    except NotFoundError:
        return no_events  # it is gone, and a sync of the card finds the rest
    if not threads and fact.submitted_at is not None:
        try:
            is_behind = reviews.has_comments(services.hub, *where)
        except NotFoundError:
            is_behind = True
        if is_behind:
            expect_newer(f"review {fact.review_id}", fact.submitted_at, services.hub.now())

    def make(db: Connection) -> tuple[Event, ...]:
        if verdicts.knows_review(db, card.card_id, fact.review_id):
            return ()
        return (
            on_pull.ReviewSubmitted(
                card_id=card.card_id,
                review_id=fact.review_id,
                author=fact.author,
                trusted=trusted,
                verdict=fact.verdict,
                body=fact.body,
                threads=threads,
                head=fact.head,
                submitted_at=fact.submitted_at,
            ),
        )

    return make


def _serve_review_request(services: Services, fact: facts.ReviewWanted, card: CardRow) -> EventFactory:
    trusted = roles.writes(services.hub, fact.repository, fact.by)
    event = on_pull.ReviewRequested(card.card_id, fact.number, fact.reviewer, fact.by, trusted)
    return lambda _: (event,)
