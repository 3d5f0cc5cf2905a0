"""A policy file on a branch: its problems, or its changes, before it is merged."""

from bot.bootstrap import Services
from bot.reactor import reactor
from bot.repo_config import policy_file, profiles, workflow_files
from bot.state import policies as policies_in_force
from bot.state import policy_names
from ledger.events.policy import ColumnChange, PolicyProposed, SettingChange, digest_of_policy
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.queries import cards
from ledger.views import policies
from rules.card.column_actions import find_changed_columns
from rules.errors import PolicyError
from rules.policy.model import parse
from rules.policy.settings import find_changed_settings


def read(services: Services, board_id: BoardId, commit: str) -> None:
    """Read the file at `commit`; record it unless it is the one in force, or known already."""
    home = services.board.home_repository
    text = policy_file.read_at(services.hub, home, commit)
    if text is None:
        return
    flows = workflow_files.read_workflows(services.hub, home, commit)
    digest = digest_of_policy(text, flows)
    own = profiles.own_profile_names(services.hub, home, commit, text)
    with event_store.writing(services.engine) as db:
        if (
            digest == policies.policy_digest(db, board_id)
            or policies.proposal(db, board_id, commit) is not None
        ):
            return
        problems: tuple[str, ...] = ()
        changes: tuple[ColumnChange, ...] = ()
        settings: tuple[SettingChange, ...] = ()
        more = 0
        try:
            installed = policy_names.list_installed(services.config.agents)
            after = parse(text, home=home, installed=installed, profiles=own, workflows=flows)
            before = policies_in_force.in_force(db, board_id)
            changes = find_changed_columns(before, after, cards.counts(db, board_id))
            settings, more = find_changed_settings(before, after)
        except PolicyError as error:
            problems = error.problems
        proposed = PolicyProposed(
            board_id=board_id,
            digest=digest,
            commit=commit,
            problems=problems,
            changes=changes,
            settings=settings,
            more_settings=more,
        )
        reactor.append_and_react(db, proposed, now=services.now())
