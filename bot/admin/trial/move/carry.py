"""Cards carried over to GitHub. Hidden markers tell the carried ones, so a second start goes on."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bot.admin.clone.own_git import CloneError, no_beat
from bot.admin.trial.move.destination import Destination, history_there, issues_there, marker_key
from bot.admin.trial.move.local_board import LocalBoard, LocalCard
from bot.github.api import issues as issue_links
from bot.github.api import projects
from bot.github.client import repository_path
from bot.github.errors import RefusedError
from bot.render.board import moved_card
from bot.render.markdown.marker import mark, text_digest
from ledger.ids import EntryKey
from rules.text import count, plain
from runner.exec.child import Ran
from runner.git.cli import run_git

Say = Callable[[str], None]
PUSH_S = 1800.0
HEADS = "refs/heads/"
_FETCH = ("fetch", "--quiet", "--no-write-fetch-head", "--no-tags", "--no-auto-maintenance")


def show_plan(place: Destination, board: LocalBoard, say: Say) -> None:
    """Say the steps of `carry`, and write nothing. Raises CloneError for an obstacle."""
    there = issues_there(place, board.board)
    numbers = {card: int(issue["number"]) for card, issue in there.items()}
    wanted = {card.column for card in board.cards if card.card not in there and card.column}
    missing = [column for column in sorted(wanted) if not place.option_of(column)]
    where = f"{place.board.owner}/{place.board.number}"
    if missing:
        names = ", ".join(plain(column) for column in missing)
        because = f"the board {where} has no column {names}: add {'it' if len(missing) == 1 else 'them'}"
        raise CloneError(f"{because} in its field Status, or run `cardinal init --columns`")
    say(f"to {place.repository} and the board {where} ({plain(place.board.title)}), as {place.login}")
    for card in board.cards:
        known = f"already exists as #{numbers[card.card]}" if card.card in numbers else "becomes an issue"
        where = f" in {plain(card.column)}" if card.column and card.card not in numbers else ""
        remarks = f", with {count(len(card.remarks), 'comment')} as its history" if card.remarks else ""
        links = len(card.sub_issues) + len(card.blocked_by)
        more = [", closed"] * bool(card.closed) + [", assigned to you"] * card.is_assigned
        more += [f", with {count(links, 'link')}"] * bool(links and card.card not in numbers)
        say(f"  {_name(board, card)} {plain(card.title)}: {known}{where}{''.join(more)}{remarks}")
    named = _name_branches(board, numbers)
    moving = check_branches(place, board.git, named)
    for branch in board.branches:
        name = board.branch_on_github(branch, numbers)
        becomes = name or f"cardinal/NUMBER-{branch.partition('-')[2]}, with the issue's number"
        say(
            f"  branch {branch}: "
            f"{'already exists' if name and name not in moving else f'is pushed as {becomes}'}"
        )


def carry(place: Destination, board: LocalBoard, say: Say) -> None:
    """Make the missing parts, card by card. Raises CloneError, GithubError; a second call goes on."""
    there = issues_there(place, board.board)
    issues = {card.card: there.get(card.card) or _make_issue(place, board, card) for card in board.cards}
    numbers = {card: int(issue["number"]) for card, issue in issues.items()}
    for card in board.cards:
        if _carry_card(place, board, card, issues, say):
            say(f"  {_name(board, card)} is {place.repository}#{numbers[card.card]}")
    for branch in push_branches(place, board.git, _name_branches(board, numbers)):
        say(f"  pushed {branch}")


def _name_branches(board: LocalBoard, numbers: Mapping[str, int]) -> dict[str, str]:
    """Return the branches by their names on GitHub, those of cards without an issue there left out."""
    names = {board.branch_on_github(branch, dict(numbers)): branch for branch in board.branches}
    return {name: board.branches[branch] for name, branch in names.items() if name}


def _make_issue(place: Destination, board: LocalBoard, card: LocalCard) -> Mapping[str, Any]:
    key = EntryKey(marker_key(board.board, card.card))
    body = {
        "title": moved_card.title(card.title) or "(no title)",
        "body": mark(moved_card.body(card.body), key),
        "labels": list(card.labels),
        "assignees": [place.login] * card.is_assigned,
    }
    issue: Mapping[str, Any] = place.hub.rest(
        "POST", f"{repository_path(place.repository)}/issues", body=body
    ).body
    return issue


def _carry_card(
    place: Destination, board: LocalBoard, card: LocalCard, issues: Mapping[str, Mapping[str, Any]], say: Say
) -> bool:
    """Carry the rest of a card; return whether its history changed. `issues` are there, by card.

    The history comes last: once it is there, people may have moved the card, and it stays where it is.
    """
    issue = issues[card.card]
    number = int(issue["number"])
    root = repository_path(place.repository)
    there = history_there(place, board.board, card.card, number)
    if not there:
        _place_card(place, card, str(issue["node_id"]))
        for other, because in _link_card(place, card, issues):
            there_now = f"{place.repository}#{number} and #{issues[other]['number']}"
            say(f"  GitHub refuses to link {there_now}, so that link is skipped: {plain(because, 200)}")
        if card.closed:
            state = {"state": "closed", "state_reason": card.closed}
            place.hub.rest("PATCH", f"{root}/issues/{number}", body=state)
    texts = moved_card.history(_name(board, card), card.author, card.at, card.body, card.remarks)
    changed = False
    for part, text in enumerate(texts, 1):
        comment, digest = there.get(str(part), (0, ""))
        if digest == text_digest(text):
            continue
        body = {"body": mark(text, EntryKey(marker_key(board.board, card.card, part)))}
        if comment:
            place.hub.rest("PATCH", f"{root}/issues/comments/{comment}", body=body)
        else:
            place.hub.rest("POST", f"{root}/issues/{number}/comments", body=body)
        changed = True
    return changed


def _place_card(place: Destination, card: LocalCard, content_id: str) -> None:
    """Put the issue on the board, into the card's column."""
    card_id = projects.add_card(place.hub, place.board.board_id, content_id)
    if option := place.option_of(card.column):
        projects.move_card(place.hub, place.board.board_id, card_id, place.board.status_field_id, option)


def _link_card(
    place: Destination, card: LocalCard, issues: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Make the card's links; yield the other card of each that is not there, and why GitHub refuses it."""
    mine = str(issues[card.card]["node_id"])
    parts = ((other, issue_links.add_sub_issue, issue_links.is_sub_issue) for other in card.sub_issues)
    blockers = ((other, issue_links.add_blocked_by, issue_links.is_blocked_by) for other in card.blocked_by)
    for other, add, is_there in (*parts, *blockers):
        theirs = str(issues[other]["node_id"])
        try:
            add(place.hub, mine, theirs)
        except RefusedError as error:
            if not is_there(place.hub, mine, theirs):  # else an earlier start has made it
                yield other, error.because


def _name(board: LocalBoard, card: LocalCard) -> str:
    return f"{card.repository or board.name} card {card.number}" if card.number else "draft"


def push_branches(place: Destination, git: Path, branches: Mapping[str, str]) -> tuple[str, ...]:
    """Push each branch to the commit it shall have; return those that moved.

    A branch that has more commits there already stays. Raises CloneError for one that has others.
    """
    moving = check_branches(place, git, branches)
    if moving:
        refs = (f"{branches[branch]}:{HEADS}{branch}" for branch in moving)
        ran = _remote(place, git, "push", "--quiet", place.hub.git_url(place.repository), *refs)
        if ran.exit_code:
            raise CloneError(f"git cannot push to {place.repository}: {_git_said(ran)}; then do this again")
    return moving


def check_branches(place: Destination, git: Path, branches: Mapping[str, str]) -> tuple[str, ...]:
    """Return the branches that would be pushed; raises as `push` does, and writes nothing there."""
    there = _heads(place, git) if branches else {}
    moving = []
    for branch, commit in branches.items():
        head = there.get(branch, "")
        if head and head != commit and not _has(git, head):
            _remote(place, git, *_FETCH, place.hub.git_url(place.repository), f"{HEADS}{branch}")
        if not head or (head != commit and _contains(git, commit, head)):
            moving.append(branch)
        elif not _contains(git, head, commit):
            because = f"the branch {branch} is in {place.repository} with other commits"
            raise CloneError(f"{because}: rename or remove it there, then do this again")
    return tuple(moving)


def _heads(place: Destination, git: Path) -> dict[str, str]:
    ran = _remote(place, git, "ls-remote", "--heads", place.hub.git_url(place.repository))
    if ran.exit_code:
        raise CloneError(f"git cannot read {place.repository}: {_git_said(ran)}; then do this again")
    rows = (row.partition("\t") for row in ran.out.splitlines())
    return {ref.removeprefix(HEADS): commit for commit, _, ref in rows}


def _has(git: Path, commit: str) -> bool:
    return _git(git, "cat-file", "-e", f"{commit}^{{commit}}").exit_code == 0


def _contains(git: Path, commit: str, other: str) -> bool:
    return _git(git, "merge-base", "--is-ancestor", other, commit).exit_code == 0


def _git_said(ran: Ran) -> str:
    return ran.tail.strip().rpartition("\n")[2][:300] or "no reason given"


def _remote(place: Destination, git: Path, *args: str) -> Ran:
    return _git(git, *args, more_env=place.hub.git_environment(place.repository))


def _git(git: Path, *args: str, more_env: Mapping[str, str] | None = None) -> Ran:
    return run_git(
        args, folder=git, beat=no_beat, timeout_s=PUSH_S, more_env=more_env, transfers=True, bare=True
    )
