"""A part is one file in a registry folder, and what the design demands of a part is there."""

import ast
import re
from collections.abc import Iterable, Iterator

import pytest

from bot.github.app_manifest import manifest
from bot.ingest.events import list_subscribed
from tests.house.source import Source, parts, sources, stem

# Registry folder -> the test folders of which one must speak of each part.
TESTED_IN = {
    "ledger/events": ("tests/ledger",),
    "rules/commands": ("tests/rules",),
    "rules/columns": ("tests/rules",),
    "rules/actions": ("tests/rules",),
    "rules/profiles": ("tests/rules",),
    "runner/agents/adapters": ("tests/runner", "tests/conformance"),
    "runner/guards/builtin": ("tests/runner", "tests/conformance"),
    "runner/workspaces/backends": ("tests/runner", "tests/conformance"),
    "bot/ingest/events": ("tests/bot", "tests/contracts"),
    "bot/cli": ("tests/bot",),
    "bot/frontends": ("tests/bot",),
    "bot/web/pages": ("tests/bot",),
}
# GitHub sends these to every App; a manifest cannot subscribe to them.
# Source: docs.github.com/webhooks/webhook-events-and-payloads (installation, ping) and
# docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest (default_events).
SENT_ANYWAY = {
    "ping",
    "installation",
    "installation_repositories",
    "installation_target",
    "github_app_authorization",
}


def undescribed(found: Iterable[Source]) -> Iterator[str]:
    for part in found:
        if not ast.get_docstring(part.tree):
            yield part.path


def untested(found: Iterable[Source], tests: Iterable[Source]) -> Iterator[str]:
    """Yield the parts that no test names, as a word, an option (`stop-all`) or a file."""
    spoken = "\n".join(f"{test.path}\n{test.text}" for test in tests)
    spoken_words = set(re.findall(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", spoken))
    for part in found:
        key = stem(part)
        if not {key, key.replace("_", "-"), f"test_{key}"} & spoken_words:
            yield part.path


def results(part: Source) -> Iterator[str]:
    """Yield the names of the results that a theme of the doctor makes."""
    for node in ast.walk(part.tree):
        match node:
            case ast.Call(func=ast.Name("ok" | "warn" | "fail"), args=[ast.Constant(str(name)), *_]):
                yield name


def unsubscribed(found: Iterable[Source], subscribed: Iterable[str]) -> Iterator[str]:
    for part in found:
        if stem(part) not in SENT_ANYWAY | set(subscribed):
            yield part.path


@pytest.mark.parametrize("folder", TESTED_IN)
def test_the_registry_has_parts_and_each_says_what_it_is(folder: str) -> None:
    found = parts(folder)
    assert found, f"{folder} is empty"
    assert list(undescribed(found)) == []


@pytest.mark.parametrize("folder", TESTED_IN)
def test_every_part_has_a_test_that_names_it(folder: str) -> None:
    homes = TESTED_IN[folder]
    found = list(untested(parts(folder), sources(*homes)))
    assert found == [], f"write a test that names it, in {' or '.join(homes)}"


def test_no_two_themes_of_the_doctor_name_a_result_alike() -> None:
    themes = {part.path: set(results(part)) for part in parts("bot/admin/doctor")}
    for path, names in themes.items():
        assert names, f"{path} makes no result"
        for other, taken in themes.items():
            assert other == path or not names & taken, f"{path}: {other} has results of this name"
    assert list(results(Source("a.py", "yield ok('disk', '')\nwarn(name, 'x')\nother('home')"))) == ["disk"]


def test_the_manifest_subscribes_to_every_event_that_has_an_intake() -> None:
    events = manifest(list_subscribed()).form_fields(
        name="", owner="acme", webhook="", active=False, redirect_url=""
    )["default_events"]
    assert list(unsubscribed(parts("bot/ingest/events"), events)) == []
    assert not SENT_ANYWAY & set(events)


def test_the_registry_tests_bite() -> None:
    part = Source("rules/commands/stop_all.py", "x = 1")
    assert list(undescribed([part])) == ["rules/commands/stop_all.py"]
    assert list(untested([part], [Source("tests/rules/test_a.py", "stop all stopall stop_allowed")])) == [
        part.path
    ]
    assert list(untested([part], [Source("tests/rules/test_a.py", '"/cardinal stop-all"')])) == []
    assert list(untested([part], [Source("tests/rules/test_stop_all.py", "")])) == []
    assert list(unsubscribed([Source("bot/ingest/events/fork.py", "")], ["push"])) == [
        "bot/ingest/events/fork.py"
    ]
    assert list(unsubscribed([Source("bot/ingest/events/ping.py", "")], ["push"])) == []
