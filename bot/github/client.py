"""The one door to GitHub: REST, GraphQL and git as the installation, a few calls as the App itself."""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from bot.github import token_scope
from bot.github.concurrency import CallSlots
from bot.github.errors import (
    PermissionMissingError,
    RefusedError,
    TokenError,
    UnavailableError,
    UnknownNameError,
    from_graphql,
)
from bot.github.rate_limit import ApiBudget
from bot.github.token_cache import TokenFile
from bot.github.tokens import Tokens
from bot.github.transport import CREATE, READ, WRITE, Answer, CallCost, Wire
from bot.github.ttl_cache import Timed
from bot.system.clock import Clock
from bot.system.config import Config

READ_S = 30.0
PAGE = 100
# Source: what GitHub accepts for a new repository; `.` and `..` are no names and would leave the path.
REPOSITORY = re.compile(r"[A-Za-z0-9_-]{1,100}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
CREATING = re.compile(r"\b(add|create|convert)[A-Z]\w*\(")
ROLES_KEPT_S, ROLES_KEPT = 60, 1000
BOT_KEPT_S = 3600

__all__ = ["Answer", "Hub", "repository_path"]


class Hub:
    """GitHub for one process. Never call it inside a write transaction: a call may take half a minute.

    Every method raises the GithubError that says what the caller can do.
    """

    def __init__(self, config: Config, clock: Clock, *, read_s: float = READ_S) -> None:
        self._config = config
        self._clock = clock
        # The name of an installation that needs no question: what it is of, and where.
        whose = f"App {config.app_id} at {config.board.owner.casefold()} of {config.github_url}"
        self.budget = ApiBudget(clock, config.home / "run" / "budget.json", whose)
        self.roles: Timed[tuple[str, str], str] = Timed(clock, keep_s=ROLES_KEPT_S, most=ROLES_KEPT)
        scope = (config.github_url, str(config.app_id), config.board.owner)
        self._kept = TokenFile(config.home / "run" / "github.kept", config.private_key, scope)
        self._tokens = Tokens(
            config.app_id, config.private_key, config.board.owner, self._ask_as_app, clock, self._kept
        )
        url, places = config.github_url, CallSlots(config.home / "run" / "calls")
        self._app = Wire(url, lambda _: self._tokens.app_word(), clock, None, read_s, places)
        self._installed = Wire(url, self._tokens.reaching, clock, self.budget, read_s, places)
        self._bot: tuple[str, int] | None = None

    @property
    def bot_login(self) -> str:
        """The login that the App writes under, `cardinal[bot]`; asked for once."""
        return self._known_bot()[0]

    @property
    def bot_id(self) -> int:
        """The user id that the App writes under; asked for once."""
        return self._known_bot()[1]

    def installation(self) -> Mapping[str, Any]:
        """Return the App's installation at the board's owner, as GitHub describes it now.

        Raises NotFoundError where it is not installed.
        """
        found: Mapping[str, Any] = self._tokens.found()
        return found

    def rest(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Return the answer to one REST call as the installation. `path` starts with a slash.

        What concerns one repository is asked with a token for that repository and kind of call.
        """
        price = READ if method == "GET" else CREATE if method == "POST" else WRITE
        return self._refreshing(method, path, body, params, price, token_scope.of_call(method, path))

    def address_of(self, path: str) -> str:
        """Return where GitHub sends whoever asks for `path`: a download, for which no token is needed.

        Raises UnavailableError where it sends nowhere.
        """
        narrow = token_scope.of_call("GET", path)
        answer = self._refreshing("GET", path, None, None, READ, narrow, redirects=True)
        if answer.status != 302:
            raise UnavailableError(f"GET {path}", answer.status, "no address of a download")
        return str(answer.headers["location"])

    def pages(self, path: str, *, params: Mapping[str, Any] | None = None, most: int) -> Iterator[Any]:
        """Yield the elements of a REST listing, page by page, at most `most` pages of 100."""
        for page in range(1, most + 1):
            found = self.rest("GET", path, params={**(params or {}), "per_page": PAGE, "page": page}).body
            if not isinstance(found, list):
                raise UnavailableError(f"GET {path}", 200, "a listing that is no list")
            yield from found
            if len(found) < PAGE:
                return

    def as_app(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Return the answer to one REST call as the App itself; for what belongs to no installation."""
        self._config.require_app()
        return self._app.send(method, path, body=body, params=params, price=READ)

    def graphql(
        self,
        document: str,
        variables: Mapping[str, Any],
        *,
        repository: str | None = None,
        may_miss: frozenset[str] = frozenset(),
    ) -> dict[str, Any]:
        """Return the `data` of one GraphQL call. Anything under `errors` raises, even beside partial data.

        But for one of the fields `may_miss` that is not found: that one is None. `node.content.parent` is a
        field below others: it, and what is in it, may be forbidden, too. A call that concerns `repository`
        (owner/name) alone is asked with a token for it.
        """
        mutates = document.lstrip().startswith("mutation")
        price = CallCost(5 if mutates else 1, creates=mutates and bool(CREATING.search(document)))
        body = {"query": document, "variables": dict(variables)}
        narrow = token_scope.TokenScope(repository) if repository else None
        call = " ".join(document.split("(", 1)[0].split())
        try:
            return self._queried(call, body, price, narrow, may_miss)
        except PermissionMissingError:  # GraphQL's word for it is an answer like any other
            if not self._tokens.renew(self._within(narrow)):
                raise
        return self._queried(call, body, price, narrow, may_miss)

    def _queried(
        self,
        call: str,
        body: Mapping[str, Any],
        price: CallCost,
        narrow: token_scope.TokenScope | None,
        may_miss: frozenset[str],
    ) -> dict[str, Any]:
        answer = self._refreshing("POST", self._installed.graphql_url, body, None, price, narrow)
        found = answer.body if isinstance(answer.body, dict) else {}
        errors = [one for one in found.get("errors") or () if not _may_miss(one, may_miss)]
        if errors:
            now_s = self._clock().timestamp()
            error = from_graphql(call, errors, answer.headers, now_s)
            self._installed.note(error)
            raise error
        if not isinstance(found.get("data"), dict):
            raise UnavailableError(call, answer.status, "an answer without data")
        return dict(found["data"])

    def git_url(self, repository: str) -> str:
        """Return the address that git clones and pushes; it holds no token."""
        return f"{self._config.git_url}/{_checked(repository)}.git"

    def page_url(self, repository: str) -> str:
        """Return the address of the repository's pages, for people."""
        return f"{self._config.git_url}/{_checked(repository)}"

    def git_environment(
        self, repository: str, *, workflows: bool = False, writes: bool = True
    ) -> Mapping[str, str]:
        """Return the variables that let git read and push `repository` for up to an hour, and ask nobody.

        With `workflows` what is pushed may change files of CI; without `writes` nothing is pushed. The token
        can do nothing else, is sent to that
        repository's address only and shows in no command line.
        """
        try:
            token = self._tokens.for_pushing(_checked(repository), workflows=workflows, writes=writes)
        except UnknownNameError:
            token = self._tokens.for_pushing(self._name_of(repository), workflows=workflows, writes=writes)
        word = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        settings = (
            (f"http.{self.git_url(repository)}.extraHeader", f"Authorization: Basic {word}"),
            ("credential.helper", ""),
        )
        numbered = {f"GIT_CONFIG_KEY_{n}": name for n, (name, _) in enumerate(settings)}
        numbered |= {f"GIT_CONFIG_VALUE_{n}": value for n, (_, value) in enumerate(settings)}
        return {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_COUNT": str(len(settings)), **numbered}

    def _refreshing(
        self,
        method: str,
        path: str,
        body: Any,
        params: Mapping[str, Any] | None,
        price: CallCost,
        narrow: token_scope.TokenScope | None,
        *,
        redirects: bool = False,
    ) -> Answer:
        """Send, and once more with a fresh token when the kept one is worth nothing any more, or too weak."""
        self._config.require_installation()
        narrow = self._within(narrow)
        try:
            return self._send(method, path, body, params, price, narrow, redirects)
        except TokenError:
            self._tokens.forget()
        except PermissionMissingError:
            if not self._tokens.renew(narrow):
                raise
        except UnknownNameError:
            if narrow is None:
                raise
            now = self._name_of(narrow.repository)
            path = path.replace(f"/repos/{narrow.repository}", f"/repos/{now}", 1)
            narrow = self._within(replace(narrow, repository=now))
        return self._send(method, path, body, params, price, narrow, redirects)

    def _name_of(self, repository: str) -> str:
        """Return how the repository of that earlier name is called now; raises NotFoundError without one.

        GitHub leads there whoever asks by the old name; tokens are given by the new one only.
        """
        path = f"/repos/{_checked(repository)}"
        return str(self._send("GET", path, None, None, READ, None, redirects=False).body["full_name"])

    def _within(self, narrow: token_scope.TokenScope | None) -> token_scope.TokenScope | None:
        # A repository elsewhere is none of the installation's, which can read a public one all the same.
        return narrow if narrow is not None and self._tokens.covers(narrow) else None

    def _send(
        self,
        method: str,
        path: str,
        body: Any,
        params: Mapping[str, Any] | None,
        price: CallCost,
        narrow: token_scope.TokenScope | None,
        redirects: bool,
    ) -> Answer:
        return self._installed.send(
            method, path, body=body, params=params, price=price, reach=narrow, redirects=redirects
        )

    def _ask_as_app(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        return self._app.send(method, path, body=body, price=READ).body

    def _known_bot(self) -> tuple[str, int]:
        if self._bot is None:
            login, bot_id, asked_at = json.loads(self._kept.get("bot") or "[null, 0, 0]")
            if self._clock().timestamp() >= asked_at + BOT_KEPT_S:  # an App can be renamed
                login, bot_id = self._asked_bot()
            self._bot = (login, bot_id)
        return self._bot

    def _asked_bot(self) -> tuple[str, int]:
        login = f"{self.as_app('GET', '/app').body['slug']}[bot]"
        found = self.rest("GET", f"/users/{quote(login, safe='')}").body
        bot_id = int(found["id"])
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
    return f"/repos/{_checked(repository)}"


def _checked(repository: str) -> str:
    if REPOSITORY.fullmatch(repository) is None:
        raise RefusedError(f"the repository {repository[:80]!r}", 0, "that is not owner/name")
    return repository
