"""A stage narrows the network of its column for as long as it is open, in the gateway itself."""

import http.server
import socketserver
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import pytest

from ledger.events.stage import SnapshotTaken, StageEntered, StageLeft
from runner.agents.adapters.scripted import Scripted
from runner.checks.set_up import set_up
from runner.gateway.control.link import NETWORK, Gateway
from runner.gateway.control.terms import Terms
from runner.git.checkout import Checkout
from runner.git.mirror import Mirror
from runner.run.run_spec import StageSpec, ToolSpec, ValidationSpec
from runner.session.context import RunContext
from runner.workspaces.backends.local import Local
from runner.workspaces.contract import Tenancy
from tests.runner.gateway.world import Line
from tests.runner.world import World


class Host(http.server.BaseHTTPRequestHandler):
    """Answers every request, and counts them."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def host() -> Iterator[str]:
    Host.asked.clear()
    with socketserver.TCPServer(("127.0.0.1", 0), Host) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def run(world: World, host: str) -> Iterator[RunContext]:
    """Return a claimed run whose column may reach the host, with a stage that may not, and one that may."""
    column = ToolSpec(network="list", hosts=(host, "other.test"))
    stages = (
        StageSpec("offline", "tester", tools=replace(column, network="none", hosts=())),
        StageSpec("other", "tester", tools=replace(column, hosts=("other.test",))),
        StageSpec("open", "tester", tools=column),
        StageSpec("wider", "tester", tools=replace(column, network="full", hosts=())),
    )
    spec, log = world.claim(replace(world.spec(tools=column), stages=stages))
    workspace = Local(lambda: "").open(world.places, Tenancy(spec.card_id))
    mirror = Mirror(world.places.mirrors, spec.repository, world.remote, log.beat)
    checkout = Checkout(workspace, mirror, spec.authorship.author, log.beat)
    terms = Terms((), column.network, column.hosts, (host,))
    gateway = Gateway.spawn(world.root / "gateway", terms, {})
    try:
        yield RunContext(spec, log, world.clock, Scripted(), workspace, mirror, checkout, gateway)
    finally:
        gateway.close()


def enter(run: RunContext, stage: str, entry: int = 1) -> None:
    run.log.append(
        StageEntered(
            run.spec.run_id, stage, entry, 1, "", "policy", False, "tester", "built in", "d", "m", "c"
        )
    )


def end_stage(run: RunContext, stage: str, entry: int = 1) -> None:
    run.log.append(
        SnapshotTaken(run.spec.run_id, stage, entry, "Done.", (), 0, (), (), (), "c"),
        StageLeft(run.spec.run_id, stage, entry, "", 0.0, 0, 0, 0, 0.0, 0, 0),
    )


def ask(run: RunContext, host: str) -> tuple[int, str]:
    """Ask for a page of the host as a command in the workspace would, and return the proxy's answer."""
    run.network()  # as before every command of the stage and every turn
    return reach(run, host)


def reach(run: RunContext, host: str) -> tuple[int, str]:
    """Ask for a page of the host with what may be reached just now."""
    assert run.gateway is not None
    line = Line(run.gateway.folder, NETWORK)
    try:
        line.request("GET", f"http://{host}/page", headers={"Host": host})
        answer = line.getresponse()
        return answer.status, answer.read().decode()
    finally:
        line.close()


def test_a_stage_without_a_network_gets_its_request_refused_though_the_column_has_one(
    run: RunContext, host: str
) -> None:
    assert ask(run, host)[0] == 200
    enter(run, "offline")
    status, why = ask(run, host)
    assert (status, Host.asked) == (403, ["/page"])
    assert "network: none does not allow 127.0.0.1: set `tools: {network: […]}` of the stage" in why
    end_stage(run, "offline")
    assert ask(run, host)[0] == 200  # the checks have the column's again


def test_a_stage_with_a_shorter_list_reaches_only_that(run: RunContext, host: str) -> None:
    enter(run, "other")
    status, why = ask(run, host)
    assert (status, Host.asked) == (403, [])
    assert "network: list does not allow" in why
    assert "of the stage" in why


def test_a_stage_that_says_nothing_has_the_columns(run: RunContext, host: str) -> None:
    enter(run, "open")
    assert ask(run, host)[0] == 200


def test_an_order_for_more_than_the_claim_has_widens_nothing(run: RunContext, host: str) -> None:
    enter(run, "wider")
    status, why = ask(run, "elsewhere.test")
    assert (status, "of the column" in why) == (403, True)


def test_a_set_up_is_no_part_of_the_stage_that_is_open_and_reaches_what_the_column_may(
    run: RunContext, host: str
) -> None:
    spec = run.spec
    heads = run.mirror.fetch_heads(spec.branch, spec.base_branch)
    run.checkout.clone(spec.branch, spec.base_branch, heads)
    enter(run, "offline")
    assert ask(run, host)[0] == 403
    run_context = replace(run, spec=replace(spec, validation=ValidationSpec(setup=("true",))))
    set_up(run_context, run.workspace, run.checkout, heads.base, run.beat)
    assert reach(run, host)[0] == 200
    assert ask(run, host)[0] == 403  # the stage's own commands have no more than before
