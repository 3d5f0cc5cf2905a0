"""The only access to GitHub: REST, GraphQL and git as the installation, a few calls as the App itself."""

import base64
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote

from bot.github import token_scope
from bot.github.errors import (
    PermissionMissingError,
    RateLimitedError,
    RefusedError,
    TokenError,
    UnavailableError,
    UnknownNameError,
    from_graphql,
)
from bot.github.github_time import SLACK, GithubTime
from bot.github.rate_limit import ApiBudget, app_name, installation_name
from bot.github.shared_records import SharedRecords, home_records, open_records
from bot.github.token_cache import TokenCache
from bot.github.tokens import Tokens
from bot.github.transport import CREATE, READ, WRITE, Answer, ApiCall, CallCost, CallSlots, Wire
from bot.system.clock import Clock
from bot.system.config import Config

READ_S = 30.0
PAGE = 100
# Source: the names that GitHub accepts for a new repository; `.` and `..` would leave the path.
REPOSITORY = re.compile(r"[A-Za-z0-9_-]{1,100}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
CREATING = re.compile(r"\b(add|create|convert)[A-Z]\w*\(")
COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
MAX_KEPT_CHARS = 50_000  # of one file or listing at a commit
BOT_KEPT_S = 3600


class Hub:
    """GitHub for one process, as the App's installation at one owner; at first the settings' board's.

    Never call it inside a write transaction: a call may take half a minute. Every method raises the
    GithubError that fits the caller's next step.
    """

    def __init__(
        self,
        config: Config,
        clock: Clock,
        *,
        read_s: float = READ_S,
        owner: str = "",
        records: SharedRecords | None = None,
    ) -> None:
        self._config = config
        self._clock = clock
        self._read_s = read_s
        self._owner = owner or config.board.owner
        self._by_owner = {self._owner.casefold(): self}  # shared by all of one process
        whose = installation_name(config.app_id, self._owner, config.github_url)
        self.records = records or open_records(config, clock)
        self.budget = ApiBudget(self.records, whose)
        scope = (config.github_url, str(config.app_id), self._owner)
        self._kept = TokenCache(self.records, f"tokens of {whose}", config.private_key, scope)
        file_records = home_records(config, clock)  # contents are large, and cost one call to get again
        self._contents = TokenCache(file_records, f"contents for {whose}", config.private_key, scope)
        self._recent = TokenCache(file_records, f"recent answers for {whose}", config.private_key, scope)
        self._time = GithubTime(clock)
        self._tokens = Tokens(
            config.app_id, config.private_key, self._owner, self._ask_as_app, self._time, shared=self._kept
        )
        url, everywhere = config.github_url, self.records if config.redis_url else None
        slots = CallSlots(config.home / "run" / "calls", everywhere, f"calls of App {config.app_id} of {url}")
        as_app = ApiBudget(self.records, app_name(config.app_id, url))
        self._app = Wire(
            url,
            lambda _: self._tokens.make_jwt(),
            clock,
            as_app,
            read_s,
            places=slots,
            github_time=self._time,
        )
        self._installed = Wire(
            url,
            self._tokens.reaching,
            clock,
            self.budget,
            read_s,
            places=slots,
            asks_for_tokens=True,
            github_time=self._time,
        )
        self._bot: list[tuple[str, int]] = []  # filled once, by whichever owner's installation can say it

    def at(self, owner: str) -> "Hub":
        """Return GitHub as the App's installation at `owner`, a login; no call is made."""
        name = owner.casefold()
        if name not in self._by_owner:
            hub = type(self)(
                self._config, self._clock, read_s=self._read_s, owner=owner, records=self.records
            )
            hub._by_owner, hub._bot = self._by_owner, self._bot
            self._by_owner[name] = hub
        return self._by_owner[name]

    @property
    def bot_login(self) -> str:
        """The App's login, `cardinal[bot]`; read once."""
        return self._find_bot()[0]

    @property
    def bot_id(self) -> int:
        """The App's user id; read once."""
        return self._find_bot()[1]

    def now(self) -> datetime:
        """Return GitHub's time, as its last answer told it."""
        return self._time()

    def theirs(self, at: datetime, now: datetime) -> datetime:
        """Return GitHub's time at a moment of the ledger's, whose clock shows `now`."""
        behind = self._time() - now
        return at + behind if abs(behind) > SLACK else at

    def latest(self, at: datetime, now: datetime) -> datetime:
        """Return the ledger's time at a moment of GitHub's, or more: its clock may have been right then."""
        return max(at, at - (self.theirs(now, now) - now))

    def earliest(self, at: datetime, now: datetime) -> datetime:
        """Return GitHub's time at a moment of the ledger's, or less: its clock may have been right then."""
        return min(at, self.theirs(at, now), self._time())

    def installation(self) -> Mapping[str, Any]:
        """Return the App's installation at the owner, as GitHub describes it now.

        Raises NotFoundError where it is not installed.
        """
        installation: Mapping[str, Any] = self._tokens.read_installation()
        return installation

    def rest(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
        workflows: bool = False,
    ) -> Answer:
        """Return the answer to one REST call as the installation. `path` starts with a slash.

        A call about one repository uses a token for that repository, to read or for that kind of write; a
        merge may change files of GitHub Actions only with `workflows`.
        """
        cost = READ if method == "GET" else CREATE if method == "POST" else WRITE
        scope = token_scope.of_call(method, path, workflows=workflows)
        return self._send(
            ApiCall(method=method, path=path, price=cost, body=body, params=params, reach=scope)
        )

    def address_of(self, path: str) -> str:
        """Return the address that GitHub redirects `path` to: a download that needs no token.

        Raises UnavailableError without a redirection.
        """
        answer = self._send(
            ApiCall("GET", path, READ, reach=token_scope.of_call("GET", path), redirects=True)
        )
        if answer.status != 302:
            raise UnavailableError(f"GET {path}", answer.status, "no address of a download")
        return str(answer.headers["location"])

    def at_commit(self, path: str, commit: str) -> Any:
        """Return the body of GET `path` at the commit, kept for later: nothing there changes.

        Raises NotFoundError for a path that is missing or out of sight; that answer is not kept.
        """

        get = partial(self.rest, "GET", path, params={"ref": commit})
        return (
            self.remember(f"{path} {commit}", lambda: get().body) if COMMIT.fullmatch(commit) else get().body
        )

    def recent(self, name: str, get: Callable[[], Any], *, for_s: float) -> Any:
        """Return the value that a process of this host read under that name within the last `for_s` seconds,
        or else the one that `get` reads now.
        """
        now_s = self._clock().timestamp()
        known, at_s = json.loads(self._recent.get(name) or "[null, 0]")
        if 0 <= now_s - at_s < for_s:
            return known
        value = get()
        self._recent.put(name, json.dumps([value, now_s]))
        return value

    def remember(self, name: str, get: Callable[[], Any], *, fresh: bool = False) -> Any:
        """Return the value kept under that name, or else the one that `get` reads, and keep that."""
        if not fresh and (known := self._contents.get(name)) is not None:
            return json.loads(known)
        body = get()
        text = json.dumps(body)
        if len(text) <= MAX_KEPT_CHARS:
            self._contents.put(name, text)
        return body

    def pages(self, path: str, *, params: Mapping[str, Any] | None = None, most: int) -> Iterator[Any]:
        """Yield the elements of a REST listing, page by page, at most `most` pages of 100."""
        for page in range(1, most + 1):
            items = self.rest("GET", path, params={**(params or {}), "per_page": PAGE, "page": page}).body
            if not isinstance(items, list):
                raise UnavailableError(f"GET {path}", 200, "a listing that is no list")
            yield from items
            if len(items) < PAGE:
                return

    def as_app(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Return the answer to one REST call as the App itself; for calls about no installation."""
        self._config.require_app()
        return self._send_as_app(ApiCall(method, path, READ, body, params))

    def _send_as_app(self, call: ApiCall) -> Answer:
        """Send the call; once more where this machine's clock had dated the App's word wrong."""
        before = self._time.behind
        try:
            return self._app.send(call)
        except TokenError:
            if abs(self._time.behind - before) <= SLACK:
                raise
        return self._app.send(call)

    def graphql(
        self,
        document: str,
        variables: Mapping[str, Any],
        *,
        repository: str | None = None,
        may_miss: frozenset[str] = frozenset(),
    ) -> dict[str, Any]:
        """Return the `data` of one GraphQL call. Any entry in `errors` raises, even beside partial data.

        Exception: a field of `may_miss` that is not found is None. A nested one, as `node.content.parent`,
        and anything in it may be forbidden, too. A call about `repository` (owner/name) alone uses a token
        for it.
        """
        mutates = document.lstrip().startswith("mutation")
        cost = CallCost(5 if mutates else 1, creates=mutates and bool(CREATING.search(document)))
        body = {"query": document, "variables": dict(variables)}
        scope = token_scope.of_query(repository, mutates=mutates) if repository else None
        call = ApiCall("POST", self._installed.graphql_url, cost, body, reach=scope)
        name = " ".join(document.split("(", 1)[0].split())
        try:
            return self._query(name, call, may_miss)
        except PermissionMissingError:  # in GraphQL it comes with the status 200, so `_send` does not see it
            if not self._tokens.renew(self._within(call).reach):
                raise
        return self._query(name, call, may_miss)

    def _query(self, name: str, call: ApiCall, may_miss: frozenset[str]) -> dict[str, Any]:
        answer = self._send(call)
        content = answer.body if isinstance(answer.body, dict) else {}
        errors = [error for error in content.get("errors") or () if not _may_miss(error, may_miss)]
        if errors:
            github_error = from_graphql(name, errors, answer.headers, self._installed.now_s())
            self._installed.note(github_error)
            raise github_error
        if not isinstance(content.get("data"), dict):
            raise UnavailableError(name, answer.status, "an answer without data")
        return dict(content["data"])

    def git_url(self, repository: str) -> str:
        """Return the address that git clones and pushes; it holds no token."""
        return f"{self._config.git_url}/{_check(repository)}.git"

    def page_url(self, repository: str) -> str:
        """Return the address of the repository's pages, for people."""
        return f"{self._config.git_url}/{_check(repository)}"

    def git_environment(
        self, repository: str, *, workflows: bool = False, writes: bool = True
    ) -> Mapping[str, str]:
        """Return the variables that let git read and push `repository` for up to an hour without a prompt.

        With `workflows` a push may change files of CI; without `writes` git can only read. The token can do
        nothing else, goes to that repository's address only and shows in no command line. A new one is tried
        first: git would take a refusal for a repository that is gone.
        """
        name = _check(repository)
        try:
            token = self._tokens.for_pushing(name, workflows=workflows, writes=writes)
        except UnknownNameError:
            name = self._name_of(repository)
            token = self._tokens.for_pushing(name, workflows=workflows, writes=writes)
        scope = token_scope.pushing(name, workflows=workflows, writes=writes)
        if self._tokens.is_new(scope):
            self._send_patiently(ApiCall("GET", f"/repos/{name}", READ, reach=scope))
            self._tokens.note_known(scope)
        return self.credentials(repository, token)

    def credentials(self, repository: str, token: str) -> Mapping[str, str]:
        """Return the variables by which git sends the token, to that repository's address only."""
        credentials = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        settings = (
            (f"http.{self.git_url(repository)}.extraHeader", f"Authorization: Basic {credentials}"),
            ("credential.helper", ""),
        )
        numbered = {f"GIT_CONFIG_KEY_{n}": name for n, (name, _) in enumerate(settings)}
        numbered |= {f"GIT_CONFIG_VALUE_{n}": value for n, (_, value) in enumerate(settings)}
        return {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_COUNT": str(len(settings)), **numbered}

    def _send(self, call: ApiCall) -> Answer:
        """Send the call; once more with a fresh token if the cached one has expired or is too weak."""
        self._config.require_installation()
        call = self._within(call)
        try:
            return self._send_patiently(call)
        except TokenError:
            self._tokens.forget()
        except PermissionMissingError:
            if not self._tokens.renew(call.reach):
                raise
        except UnknownNameError:
            if call.reach is None:
                raise
            now = self._name_of(call.reach.repository)
            path = call.path.replace(f"/repos/{call.reach.repository}", f"/repos/{now}", 1)
            call = self._within(replace(call, path=path, reach=replace(call.reach, repository=now)))
        return self._send_patiently(call)

    def _send_patiently(self, call: ApiCall) -> Answer:
        """Send the call, and again while GitHub may refuse it only because its token is new.

        It refuses a narrowed one with 403, any other one with 401.
        """
        began_s = time.monotonic()
        while True:
            try:
                return self._installed.send(call)
            except (TokenError, PermissionMissingError) as error:
                may_be_new = isinstance(error, TokenError) or call.reach is not None
                if not may_be_new or not self._tokens.await_known(call.reach, began_s):
                    raise

    def _name_of(self, repository: str) -> str:
        """Return the current name of a renamed repository; raises NotFoundError without one.

        GitHub redirects calls with the old name; it gives tokens for the current name only.
        """
        call = ApiCall("GET", f"/repos/{_check(repository)}", READ)
        return str(self._installed.send(call).body["full_name"])

    def _within(self, call: ApiCall) -> ApiCall:
        # Another owner's repository is not the installation's, which can still read a public one.
        outside = call.reach is not None and not self._tokens.covers(call.reach)
        return replace(call, reach=None) if outside else call

    def _ask_as_app(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        wait_s = self.budget.remaining_closure_s() if method == "POST" else 0.0
        if wait_s > 0:  # the call that wants a token would be refused, too
            raise RateLimitedError(path, 429, "no token is asked for while a limit lasts", wait_s)
        return self._send_as_app(ApiCall(method, path, READ, body)).body

    def _find_bot(self) -> tuple[str, int]:
        if not self._bot:
            login, bot_id, asked_at = json.loads(self._kept.get("bot") or "[null, 0, 0]")
            if self._clock().timestamp() >= asked_at + BOT_KEPT_S:  # an App can be renamed
                login, bot_id = self._read_bot()
            self._bot.append((login, bot_id))
        return self._bot[0]

    def _read_bot(self) -> tuple[str, int]:
        login = f"{self.as_app('GET', '/app').body['slug']}[bot]"
        user = self.rest("GET", f"/users/{quote(login, safe='')}").body
        bot_id = int(user["id"])
        self._kept.put("bot", json.dumps([login, bot_id, self._clock().timestamp()]))
        return login, bot_id


def _may_miss(error: object, names: frozenset[str]) -> bool:
    if not isinstance(error, Mapping) or not isinstance(error.get("path"), list):
        return False
    place, kind = [step for step in error["path"] if isinstance(step, str)], error.get("type")
    if kind == "NOT_FOUND" and ".".join(place) in names:
        return True
    above = {".".join(place[:n]) for n in range(2, len(place) + 1)}
    return kind in ("NOT_FOUND", "FORBIDDEN") and bool(above & names)


def repository_path(repository: str) -> str:
    """Return `/repos/owner/name`. Raises RefusedError when `repository` is not owner/name."""
    return f"/repos/{_check(repository)}"


def _check(repository: str) -> str:
    if REPOSITORY.fullmatch(repository) is None:
        raise RefusedError(f"the repository {repository[:80]!r}", 0, "that is not owner/name")
    return repository
