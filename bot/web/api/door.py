"""The API's HTTP door: token, scope, limits, then the operation; every fault is a problem as of RFC 9457."""

import json
import logging
import re
import secrets
import threading
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from http import HTTPStatus
from threading import BoundedSemaphore
from typing import Any

from flask import Response, request
from pydantic import ValidationError
from werkzeug.exceptions import HTTPException, MethodNotAllowed, RequestEntityTooLarge

from bot.github.errors import GithubError
from bot.state.card_filters import FilterError
from bot.sync.card import CardBusyError
from bot.system import people
from bot.system.people import NotAdmittedError, PeopleListError
from bot.web.acting.record import MistypedCommandError
from bot.web.api import description
from bot.web.api.operation import (
    OPERATIONS,
    ApiError,
    Operation,
    SiteRequest,
    faults_of,
)
from bot.web.api.sending import ROOT
from bot.web.authorization import BusyError
from bot.web.group_commit import Batches
from bot.web.site.layout import FAULTS, Site
from bot.web.wsgi import COUNTED
from ledger.errors import CardinalError
from ledger.log import event_store
from ledger.model.strict_json import StrictJsonError, parse_json
from ledger.queue import api_tokens
from ledger.queue.acted_requests import ReusedKeyError
from ledger.queue.api_tokens import Scope, TokenRow, scope_covers
from rules.text import alternatives, plain

log = logging.getLogger(__name__)

MAX_BYTES = 256 * 1024
A_MINUTE = 600  # requests of one token
ACTS_AT_ONCE = 2  # each may ask GitHub; there are few threads
KEY = re.compile(r"[\x21-\x7e]{1,200}")
BEARER = re.compile(r"Bearer +([A-Za-z0-9_]{1,200})", re.IGNORECASE)
LATER_S = 60
WRITTEN_S = 0.1  # between two commits of counts
API, JSON = "/api/", "application/json"
CODES = {HTTPStatus.NOT_FOUND: "not_found", HTTPStatus.METHOD_NOT_ALLOWED: "method"}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class TokenUse:
    """Requests of each token within the minute; a count is written once a minute at most, with others that
    wait, and no request waits for it.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._lock = threading.Lock()
        self._counts, self._unwritten = Counter[str](), Counter[str]()
        self._minute: datetime | None = None
        self._written: Batches[tuple[str, int, datetime]] = Batches(self._write, rest_s=WRITTEN_S)

    def take(self, token: TokenRow) -> None:
        """Count one more. Raises ApiError where there were too many."""
        now = self._site.clock()
        minute = now.replace(second=0, microsecond=0)
        with self._lock:
            if minute != self._minute:
                self._counts.clear()
                self._minute = minute
            self._counts[token.token_id] += 1
            self._unwritten[token.token_id] += 1
            first, count = self._counts[token.token_id] == 1, self._counts[token.token_id]
            uses = self._unwritten.pop(token.token_id) if first else 0
        if uses:
            self._written.add((token.token_id, uses, now))
        if count > A_MINUTE:
            wait_s = max(1, 60 - now.second)
            because = f"a token may send {A_MINUTE} requests a minute"
            raise ApiError(
                HTTPStatus.TOO_MANY_REQUESTS, "too_many", because, f"wait {wait_s} s, then continue", wait_s
            )

    def _write(self, uses: Sequence[tuple[str, int, datetime]]) -> None:
        with event_store.writing(self._site.engine) as db:
            api_tokens.count_uses(db, uses)


def mount(site: Site) -> None:
    """Mount every operation, and the description of them all."""
    use, room = TokenUse(site), BoundedSemaphore(ACTS_AT_ONCE)
    for name, operation in OPERATIONS.all():
        for number, path in enumerate((operation.PATH, *operation.ALSO)):
            site.blueprint.add_url_rule(
                ROOT + re.sub(r"\{(\w+)\}", r"<\1>", path),
                f"api_{name}{number or ''}",
                partial(_answer, site, use, room, operation),
                methods=[operation.METHOD],
            )
    site.blueprint.add_url_rule(f"{ROOT}/openapi.json", "api_description", _description)
    site.blueprint.add_url_rule(f"{ROOT}/<path:path>", "api_unknown", _unknown, methods=METHODS)
    for code, lines in FAULTS.items():
        site.blueprint.app_errorhandler(code)(partial(_answer_unknown, site, lines))


def _answer(site: Site, use: TokenUse, room: BoundedSemaphore, operation: Operation, **path: str) -> Response:
    try:
        return _answer_in_room(site, use, room, operation, path)
    except CardinalError as error:
        return problem_document(_as_problem(error))


def _answer_in_room(
    site: Site, use: TokenUse, room: BoundedSemaphore, operation: Operation, path: dict[str, str]
) -> Response:
    token = _token(site)
    if not request.environ.get(COUNTED, False):
        use.take(token)
    if not scope_covers(token.scopes, operation.SCOPE):
        because = f"this needs the scope {operation.SCOPE}; the token has {alternatives(token.scopes)}"
        raise ApiError(HTTPStatus.FORBIDDEN, "scope", because, "create a token with that scope")
    given = _read_input(operation, path)
    visit = people.admit_person(site.config, user_id=token.user_id, login=token.login, until=token.until)
    call = SiteRequest(site, visit, token, f"api:{token.token_id}:{_key()}")
    if operation.stream is not None and "text/event-stream" in request.headers.get("Accept", ""):
        return operation.stream(call, given)
    if operation.SCOPE is Scope.READ:
        return _of(operation, call, given)
    if not room.acquire(timeout=LATER_S / 20):
        raise ApiError(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "busy",
            "Cardinal is busy",
            "send it again, with its key",
            LATER_S,
        )
    try:
        return _of(operation, call, given)
    finally:
        room.release()


def _token(site: Site) -> TokenRow:
    sent = BEARER.fullmatch(request.headers.get("Authorization", ""))
    with event_store.reading(site.engine) as db:
        token = api_tokens.find(db, sent[1], site.clock()) if sent else None
    if token is None:
        because = "the request has no valid token"
        remedy = "send `Authorization: Bearer <token>`; create a token on the page /tokens"
        raise ApiError(HTTPStatus.UNAUTHORIZED, "token", because, remedy)
    return token


def _key() -> str:
    key = request.headers.get("Idempotency-Key")
    if key is None:
        return secrets.token_hex(16)
    if not KEY.fullmatch(key):
        because = "an idempotency key must have 1 to 200 visible ASCII characters"
        raise ApiError(HTTPStatus.BAD_REQUEST, "unfit_key", because, "send a different key")
    return key


def _read_input(operation: Operation, path: dict[str, str]) -> Any:
    """Return the operation's input. Raises ApiError."""
    fields: dict[str, Any] = {}
    if operation.METHOD == "GET":
        usual = operation.TEXT_INPUT if _content_type(operation) != JSON else {}
        fields = {**usual, **request.args.to_dict()}
        if any(len(texts) > 1 for _, texts in request.args.lists()):
            raise _unfit("the query has a field twice")
    else:
        fields = _body()
    if both := fields.keys() & path.keys():
        raise _unfit(f"{plain(', '.join(sorted(both)))} is already in the path")
    try:
        given = operation.Input.model_validate({**fields, **path})
    except ValidationError as error:
        raise _unfit(faults_of(error, operation.Input)) from error
    texts = (text for _, it in given for text in (it if isinstance(it, list) else [it]))
    if any("\0" in text for text in texts if isinstance(text, str)):  # PostgreSQL keeps none
        raise _unfit("a text contains the character NUL")
    return given


def _body() -> dict[str, Any]:
    request.max_content_length = MAX_BYTES
    if request.mimetype != JSON:
        because = "the body is not JSON"
        raise ApiError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "not_json", because, "send `Content-Type: application/json`"
        )
    try:
        fields = parse_json(request.get_data())
    except RequestEntityTooLarge as error:
        because = f"the body is larger than {MAX_BYTES:,} bytes"
        raise ApiError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", because, "shorten it") from error
    except StrictJsonError as error:
        raise _unfit(f"the body is not JSON: {plain(error.because)}") from error
    if not isinstance(fields, dict):
        raise _unfit("the body is not a JSON object")
    return fields


def _unfit(because: str) -> ApiError:
    remedy = f"see {ROOT}/openapi.json"
    return ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, "unfit", because, remedy)


def _as_problem(error: CardinalError) -> ApiError:
    match error:
        case ApiError():
            return error
        case NotAdmittedError():
            because = f"{plain(error.login)} is not on the operator's list of people"
            remedy = "ask your operator to add that account"
            return ApiError(HTTPStatus.FORBIDDEN, "not_admitted", because, remedy)
        case PeopleListError():
            log.warning("no token works reason=%s", error)
            because = "the operator's list of people cannot be read"
        case BusyError():
            because = error.because
        case CardBusyError():
            because = "Cardinal is reading the card right now"
        case GithubError():
            because = "GitHub did not say what the account may do"
        case FilterError() | MistypedCommandError():
            return ApiError(HTTPStatus.UNPROCESSABLE_ENTITY, "unfit", str(error), f"see {ROOT}/openapi.json")
        case ReusedKeyError():
            return ApiError(HTTPStatus.CONFLICT, "reused_key", str(error), "nothing was done")
        case _:
            raise error
    later = "send it again in a minute, with its key"
    return ApiError(HTTPStatus.SERVICE_UNAVAILABLE, "busy", because, later, LATER_S)


def problem_document(error: ApiError) -> Response:
    """Return the answer to a request that is not carried out."""
    fields = {
        "type": "about:blank",
        "title": error.status.phrase,
        "status": error.status,
        "code": error.code,
        "detail": error.because,
        "remedy": error.remedy,
    }
    answer = Response(json.dumps(fields), error.status, content_type="application/problem+json")
    if error.retry_s:
        answer.headers["Retry-After"] = str(error.retry_s)
    if error.status is HTTPStatus.UNAUTHORIZED:
        answer.headers["WWW-Authenticate"] = 'Bearer realm="cardinal"'
    return answer


def _of(operation: Operation, call: SiteRequest, given: Any) -> Response:
    output, kind = operation.run(call, given), _content_type(operation)
    if kind == JSON:
        return Response(output.model_dump_json(), content_type=JSON)
    return Response(operation.AS_TEXT[kind](call, output), content_type=f"{kind}; charset=utf-8")


def _content_type(operation: Operation) -> str:
    """Return the content type that the client wants of those that there are."""
    if not operation.AS_TEXT:
        return JSON
    return request.accept_mimetypes.best_match((JSON, *operation.AS_TEXT), JSON)


def _description() -> Response:
    return Response(json.dumps(description.document()), content_type=JSON)


def _answer_unknown(site: Site, lines: tuple[str, str], error: HTTPException) -> Response:
    """Return the answer to a request that no operation takes; elsewhere it is a page."""
    if not f"{request.path}/".startswith(API):
        return site.faulty(lines, error)
    status = HTTPStatus(error.code or HTTPStatus.INTERNAL_SERVER_ERROR)
    because, remedy = (line.rstrip(".") for line in lines)
    answer = problem_document(ApiError(status, CODES.get(status, "failed"), because, remedy))
    if isinstance(error, MethodNotAllowed):
        answer.headers["Allow"] = ", ".join(error.valid_methods or ())
    return answer


def _unknown(path: str) -> Response:
    ways = {it.METHOD for _, it in OPERATIONS.all() if description.fits_path(it.PATH, f"/{path}")}
    if not ways:
        because = "no such operation"
        return problem_document(
            ApiError(HTTPStatus.NOT_FOUND, "not_found", because, f"see {ROOT}/openapi.json")
        )
    because = f"this path accepts {alternatives(sorted(ways))}"
    answer = problem_document(
        ApiError(HTTPStatus.METHOD_NOT_ALLOWED, "method", because, f"see {ROOT}/openapi.json")
    )
    answer.headers["Allow"] = ", ".join(sorted(ways))
    return answer
