"""Commands as events, whatever door they came through: the right to give them, and their dependencies."""

from dataclasses import dataclass, replace
from datetime import datetime

from bot.bootstrap import Services
from bot.github.api import repositories
from bot.outbox import subscribers
from bot.outbox.subscribers import SubscribersError
from bot.repo_config import skills
from bot.state import policies
from bot.sync import card as card_sync
from ledger.events.conversation import CommandGiven, CommandRefused
from ledger.log import event_store
from ledger.log.event_store import EventFactory
from ledger.rows.cards import CardRow
from ledger.states import Door
from ledger.views import runs
from rules.card import target_repository
from rules.chatops import parser
from rules.policy.model import Policy
from rules.runs.skills import names_of
from rules.text import code

WHERE = "A skill is a folder in `.github/cardinal/skills/` of the default branch, and has its name."
STARTS = ("fix", "investigate", "retry")


@dataclass(frozen=True, slots=True)
class CommandAuthor:
    """The author of a command, their role, and its place.

    `source` is the comment's id or `<door>:<name>`, as in CommandGiven; `at` is None if GitHub does not tell
    it. `base` is the default branch's commit, if the command depends on it; `user_id` is GitHub's; `via` is
    the program's token; `no_address` and `addresses_unread` as in CommandGiven.
    """

    login: str
    role: str
    place: str
    comment_id: int
    source: str
    at: datetime | None
    base: str = ""
    user_id: int = 0
    via: str = ""
    no_address: bool = False
    addresses_unread: bool = False


def prepare_command(
    services: Services,
    card: CardRow,
    parsed: parser.Parsed | parser.Mistyped,
    author: CommandAuthor,
) -> EventFactory:
    """Read the command's dependencies; return the factory of its event. Raises CardBusyError, GithubError.

    An approval has the default branch's commit, after a sync of the card. A command that starts a run also
    syncs a card whose text chooses the repository. A subscription depends on the file of subscribers, a
    choice of skills on their folders. Other commands read nothing.
    """
    parsed = _with_known_skills(services, card, parsed, role=author.role, login=author.login)
    author = replace(author, base=_base(services, card, parsed, role=author.role, login=author.login))
    if isinstance(parsed, parser.Parsed) and parsed.command == "subscribe":
        author = _with_address(services, author)
    return lambda db: (command_event(policies.in_force(db, card.board_id), card, parsed, author),)


def _with_known_skills(
    services: Services, card: CardRow, parsed: parser.Parsed | parser.Mistyped, *, role: str, login: str
) -> parser.Parsed | parser.Mistyped:
    """Return the command, as mistyped where it names a skill that does not exist. Raises GithubError."""
    names = names_of(parsed.argument) if isinstance(parsed, parser.Parsed) else ()
    if not isinstance(parsed, parser.Parsed) or parsed.command != "skills" or names in ((), ("none",)):
        return parsed
    with event_store.reading(services.engine) as db:
        policy = policies.in_force(db, card.board_id)
        run = runs.get(db, card.run_id) if card.run_id else None
    repository = run.repository if run else card.repository
    if not repository or (not run and target_repository.is_shared(policy, repository)):
        return parsed  # nobody knows yet where the work will be
    if not isinstance(parser.permit(policy, parsed, role=role, login=login), parser.Permitted):
        return parsed  # a person without the right must cost no call
    unknown = skills.find_unknown(services, repository, repositories.head(services.hub, repository), names)
    if not unknown:
        return parsed
    named = ", ".join(code(name, 60) for name in unknown)
    because = f"Nothing was chosen: {code(repository)} has no skill {named}. {WHERE}"
    return parser.Mistyped(parsed.command, because)


def _base(services: Services, card: CardRow, parsed: object, *, role: str, login: str) -> str:
    if not isinstance(parsed, parser.Parsed) or card.repository is None:
        return ""
    with event_store.reading(services.engine) as db:
        policy = policies.in_force(db, card.board_id)
        run = runs.get(db, card.run_id) if card.run_id else None
    starts = parsed.command in STARTS and target_repository.is_shared(policy, card.repository)
    if parsed.command != "approve" and not starts:
        return ""
    if not isinstance(parser.permit(policy, parsed, role=role, login=login), parser.Permitted):
        return ""  # a person without the right must cost no call
    card_sync.require_synced(services, card.card_id)
    return "" if starts else repositories.head(services.hub, run.repository if run else card.repository)


def _with_address(services: Services, author: CommandAuthor) -> CommandAuthor:
    """Return the author with whether notices can be sent to them."""
    try:
        known = subscribers.read_admitted(services.config)
    except SubscribersError:
        return replace(author, addresses_unread=True)
    return replace(author, no_address=subscribers.of_login(known, author.login) is None)


def command_event(
    policy: Policy, card: CardRow, parsed: parser.Parsed | parser.Mistyped, asker: CommandAuthor
) -> CommandGiven | CommandRefused:
    if isinstance(parsed, parser.Mistyped):
        word, because = parsed.word, parsed.because
    else:
        answer = parser.permit(policy, parsed, role=asker.role, login=asker.login)
        if isinstance(answer, parser.Permitted):
            return CommandGiven(
                card_id=card.card_id,
                command=parsed.command,
                argument=parsed.argument,
                by=asker.login,
                role=asker.role,
                place=asker.place,
                comment_id=asker.comment_id,
                source=asker.source,
                said_at=asker.at,
                base=asker.base,
                user_id=asker.user_id,
                via=asker.via,
                no_address=asker.no_address,
                addresses_unread=asker.addresses_unread,
                metadata=parsed.metadata,
            )
        word, because = parsed.command, answer.because
    if parser.door_of(asker.source) != Door.COMMENT:
        word = asker.source  # the rules restore a box, and add no reaction to Cardinal's own comment
    return CommandRefused(
        card_id=card.card_id,
        command=word,
        by=asker.login,
        role=asker.role,
        because=because,
        place=asker.place,
        comment_id=asker.comment_id,
        user_id=asker.user_id,
        via=asker.via,
    )
