"""Every host that a run's commands ask for is an event, also those of its checks."""

import dataclasses

import pytest

from ledger.states import Ending
from runner.run.run_spec import ToolSpec
from tests.contracts.stand import COMMIT, EDIT, FINISH, Stand
from tests.runner.world import checks

pytestmark = pytest.mark.timeout(600)
ASK = "python3 -c \"import urllib.request as r; r.urlopen('http://{host}/')\" || true"


@pytest.mark.parametrize("agent", ["scripted"])
def test_the_hosts_of_set_up_agent_and_checks_are_told(stand: Stand) -> None:
    stand.world.scenario(work=[EDIT, {"run": ASK.format(host="b.example.com")}, COMMIT, FINISH])
    validation_spec = checks(
        setup=[ASK.format(host="a.example.com")], full=[ASK.format(host="c.example.com")]
    )
    spec = stand.spec(
        ToolSpec(network="list", hosts=("example.org",)), model="test", validation=validation_spec
    )
    stand.run(dataclasses.replace(spec))
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    told = {(one.host, one.allowed) for one in stand.world.of("HostReached")}
    assert told == {(f"{name}.example.com", False) for name in "abc"}
