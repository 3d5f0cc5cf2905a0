"""Around every API request: the caller, the budget, the call log, the faults."""

import pickle
import re
import socket
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock
from typing import Any

from flask import Response, g, jsonify, request
from graphql import FieldNode, FragmentDefinitionNode, OperationDefinitionNode, SelectionSetNode
from graphql.language import FragmentSpreadNode, InlineFragmentNode, IntValueNode, VariableNode
from werkzeug.exceptions import ClientDisconnected

from forge.errors import DOCUMENTATION_URL, ForbiddenError, ForgeError, UnauthorizedError
from forge.graphql.schema import read
from forge.payloads.judging import Exchange, Judge
from forge.rest.access import Caller, identify
from forge.store import Store
from forge.store.faults import ApiFault

REQUESTS_PER_POINT = 100
DEEPEST = 20  # a document may not spread a fragment into itself


def points(document: object, variables: object) -> int:
    """Return the price of a document; one that cannot be read costs as much as the cheapest.

    Every connection counts as one request, times the nodes of the connections around it. A hundred requests
    are a point. Source: docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api.
    """
    parsed, _faults = read(str(document))
    if parsed is None:
        return 1
    fragments = {
        node.name.value: node for node in parsed.definitions if isinstance(node, FragmentDefinitionNode)
    }
    given = variables if isinstance(variables, dict) else {}
    count = _Count(fragments, given)
    requests = sum(
        count.of(node.selection_set, 1, 0)
        for node in parsed.definitions
        if isinstance(node, OperationDefinitionNode)
    )
    return max(1, round(requests / REQUESTS_PER_POINT))


class _Count:
    def __init__(self, fragments: dict[str, FragmentDefinitionNode], variables: dict[str, Any]) -> None:
        self._fragments, self._variables = fragments, variables

    def of(self, selections: SelectionSetNode | None, times: int, depth: int) -> int:
        """Return the requests of all connections below, each made `times` times."""
        if selections is None or depth > DEEPEST:
            return 0
        total = 0
        for selection in selections.selections:
            if isinstance(selection, FieldNode):
                size = self._size(selection)
                total += times * (size > 0) + self.of(selection.selection_set, times * (size or 1), depth + 1)
            elif isinstance(selection, InlineFragmentNode):
                total += self.of(selection.selection_set, times, depth + 1)
            elif isinstance(selection, FragmentSpreadNode) and selection.name.value in self._fragments:
                total += self.of(self._fragments[selection.name.value].selection_set, times, depth + 1)
        return total

    def _size(self, field: FieldNode) -> int:
        """Return the number of nodes that a connection requests; 0 for any other field."""
        for argument in field.arguments:
            if argument.name.value in ("first", "last"):
                value = argument.value
                if isinstance(value, IntValueNode):
                    return int(value.value)
                if isinstance(value, VariableNode):
                    return int(self._variables.get(value.name.value) or 0)
        return 0


MAX_CALLS = 10_000
WINDOW_S = 3600
READING = ("query", "{")  # how documents of GraphQL begin that change nothing
SERVER_API_VERSION = "2022-11-28"
REPOSITORY = re.compile(r"/repos/(?P<owner>[^/]+)/(?P<name>[^/]+)(?P<rest>/.*)?")
LIMITED = "API rate limit exceeded for installation."
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


@dataclass(frozen=True, slots=True)
class Call:
    """One API request by an App; `cost` is its share of the hourly budget: points of GraphQL, or 1.

    `at_s` is the Unix time of the answer.
    """

    method: str
    path: str
    status: int
    operation: str
    cost: int = 1
    at_s: float = 0.0


class Gateway:
    """Counts and records API requests, and injects faults."""

    def __init__(self, store: Store, judge: Judge | None = None) -> None:
        self.store = store
        self._judge = judge
        self.calls: deque[Call] = deque(maxlen=MAX_CALLS)
        self._used: dict[str, tuple[int, int]] = {}
        self._copy: tuple[Store, datetime] | None = None  # what reads that are behind see, and until when
        self._lock = Lock()

    def before(self) -> Response | None:
        """Identify the caller; return the answer when the request goes no further."""
        path = _path()
        g.api = (request.blueprint or "rest").startswith(("rest", "graphql"))
        g.caller, g.fault, g.faked = Caller(), None, False
        if not g.api:
            return None
        if (refusal := self._not_served()) is not None:
            return refusal
        resource = "graphql" if path == "/graphql" else "core"
        if self.store.faults.latency_s:
            time.sleep(self.store.faults.latency_s)
        try:
            g.caller = identify(self.store, request.headers.get("Authorization", ""))
        except (UnauthorizedError, ForbiddenError) as error:
            g.budget = self._spend(g.caller, resource, cost=0)
            return self.answer_refused(error)
        g.budget = self._spend(g.caller, resource, cost=_cost(path))
        if g.caller == Caller(user=g.caller.user):
            return self._fault(path, people=True)  # limits are for Apps: a test's people must be able to act
        answer = self._answer_limited(path) or self._fault(path) or self._redirect_moved(path)
        if answer is None and g.caller.token is not None and self.store.faults.delays.reads_s:
            self._fall_behind(path)
        return answer

    def _fall_behind(self, path: str) -> None:
        """Let this call be answered from a copy of the state if it reads, and its turn has come."""
        wanted = request.get_json(silent=True) if path == "/graphql" else None
        document = str(wanted.get("query", "")).lstrip() if isinstance(wanted, dict) else ""
        if request.method != "GET" and not document.startswith(READING):
            return
        delays, now = self.store.faults.delays, self.store.clock.now()
        with self._lock, self.store.lock:
            if self._copy is None or self._copy[1] <= now:
                kept = pickle.dumps(self.store, pickle.HIGHEST_PROTOCOL)
                copy: Store = pickle.loads(kept)  # noqa: S301  its own bytes
                copy.root, copy.clock = self.store.root, self.store.clock
                self._copy = copy, now + timedelta(seconds=delays.draw_age_s())
                return
            copy = self._copy[0]
        if delays.chooses_copy():
            with suppress(UnauthorizedError):  # a token that is newer than the copy
                g.caller, g.behind = identify(copy, request.headers.get("Authorization", "")), copy

    def _not_served(self) -> Response | None:
        """Refuse what an Enterprise Server does not serve: github.com's paths, and a newer API's version."""
        if not self.store.settings.server_version:
            return None
        if not request.path.startswith(("/api/v3", "/api/graphql")):
            return message_response(404, "Not Found")
        if request.headers.get("X-GitHub-Api-Version", SERVER_API_VERSION) != SERVER_API_VERSION:
            return message_response(400, "The API version is not supported")
        return None

    def _redirect_moved(self, path: str) -> Response | None:
        """Redirect a call about a renamed repository: as a GET, or with the same method and body.

        Source: docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api.
        """
        match = REPOSITORY.fullmatch(path)
        repo = self.store.repos.formerly(match["owner"], match["name"]) if match else None
        if match is None or repo is None:
            return None
        query = request.query_string.decode()
        root = request.base_url.removesuffix(request.path) + request.path.removesuffix(path)
        url = f"{root}/repos/{repo.full_name}{match['rest'] or ''}{'?' if query else ''}{query}"
        moved = (301, "Moved Permanently") if request.method == "GET" else (307, "Temporary Redirect")
        return message_response(*moved, {"Location": url})

    def _spend(self, caller: Caller, resource: str, *, cost: int) -> dict[str, int | str]:
        now = int(self.store.clock.now().timestamp())
        limit, key = self.store.settings.rate_limit, f"{resource} {caller.budget_key}"
        with self._lock:
            used, reset = self._used.get(key, (0, now + WINDOW_S))
            if now >= reset:
                used, reset = 0, now + WINDOW_S
            used += cost
            self._used[key] = (used, reset)
        return {
            "limit": limit,
            "remaining": max(0, limit - used),
            "reset": reset,
            "used": used,
            "resource": resource,
            "cost": cost,
        }

    def _answer_limited(self, path: str) -> Response | None:
        faults, budget = self.store.faults, g.budget
        if path == "/graphql" and faults.take("graphql_rate_limited"):
            return self._graphql_limited()
        if faults.take("secondary"):
            return message_response(403, SECONDARY, {"Retry-After": "60"})
        if self.store.settings.server_version or int(budget["used"]) <= int(budget["limit"]):
            return None  # an Enterprise Server has no limits unless its administrator sets some
        if path == "/graphql":
            return self._graphql_limited()
        return message_response(403, LIMITED)

    @staticmethod
    def _graphql_limited() -> Response:
        g.budget = {**g.budget, "remaining": 0}
        return jsonify(errors=[{"type": "RATE_LIMITED", "code": "graphql_rate_limit", "message": LIMITED}])

    def _fault(self, path: str, *, people: bool = False) -> Response | None:
        body = request.get_data(as_text=True) if self.store.faults.api else ""
        fault = self.store.faults.take_api(request.method, path, body, people=people)
        if fault is None:
            return None
        if fault.after or fault.replace:
            g.fault = fault
            return None
        self.store.faults.hold(fault)
        return self._faulty(fault) if fault.status else None

    def _faulty(self, fault: ApiFault) -> Response:
        g.faked = True
        if fault.cut:
            connection = request.environ.get("werkzeug.socket")
            if isinstance(connection, socket.socket):
                connection.shutdown(socket.SHUT_RDWR)
        if fault.answer is not None:
            response = jsonify(fault.answer)
            response.status_code = fault.status
            response.headers.update(fault.headers)
            return response
        messages = {403: "Forbidden", 409: "Conflict", 422: "Validation Failed", 429: "Too many requests"}
        return message_response(fault.status, messages.get(fault.status, "Server Error"), fault.headers)

    def after(self, response: Response) -> Response:
        """Add the budget's headers, record the call, and spoil the answer if a fault says so."""
        if not g.get("api"):
            return response
        if g.fault is not None:
            self.store.faults.hold(g.fault)
            response = self._faulty(g.fault) if g.fault.status else _spoilt(response, g.fault)
        for name, value in g.get("budget", {}).items():
            if name != "cost" and not self.store.settings.server_version:  # only in GraphQL's own field
                response.headers[f"X-RateLimit-{name.title()}"] = str(value)
        response.date = self.store.clock.now()
        response.headers["X-GitHub-Request-Id"] = f"{id(response):X}"
        response.headers["X-GitHub-Api-Version-Selected"] = request.headers.get(
            "X-GitHub-Api-Version", "2022-11-28"
        )
        if self.store.settings.server_version:
            response.headers["X-GitHub-Enterprise-Version"] = self.store.settings.server_version
        if g.caller != Caller(user=g.caller.user):
            path = _path()
            cost = int(g.get("budget", {}).get("cost", 0))
            operation = g.get("operation", "")
            self.calls.append(
                Call(request.method, path, response.status_code, operation, cost, round(time.time(), 3))
            )
        if self._judge is not None:
            with suppress(ClientDisconnected):  # the client closed its connection in the middle
                self._judge.note_exchange(_exchange(response))
        return response

    @staticmethod
    def answer_refused(error: ForgeError) -> Response:
        """Return the answer to a request that was refused."""
        response = jsonify(error.body())
        response.status_code = error.status
        return response


def _spoilt(response: Response, fault: ApiFault) -> Response:
    """Return the true answer, with the text and the headers that the fault puts in."""
    if fault.replace:
        g.faked, answer = True, response.get_data(as_text=True)
        for pattern, text in fault.replace:
            answer = pattern.sub(text, answer)
        response.set_data(answer)
        g.budget = {name: value for name, value in g.budget.items() if not _names(fault, name)}
        response.headers.update(fault.headers)
    return response


def _names(fault: ApiFault, figure: str) -> bool:
    return f"x-ratelimit-{figure}" in map(str.lower, fault.headers)


def _exchange(response: Response) -> Exchange:
    return Exchange(
        method=request.method,
        # As sent: `request.path` does not tell a slash in a name from one of the path.
        path=str(request.environ["RAW_URI"]).partition("?")[0].removeprefix("/api/v3"),
        query=request.query_string.decode(errors="replace"),
        agent=request.headers.get("User-Agent", ""),
        body=request.get_data(),
        status=response.status_code,
        kind=response.mimetype or "",
        answered=response.get_data(),
        installed=g.caller.token is not None,
        faked=g.faked,
    )


def _path() -> str:
    """Return the request's path, whichever of GitHub's prefixes it has."""
    return request.path.removeprefix("/api/v3").removeprefix("/api")


def _cost(path: str) -> int:
    if path != "/graphql":
        return int(path != "/rate_limit")
    wanted = request.get_json(silent=True)
    return points(wanted.get("query"), wanted.get("variables")) if isinstance(wanted, dict) else 1


def message_response(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error response in GitHub's form."""
    response = jsonify(message=message, documentation_url=DOCUMENTATION_URL, status=str(status))
    response.status_code = status
    response.headers.update(headers or {})
    return response
