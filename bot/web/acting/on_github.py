"""What people do on GitHub from a card's page, as themselves: reviews, comments, edits of the issue.

GitHub decides what they may: each call has the token of their own sign-in. The person is asked for that leave
once. An edit says which text it was made from, and is refused where that was changed since.
"""

import hashlib
import logging
from collections.abc import Sequence
from enum import StrEnum

from flask import Response, request

from bot.github.as_person import IssueFields, PersonHub
from bot.web.acting import offered
from bot.web.acting.form import ActForm
from bot.web.acting.offered import FormView
from bot.web.site.layout import Site
from bot.web.site.seal import Seal
from ledger.errors import CardinalError
from ledger.log import event_store
from ledger.queue import sign_ins
from ledger.queue.sign_ins import SignIn
from ledger.rows.cards import CardRow
from rules.chatops.offers import CommandOffer, Urgency
from rules.chatops.parser import MAX_ARGUMENT
from rules.policy.roles import LOGIN, Role, role_of
from rules.text import plain

log = logging.getLogger(__name__)
PREFIX = "github"
MOVED = "The pull request changed while you read it: reload the card and look again"
LEAVE_S = 365 * 24 * 3600
MAX_NAMES, MAX_NAME, MAX_TITLE = 20, 50, 256  # GitHub's limits of a label's name and of a title


class GithubAct(StrEnum):
    """One thing that people do there. A stored name of a form has its value."""

    APPROVE = "approve"
    REQUEST_CHANGES = "request-changes"
    COMMENT = "comment"
    TITLE = "title"
    DESCRIPTION = "description"
    LABELS = "labels"
    ASSIGNEES = "assignees"


OPTIONAL = (GithubAct.DESCRIPTION, GithubAct.LABELS, GithubAct.ASSIGNEES)  # that may be empty
REVIEWS = {GithubAct.APPROVE: "APPROVE", GithubAct.REQUEST_CHANGES: "REQUEST_CHANGES"}


class RefusedActError(CardinalError):
    """Nothing was sent to GitHub; `because` says what to do, `status` is that of the page that says it."""

    def __init__(self, because: str, status: int = 400) -> None:
        self.because, self.status = because, status
        super().__init__(because)


def is_act(name: str) -> bool:
    """Tell whether the form of that name is for GitHub, and not for Cardinal's commands."""
    return name.partition(":")[0] == PREFIX


def forms_for_card(site: Site, visit: SignIn, card: CardRow, *, plans: bool) -> dict[str, FormView]:
    """Return the forms that the visitor's role fits, by act; none without their own token.

    `plans`: the card is talked about with the assistant. Raises BusyError.
    """
    if site.person_token(visit) is None or card.archived or card.number is None or card.repository is None:
        return {}
    role = role_of(site.readers.role(visit, card.repository))
    leave = "" if has_leave(site, visit) else visit.login
    made: dict[str, FormView] = {}

    def offer(act: GithubAct, about: str, label: str, asks: str = "", value: str = "") -> None:
        hint = asks or f"Posted on GitHub as {visit.login}"
        command = CommandOffer(f"{PREFIX}:{act}:{about}", label, hint, Urgency.RUN, asks=asks)
        more = {"value": value, "optional": act in OPTIONAL, "asks_leave": leave}
        made[act] = offered.form_view(site, card.card_id, command, **more)

    if card.has_open_pull and card.pull_head:
        where = card.pull_repository or card.repository
        if role_of(site.readers.role(visit, where)).covers(Role.WRITE):
            offer(GithubAct.APPROVE, card.pull_head, "Approve")
            offer(GithubAct.REQUEST_CHANGES, card.pull_head, "Request changes", "What should be different")
    if plans and role.covers(Role.READ):
        offer(GithubAct.COMMENT, "", "Reply", "Your reply")
    if role.covers(Role.TRIAGE):
        fields = IssueFields(card.title, card.body, card.labels, card.assignees)
        for act, words in (
            (GithubAct.TITLE, "Title"),
            (GithubAct.DESCRIPTION, "Description"),
            (GithubAct.LABELS, "Labels, one per line"),
            (GithubAct.ASSIGNEES, "Assignees, one per line"),
        ):
            text = _text_of(fields, act)
            longer = len(text) > MAX_ARGUMENT
            expanded = act is GithubAct.DESCRIPTION and card.expanded  # GitHub has more than these words
            if not longer and not expanded:
                offer(act, _digest(text), "Save", words, text)
    return made


def has_leave(site: Site, visit: SignIn) -> bool:
    """Tell whether the person has let Cardinal act on GitHub in their name, in this browser."""
    return _seal(site).open(request.cookies.get(_cookie(site), ""), LEAVE_S) == str(visit.user_id)


def keep_leave(site: Site, visit: SignIn, answer: Response) -> None:
    """Remember in the person's browser that they agreed."""
    site.keep(answer, _cookie(site), _seal(site).close(str(visit.user_id)), LEAVE_S)


def send_act(site: Site, visit: SignIn, card: CardRow, sent: ActForm) -> bool:
    """Do on GitHub what the form says; False where it was sent before.

    Raises RefusedActError and GithubError.
    """
    act, about = _read_name(sent.name)
    token = site.person_token(visit)
    if token is None:
        raise RefusedActError("Your GitHub sign-in has expired: sign out, sign in, then try again", 401)
    if not (sent.agreed or has_leave(site, visit)):
        raise RefusedActError("Tick the box that lets Cardinal do this on GitHub in your name")
    where = (card.pull_repository if act in REVIEWS else None) or card.repository or ""
    hub = PersonHub(site.config.github_url, token, where)
    number = card.pull_number if act in REVIEWS else card.number
    if number is None or (act in REVIEWS and card.pull_head != about):
        raise RefusedActError(MOVED, 409)
    if act in REVIEWS and hub.pull_head(number) != about:
        raise RefusedActError(MOVED, 409)
    changes = _changes(act, sent.text) if act not in (*REVIEWS, GithubAct.COMMENT) else {}
    if changes and _digest(_text_of(hub.issue(number), act)) != about:
        raise RefusedActError(
            f"Someone changed the {act} while you wrote. Go back to copy your text, reload the card, and edit"
            " what is there now",
            409,
        )
    if act in (GithubAct.REQUEST_CHANGES, GithubAct.COMMENT) and not sent.text.strip():
        raise RefusedActError("Write something first: the text is empty")
    with event_store.writing(site.engine) as db:
        ttl_s = (visit.until - site.clock()).total_seconds()
        if not sign_ins.spend(db, sent.token, now=site.clock(), ttl_s=ttl_s):
            return False
    if act in REVIEWS:
        hub.review(number, about, REVIEWS[act], sent.text)
    elif act is GithubAct.COMMENT:
        hub.comment(number, sent.text)
    else:
        hub.edit_issue(number, changes)
    log.info("acted on github act=%s login=%s repository=%s number=%d", act, visit.login, where, number)
    return True


def _read_name(name: str) -> tuple[GithubAct, str]:
    _, act, about = (*name.split(":", 2), "", "")[:3]
    if act not in set(GithubAct):
        raise RefusedActError("This page is out of date: reload it and use its form")
    return GithubAct(act), about


def _changes(act: GithubAct, text: str) -> dict[str, object]:
    """Return the fields to change. Raises RefusedActError for a text that cannot be one."""
    names = list(dict.fromkeys(filter(None, map(str.strip, text.split("\n")))))
    match act:
        case GithubAct.TITLE:
            title = " ".join(text.split())
            if not title or len(title) > MAX_TITLE:
                raise RefusedActError(f"A title has 1 to {MAX_TITLE} characters: yours has {len(title)}")
            return {"title": title}
        case GithubAct.DESCRIPTION:
            return {"body": text}
        case GithubAct.LABELS:
            _check_names(names, "label", [name for name in names if len(name) > MAX_NAME])
            return {"labels": names}
        case _:
            logins = [name.removeprefix("@") for name in names]
            _check_names(names, "login", [name for name in logins if not LOGIN.fullmatch(name)])
            return {"assignees": logins}


def _check_names(names: Sequence[str], noun: str, unfit: Sequence[str]) -> None:
    if unfit:
        raise RefusedActError(f"“{plain(unfit[0], 60)}” is not a {noun}: write one per line")
    if len(names) > MAX_NAMES:
        raise RefusedActError(f"{len(names)} are too many: at most {MAX_NAMES} here, more on GitHub")


def _text_of(fields: IssueFields, act: GithubAct) -> str:
    """Return the field as its form has it; labels and assignees in the order of their names."""
    match act:
        case GithubAct.TITLE:
            return fields.title
        case GithubAct.DESCRIPTION:
            return fields.description.replace("\r\n", "\n")
        case GithubAct.LABELS:
            return "\n".join(sorted(fields.labels))
        case _:
            return "\n".join(sorted(fields.assignees))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _cookie(site: Site) -> str:
    return f"{site.cookie}-acts"


def _seal(site: Site) -> Seal:
    return Seal("acts", site.config.client_secret, site.clock)
