"""Stories are played three at a time, for they mostly wait; each test takes the one that it is about."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.chaos import matrix
from tests.chaos.playing import Played, play_apart

AT_ONCE = 3
PATIENCE_S = 900.0
ROWS: list[matrix.Row] = []


@pytest.fixture(scope="session")
def played(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Played]]:
    """Return what gives a story by its plot's name, waiting for its end; only the stories asked for run."""
    params = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    wanted = dict.fromkeys(one[name] for name in ("plot", "other") for one in params if name in one)
    with ThreadPoolExecutor(AT_ONCE) as stage:
        stories: dict[str, Future[Played]] = {
            name: stage.submit(play_apart, name, tmp_path_factory.mktemp("story")) for name in wanted
        }
        yield lambda name: stories[name].result(PATIENCE_S)
        stage.shutdown(cancel_futures=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the crash matrix."""
    if ROWS:
        text = matrix.table(ROWS)
        terminalreporter.write_line(text)
        matrix.write(text)
