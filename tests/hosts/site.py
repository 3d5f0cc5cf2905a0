"""A site: three hosts of workers and one that takes deliveries, what they share, and a forge."""

import base64
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import requests
from sqlalchemy import Engine

from forge.demo import launch
from forge.demo.people import Team
from forge.web.server import Forge
from ledger.lifecycle.open import connect, open_ledger
from tests.chaos.cardinal import QUICK
from tests.hosts import network, services
from tests.hosts.host import Host
from tests.hosts.services import Services
from tests.waiting import until

NAMES = ("a", "b", "c")
WEB = "web"
LEASE_S = 15.0  # the default: a busy machine needs it
PORT = 8484
START_S = 120.0
POLICY = """\
version: 1
board:
  home: acme/board
  limits: {runs: 12, runs_per_repository: 12}
  columns:
    Tasks: {archetype: inbox}
    Planning: {archetype: planning, agent: scripted, model: hosts}
    In Progress:
      archetype: execution
      agent: scripted
      model: hosts
      plan_approval: required
      concurrency: 12
    Review: {archetype: review}
    QA: {archetype: review, on_entry: [{action: ready}]}
    Done: {archetype: terminal, on_entry: [{action: merge, method: squash}, {action: delete_branch}]}
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a play wants of its site.

    `environments`: variables that a host has besides. `first`: hosts that make the ledger; the others are
    started by the play.
    """

    names: tuple[str, ...] = NAMES
    workers: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)
    environments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    first: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Site:
    """One site that runs."""

    root: Path
    forge: Forge
    team: Team
    hosts: Mapping[str, Host]
    web: Host
    services: Services
    engine: Engine


@contextmanager
def running(root: Path, shape: Shape) -> Iterator[Site]:
    """Run a site until the block ends; its process must be alone in its namespaces."""
    network.make_bridge()
    with ExitStack() as stack:
        shared = stack.enter_context(services.running(root))
        forge = Forge(root / "forge", listen="0.0.0.0")
        # Three hosts that sweep every second, not every minute, spend 15,000 calls in half an hour.
        forge.store.settings.rate_limit = 200_000
        forge.start()
        stack.callback(forge.stop)
        app = _seed(forge.url)
        engine = (connect if shape.first else open_ledger)(services.DATABASE_URL)
        stack.callback(engine.dispose)
        web, *workers = (_host(root, forge, app, shape, name) for name in (WEB, *shape.names))
        for host in (web, *workers):
            stack.callback(host.kill)
            if not shape.first or host.name in shape.first:
                host.start()
        until(lambda: _answers(f"http://{network.address_of(0)}:{PORT}"), "the web server answers", START_S)
        yield Site(root, forge, Team(forge.url), {host.name: host for host in workers}, web, shared, engine)


def _seed(url: str) -> dict[str, str]:
    """Fill the forge, with the site's own policy; return the App's registration."""
    answer = requests.post(f"{url}/_forge/seed", json={"name": "demo", "agent": "scripted"}, timeout=60)
    answer.raise_for_status()
    app: dict[str, str] = answer.json()
    hook = {"url": f"http://{network.address_of(0)}:{PORT}/webhooks/github", "secret": app["webhook_secret"]}
    requests.post(f"{url}/_forge/webhook", json=hook, timeout=60).raise_for_status()
    put_policy(url)
    return app


def put_policy(url: str, policy: str = POLICY) -> None:
    """Replace the policy of the forge's board."""
    team, where = Team(url), "/repos/acme/board/contents/.github/cardinal.yml"
    old = team.call("alice", "GET", where)
    text = base64.b64encode(policy.encode()).decode()
    team.call("alice", "PUT", where, {"message": "Several hosts", "content": text, "sha": old["sha"]})


def _host(root: Path, forge: Forge, app: dict[str, str], shape: Shape, name: str) -> Host:
    """Make a host's network and home."""
    number = (WEB, *shape.names).index(name)
    network.add_host(name, number)
    environment = {**launch.own_environment(), **shape.environments.get(name, {})}
    host = Host(name, number, root, environment, command="work" if number else "serve")
    scenarios = root / "scenarios"
    if not scenarios.exists():
        shutil.copytree(Path(__file__).parent / "scenarios", scenarios)
    settings = {
        **QUICK,
        "CARDINAL_LEASE_S": str(LEASE_S),
        "CARDINAL_HOST": network.address_of(number),
        "CARDINAL_HOST_NAME": name,
        "CARDINAL_PUBLIC_URL": "",
        "CARDINAL_RUN_WORKERS": str(shape.workers),
        "CARDINAL_SCENARIOS": str(scenarios),
        **services.SETTINGS,
        **shape.settings,
    }
    there = f"http://{network.FORGE}:{forge.url.rpartition(':')[2]}"
    launch.write_settings(host.home, there, PORT, app, settings)
    return host


def _answers(url: str) -> bool:
    try:
        return requests.get(f"{url}/healthz", timeout=1).ok
    except requests.RequestException:
        return False
