"""What jobs load by name is there before processes are forked, so that they share it."""

import subprocess
import sys

PROBE = """
import sys
from bot.daemon import workers
workers.warm_up()
from bot.admin.doctor import THEMES
from bot.ingest.events import EVENTS
from bot.outbox.handlers import ACTS
from rules.registry import ACTIONS, ARCHETYPES, COMMANDS, HANDLERS, PROFILES
from runner.agents import AGENTS
from runner.guards.builtin import GUARDS
before = set(sys.modules)
for registry in (THEMES, EVENTS, ACTS, ACTIONS, ARCHETYPES, COMMANDS, HANDLERS, PROFILES, AGENTS, GUARDS):
    dict(registry.all())
print(sorted(set(sys.modules) - before))
"""


def test_parts_that_jobs_load_are_imported_before_the_fork() -> None:
    done = subprocess.run(
        (sys.executable, "-c", PROBE), capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
