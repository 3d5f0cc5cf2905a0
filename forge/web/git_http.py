"""git over smart HTTP: `git http-backend` behind the forge's own authentication."""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from io import BufferedReader
from threading import Lock, Timer
from typing import IO, cast

from flask import Blueprint, Response, request

from forge.errors import ForbiddenError, ForgeError, NotFoundError, UnauthorizedError
from forge.git.repository import clean_environment
from forge.git.rulesets import UNGRANTED
from forge.rest.access import Caller, identify, may_change_workflows, require
from forge.rest.context import forge, store
from forge.store.models import Repo, Role

blueprint = Blueprint("git", __name__)
GIT_TIMEOUT_S = 120
STREAM_TIMEOUT_S = 1800  # of a fetch, which may be all of a large repository
CHUNK_BYTES = 65_536
_pushing = Lock()


@blueprint.route("/<owner>/<name>.git/<path:rest>", methods=["GET", "POST"])
def serve(owner: str, name: str, rest: str) -> Response:
    """Answer a fetch or a push; after a push, pull requests are updated and webhooks sent."""
    if rest not in {"info/refs", "git-upload-pack", "git-receive-pack", "HEAD"}:
        raise NotFoundError()
    moved = store().repos.formerly(owner, name)
    if moved is not None:
        query = request.query_string.decode()
        url = f"{request.host_url}{moved.full_name}.git/{rest}{'?' if query else ''}{query}"
        return Response("", 301, {"Location": url})
    caller = Caller()
    writes = "git-receive-pack" in (rest, request.args.get("service"))
    try:
        caller = identify(store(), request.headers.get("Authorization", ""))
        repo = store().repos.get(owner, name)
        needed = Role.WRITE if writes else Role.READ
        require(store(), caller, repo, "contents", "write" if writes else "read", role=needed)
    except ForgeError as error:
        known = caller.user is not None or caller.token is not None
        return _refusal(error if known else UnauthorizedError())  # git asks for credentials on a 401 only
    if rest != "git-receive-pack":
        return _backend(repo, rest)
    return _push(repo, rest, caller)


serve.unlocked = True  # type: ignore[attr-defined]  # a long fetch must not hold the store's lock


def _refusal(error: ForgeError) -> Response:
    status = (
        401 if isinstance(error, UnauthorizedError) else 403 if isinstance(error, ForbiddenError) else 404
    )
    headers = {"WWW-Authenticate": 'Basic realm="GitHub"'} if status == 401 else {}
    return Response(f"{error.message}\n", status, headers, content_type="text/plain")


def _push(repo: Repo, rest: str, caller: Caller) -> Response:
    git = store().repos.git(repo)
    with _pushing:
        before = git.refs()
        answer = _backend(repo, rest, {} if may_change_workflows(caller) else {UNGRANTED: "1"})
        answer.set_data(answer.get_data())  # read to the end: only then are the refs where they will be
        with store().lock:
            store().repos.after_push(repo, before, git.refs(), actor=caller.actor)
            forge().keep()
    return answer


def _backend(repo: Repo, rest: str, more: Mapping[str, str] | None = None) -> Response:
    """Return the answer of `git http-backend` to this request (a CGI, RFC 3875)."""
    environment = {
        **clean_environment(),
        "GIT_PROJECT_ROOT": str(store().root / "git"),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{repo.full_name}.git/{rest}",
        "REQUEST_METHOD": request.method,
        "QUERY_STRING": request.query_string.decode("latin-1"),
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
        "REMOTE_USER": "forge",
        **(more or {}),
        "REMOTE_ADDR": request.remote_addr or "127.0.0.1",
    }
    with tempfile.TemporaryFile() as sent:
        for chunk in iter(lambda: request.stream.read(CHUNK_BYTES), b""):
            sent.write(chunk)
        environment["CONTENT_LENGTH"] = str(sent.tell())
        sent.seek(0)
        if rest == "git-upload-pack":  # what a large pack is made of comes slowly: git sends signs of life
            return _stream(sent, environment)
        received = tempfile.TemporaryFile()  # noqa: SIM115  handed on: closed when the answer was sent
        done = subprocess.run(
            ["git", "http-backend"],
            stdin=sent,
            stdout=received,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=GIT_TIMEOUT_S,
            check=False,
        )
    received.seek(0)
    return _from_cgi(received, done.returncode)


def _stream(sent: IO[bytes], environment: dict[str, str]) -> Response:
    """Return the backend's answer as it comes; the process ends with the answer, or after the limit."""
    process = subprocess.Popen(
        ["git", "http-backend"],
        stdin=sent,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    limit = Timer(STREAM_TIMEOUT_S, process.kill)
    limit.daemon = True
    limit.start()
    output = cast(BufferedReader, process.stdout)
    status, headers = _head(output, 200)

    def end() -> None:
        limit.cancel()
        process.kill()
        output.close()
        process.wait()

    answer = Response(iter(lambda: output.read1(CHUNK_BYTES), b""), status, headers)
    answer.call_on_close(end)
    return answer


def _from_cgi(output: IO[bytes], status_of_process: int) -> Response:
    status, headers = _head(output, 200 if status_of_process == 0 else 500)
    start = output.tell()
    length = output.seek(0, os.SEEK_END) - start
    output.seek(start)
    answer = Response(_chunks(output), status, headers)
    answer.content_length = length
    return answer


def _head(output: IO[bytes], status: int) -> tuple[int, list[tuple[str, str]]]:
    """Return the answer's status and headers; `status` is that of an answer which names none."""
    headers = []
    for raw in iter(output.readline, b""):
        line = raw.decode("latin-1").rstrip("\r\n")
        if not line:
            break
        name, _, value = line.partition(": ")
        if name.lower() == "status":
            status = int(value.split(" ", 1)[0])
        else:
            headers.append((name, value))
    return status, headers


def _chunks(output: IO[bytes]) -> Iterator[bytes]:
    with output:
        yield from iter(lambda: output.read(CHUNK_BYTES), b"")
