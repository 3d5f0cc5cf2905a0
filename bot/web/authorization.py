"""Who may see which page: people with rights in a repository, by GitHub's answer, within limits."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from cachetools import LRUCache, TLRUCache, TTLCache

from bot.github.api import repositories, roles
from bot.github.client import Hub
from bot.github.errors import GithubError
from bot.github.person_access import PersonAccess
from bot.system.clock import CLOCK_SLACK, Clock
from bot.system.secret import Secret
from ledger.errors import CardinalError
from ledger.queue.sign_ins import SignIn

log = logging.getLogger(__name__)
T = TypeVar("T")
KEPT_S, MAX_KEPT = 180, 10_000
LISTED_S = 60  # between two listings of one person, or of one owner's repositories
EACH_A_MINUTE, ALL_AN_HOUR = 30, 1000
LAST = 3  # the priority of these calls: Cardinal's own go first
TOO_OFTEN = "too many requests"
TURN_S = 2.0  # a thread's wait for others' calls
AT_ONCE = 4  # readers about whom GitHub is asked: fewer than the web server's threads for pages


class BusyError(CardinalError):
    """A person's rights cannot be read just now."""

    def __init__(self, because: str) -> None:
        self.because = because
        super().__init__(
            f"Cardinal cannot check right now whether you may see this: {because}. Try again in a minute"
        )


class RequestLimiter:
    """A limit per key and minute, and for all keys per hour. Safe among threads.

    `shared`: one key gets at most half of the rest that others leave of the hour, so that none uses up all of
    it.
    """

    def __init__(self, clock: Clock, *, each: int, of_all: int, shared: bool = True) -> None:
        self._clock, self._each, self._of_all, self._shared = clock, each, of_all, shared
        self._taken: deque[tuple[datetime, object]] = deque()
        self._lock = threading.Lock()

    def take(self, key: object) -> bool:
        """Tell whether one more is allowed now, and count it if so."""
        with self._lock:
            now = self._clock()
            allowed = self._allows(key, now)
            if allowed:
                self._taken.append((now, key))
            return allowed

    def allows(self, key: object) -> bool:
        """Tell whether one more is allowed now, without counting it."""
        with self._lock:
            return self._allows(key, self._clock())

    def _allows(self, key: object, now: datetime) -> bool:
        while self._taken and self._taken[0][0] <= now - timedelta(hours=1):
            self._taken.popleft()
        recent = now - timedelta(minutes=1)
        mine = [at for at, whose in self._taken if whose == key]
        left = self._of_all - len(self._taken)
        most = (left + len(mine)) // 2 if self._shared else self._of_all
        return sum(at > recent for at in mine) < self._each and len(mine) < most and left > 0


@dataclass(frozen=True, slots=True)
class RepositoryAccess:
    """A person's role in a repository, and when that was made; None where they may not read it.

    It is so old: GitHub said it at `known_s`, in seconds of the epoch.
    """

    role: str
    born_at: datetime | None
    known_s: float


class Readers:
    """Cached answers about readers. About each of them one call at a time goes to GitHub, of few at once.

    `list_of` returns the repositories of some owners that the person of a token may read.
    """

    def __init__(
        self,
        hub_of: Callable[[str], Hub],
        clock: Clock,
        list_of: Callable[[Secret, Collection[str]], PersonAccess],
        *,
        turn_s: float = TURN_S,
    ) -> None:
        self._hub_of, self._list_of = hub_of, list_of  # the first by a repository's name
        self._turn_s = turn_s
        self._now_s: Callable[[], float] = lambda: clock().timestamp()
        self._known: TLRUCache[tuple[str, int, str], RepositoryAccess] = TLRUCache(
            MAX_KEPT, lambda _, access, __: access.known_s + KEPT_S, timer=self._now_s
        )
        self._last = LRUCache[tuple[str, int, str], str](MAX_KEPT)  # roles, however old
        self._tokens: TTLCache[int, Secret] = TTLCache(MAX_KEPT, KEPT_S, timer=self._now_s)
        self._listed: TTLCache[int, bool] = TTLCache(MAX_KEPT, LISTED_S, timer=self._now_s)  # readers
        # Repositories of owners, by name.
        self._reachable: TTLCache[str, Mapping[str, RepositoryAccess]] = TTLCache(
            MAX_KEPT, LISTED_S, timer=self._now_s
        )
        self._pace = RequestLimiter(clock, each=EACH_A_MINUTE, of_all=ALL_AN_HOUR)
        self._asking = set[int]()  # readers, by their id
        self._changed = threading.Condition()  # guards all of these

    def lend(self, visit: SignIn, token: Secret) -> None:
        """Let the visitor's own token be used for minutes: one call with it answers many."""
        with self._changed:
            self._tokens[visit.user_id] = token

    def may(self, visit: SignIn, names: frozenset[str], since: datetime) -> bool:
        """Tell whether the visitor may read all of these repositories; False for an empty set.

        A repository made after `since` under an old name is another one. Raises BusyError.
        """
        return bool(names) and self.readable(visit, dict.fromkeys(names, since)) == names

    def readable(self, visit: SignIn, since: Mapping[str, datetime]) -> frozenset[str]:
        """Return the repositories that the visitor may read, each judged as by `may`. Raises BusyError."""
        self._list(visit, since)
        return frozenset(name for name, at in sorted(since.items()) if self._reads(visit, name, at))

    def soon_readable(
        self, visit: SignIn, names: Collection[str], since: datetime, limit: int
    ) -> tuple[frozenset[str], bool]:
        """Return which of the repositories the visitor may read, and whether all were asked about.

        At most `limit` questions are asked, and none once nobody can say: the rest is left out.
        """
        readable = set[str]()
        with self._changed:
            known = [name for name in names if self._key(visit, name) in self._known]
        others = sorted(set(names).difference(known))
        try:
            readable.update(name for name in (*known, *others[:limit]) if self._reads(visit, name, since))
        except BusyError:
            return frozenset(readable), False
        return frozenset(readable), len(others) <= limit

    def role(self, visit: SignIn, repository: str) -> str:
        """Return the visitor's role in the repository, up to three minutes old. Raises BusyError."""
        return self._access(visit, repository).role

    def writes(self, visit: SignIn, repository: str) -> bool:
        """Tell whether the visitor may write to the repository. Raises BusyError."""
        return roles.may_write(self.role(visit, repository))

    def wrote(self, visit: SignIn, names: Collection[str]) -> bool:
        """Tell whether the visitor could write to one of the repositories when last looked up.

        GitHub is not asked: that is enough to show a link, and not to open its page.
        """
        return any(roles.may_write(self.last_role(visit, name)) for name in names)

    def last_role(self, visit: SignIn, repository: str) -> str:
        """Return the visitor's role in the repository as GitHub last named it, however long ago."""
        with self._changed:
            return self._last.get(self._key(visit, repository), roles.NONE)

    def must_be_able_to_ask(self, visit: SignIn) -> None:
        """Raise BusyError where a further question of the visitor would.

        A missing thing is answered like an existing one then: else the difference would tell.
        """
        if not self._pace.allows(visit.user_id):
            raise BusyError(TOO_OFTEN)

    def _reads(self, visit: SignIn, repository: str, since: datetime) -> bool:
        born = self._access(visit, repository).born_at
        return born is not None and born <= since + CLOCK_SLACK

    @staticmethod
    def _key(visit: SignIn, repository: str) -> tuple[str, int, str]:
        return repository.casefold(), visit.user_id, visit.login

    def _access(self, visit: SignIn, repository: str) -> RepositoryAccess:
        """Return the known answer, or GitHub's: to another thread's question, if it asks just now."""
        known = partial(self._known.get, self._key(visit, repository))
        with self._turn(visit, known) as access:
            return access or self._keep(visit, repository, self._fetch(visit, repository))

    def _keep(self, visit: SignIn, repository: str, access: RepositoryAccess) -> RepositoryAccess:
        key = self._key(visit, repository)
        with self._changed:
            self._known[key], self._last[key] = access, access.role
        return access

    @contextmanager
    def _turn(self, visit: SignIn, known: Callable[[], T | None]) -> Iterator[T | None]:
        """Wait for a `known` answer, or for the turn to ask about the visitor: then yield None.

        Raises BusyError.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: known() or self._may_ask(visit), self._turn_s):
                raise BusyError("other requests are being checked")
            answer = known()
            if not answer:
                self._asking.add(visit.user_id)
        try:
            yield answer
        finally:
            if not answer:
                with self._changed:
                    self._asking.discard(visit.user_id)
                    self._changed.notify_all()

    def _list(self, visit: SignIn, names: Collection[str]) -> None:
        """Look repositories up by one listing with the visitor's token, where it is here.

        That uses up no rate limit of the App. Repositories that it lacks are looked up one by one.
        """
        with self._turn(visit, lambda: not self._may_list(visit, names)) as needless:
            if needless:
                return
            with self._changed:
                token, self._listed[visit.user_id] = self._tokens.get(visit.user_id), True
            unknown = {name.casefold(): name for name in self._unknown(visit, names)}
            if token is None:  # it was too old a moment later
                return
            try:
                at, listing = self._now_s(), self._list_of(token, {_owner(name) for name in unknown})
                for it in listing.repositories:
                    if name := unknown.pop(it.name.casefold(), ""):
                        self._keep(visit, name, RepositoryAccess(it.role, it.born_at, at))
                for name in unknown.values():
                    if _owner(name) in listing.complete and (access := self._check_unlisted(name)):
                        self._keep(visit, name, access)
            except GithubError as error:
                log.warning("no listing for a visitor, each repository is asked about reason=%s", error)

    def _may_list(self, visit: SignIn, names: Collection[str]) -> bool:
        with self._changed:
            able = visit.user_id in self._tokens and visit.user_id not in self._listed
        return able and bool(self._unknown(visit, names))

    def _check_unlisted(self, name: str) -> RepositoryAccess | None:
        """Return the certain answer about a repository that a visitor's listing should have, and has not.

        A private one is for nobody who is not named, a public one for everybody. Raises GithubError.
        """
        owner = _owner(name)
        with self._changed:
            known = self._reachable.get(owner)
        if known is None:
            hub, at = self._hub_of(name), self._now_s()
            if hub.budget.spare(LAST) > 0:
                return None
            sure = (it for it in repositories.reachable(hub) if it.get("visibility") in ("public", "private"))
            known = {it["full_name"].casefold(): _of_all(it, at) for it in sure}
            with self._changed:
                self._reachable[owner] = known
        return known.get(name.casefold())

    def _unknown(self, visit: SignIn, names: Collection[str]) -> list[str]:
        with self._changed:
            return [name for name in names if self._key(visit, name) not in self._known]

    def _may_ask(self, visit: SignIn) -> bool:
        return visit.user_id not in self._asking and len(self._asking) < AT_ONCE

    def _fetch(self, visit: SignIn, repository: str) -> RepositoryAccess:
        if not self._pace.take(visit.user_id):
            raise BusyError(TOO_OFTEN)
        hub = self._hub_of(repository)
        if hub.budget.spare(LAST) > 0:
            raise BusyError("GitHub's rate limit is nearly reached")
        try:
            role = roles.role_of_account(hub, repository, visit.login, visit.user_id)
            readable = role != roles.NONE
            born_at = repositories.read_creation_time(hub, repository) if readable else None
            return RepositoryAccess(role, born_at, self._now_s())
        except GithubError as error:
            raise BusyError("GitHub did not say") from error


def _of_all(repository: Mapping[str, Any], at_s: float) -> RepositoryAccess:
    """Return the access of everybody who is not named."""
    if repository["visibility"] == "private":
        return RepositoryAccess(roles.NONE, None, at_s)
    return RepositoryAccess("read", datetime.fromisoformat(repository["created_at"]), at_s)


def _owner(repository: str) -> str:
    return repository.partition("/")[0].casefold()
