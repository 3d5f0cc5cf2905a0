"""Can agents work in the cards' repositories: is there a policy, and does it name checks."""

from collections.abc import Iterator

from bot.checkups.finding import Finding, Level, Patient
from bot.github import policy_file
from bot.github.errors import NotFoundError
from bot.texts import checks_needed
from ledger import book, listing
from ledger.views import boards, placements
from rules.errors import PolicyError
from rules.policy import parse_repository
from rules.policy_repository import RepositoryRules

MOST_REPOSITORIES = 30  # that are asked about: two calls each


def checks(patient: Patient) -> Iterator[Finding]:
    """Does each repository say how an agent's work there is checked?"""
    if patient.engine is None:
        return
    with book.reading(patient.engine) as db:
        served = [board.board_id for board in boards.all_boards(db)]
        own = {one for board_id in served for one in listing.repositories_of(db, board_id)}
        named = own.union(*(placements.repositories(db, board_id) for board_id in served))
    for repository in sorted(named)[:MOST_REPOSITORIES]:
        yield from _of(patient, repository)
    if len(named) > MOST_REPOSITORIES:
        found = f"{len(named) - MOST_REPOSITORIES} more repositories were not looked at"
        yield Finding("checks", Level.WARN, found, "`cardinal policy validate` in a clone says the same")


def _of(patient: Patient, repository: str) -> Iterator[Finding]:
    try:
        text = policy_file.read(patient.hub, repository).text
        rules = parse_repository(text) if text else RepositoryRules()
    except NotFoundError:
        found = f"{repository} is out of reach"
        yield Finding("checks", Level.WARN, found, "add it to the App's installation on GitHub")
    except PolicyError as error:
        found = f"{repository}: its {checks_needed.FILE} is refused: {error.problems[0]}"
        yield Finding("checks", Level.FAIL, found, f"correct {checks_needed.FILE}, or no run starts there")
    else:
        if rules.waived:
            found = f"{repository}: validation is none, so nothing checks what agents do there"
            yield Finding("checks", Level.WARN, found, "name `fast` or `full` checks, unless that is meant")
        elif not rules.checked:
            found = f"{repository} names no checks, so no agent starts there"
            yield Finding(
                "checks", Level.WARN, found, f"write {checks_needed.LINE} into {checks_needed.FILE}"
            )
        else:
            yield Finding("checks", Level.OK, f"{repository} says how work is checked")
