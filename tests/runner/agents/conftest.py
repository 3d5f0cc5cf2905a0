"""What the tests of several agents share."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.runner.agents.opencode_bench import FAKE, Bridge, Steps


@pytest.fixture
def bridge(tmp_path: Path) -> Iterator[Callable[..., Bridge]]:
    """Return a function that starts a bridge beside a server that plays these prompts."""
    started: list[Bridge] = []

    def start(
        *prompts: Steps, session: str = "", bounds: Mapping[str, float] | None = None, **script: object
    ) -> Bridge:
        for name in ("repo", "home", "bin"):
            (tmp_path / name).mkdir(exist_ok=True)
        program = tmp_path / "bin" / "opencode"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
        program.chmod(0o755)
        known = {"prompts": prompts, "sessions": ["ses_main"], **script}
        (tmp_path / "script").write_text(json.dumps(known))
        started.append(Bridge(tmp_path, session, **(bounds or {})))
        return started[-1]

    yield start
    for one in started:
        one.child.close()
