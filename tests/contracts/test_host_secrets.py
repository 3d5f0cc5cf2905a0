"""A host gets the operator's secret from an agent's container, and nothing of the agent's has it."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ledger.model.policy_settings import HostSecret
from ledger.states import Ending
from runner.gateway.models import upstream
from runner.gateway.network.authority import Authority, system_bundle
from runner.run.run_spec import ToolSpec
from tests.contracts.stand import COMMIT, FINISH, Stand
from tests.runner.gateway.test_secret_tunnels import Registry
from tests.runner.world import checks

pytestmark = pytest.mark.timeout(600)
SECRET = "s3cret-of-the-registry"
GET = "NO_PROXY= no_proxy= python3 -c \"import urllib.request as r; print(r.urlopen('{at}').read())\""
LOOK = "cat /proc/*/environ /run/cardinal/*.pem; grep -rs . /workspace /tmp /player"


@contextmanager
def registry(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """Serve a registry on another thread that gives each request back, and trust its authority here."""
    theirs, new_registry, loop = Authority(("localhost",)), Registry(), asyncio.new_event_loop()
    new_registry.answer = lambda request: b"HTTP/1.1 200 OK\r\n\r\n" + request
    (folder / "roots.pem").write_bytes(system_bundle() + theirs.certificate)
    patch.setenv("SSL_CERT_FILE", str(folder / "roots.pem"))
    upstream.trust.cache_clear()
    serving = asyncio.start_server(new_registry.meet, "127.0.0.1", 0, ssl=theirs.context("localhost"))
    server = loop.run_until_complete(serving)
    new_registry.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield new_registry
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        patch.undo()
        upstream.trust.cache_clear()


@pytest.mark.parametrize("agent", ["scripted"])
def test_the_registry_has_the_secret_and_the_agent_never(
    stand: Stand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "registry"
    folder.mkdir()
    with registry(folder, monkeypatch) as host:
        where = f"localhost:{host.port}"
        get = GET.format(at=f"https://{where}/pad")
        look = {"run": f"{{ {get}; {LOOK}; }} > seen.txt 2>&1; git add -A; cat seen.txt"}
        stand.world.scenario(work=[look, COMMIT, FINISH])
        stand.world.tool_secrets = {"NPM_TOKEN": SECRET}
        # No policy names a host without a dot, as this machine is.
        named: Any = {"name": "NPM_TOKEN", "host": where, "header": "Authorization", "format": "Bearer {}"}
        secret = HostSecret.model_construct(**named)
        spec = stand.spec(
            ToolSpec(network="list", hosts=(where,)),
            model="test",
            validation=checks(setup=[get], full=[get]),
            private_hosts=(where,),
            secrets=(secret,),
        )
        stand.run(spec)
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    assert [f"authorization: Bearer {SECRET}".encode() in request for request in host.heard] == [True] * 4
    sent = [(each.host, each.name, each.times) for each in stand.world.of("SecretSent")]
    assert sum(times for *_, times in sent) == 4
    assert {each[:2] for each in sent} == {("localhost", "NPM_TOKEN")}
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink()]
    assert not [path for path in kept if SECRET.encode() in path.read_bytes()]
    seen = b"".join(path.read_bytes() for path in kept if path.name == "seen.txt")
    assert b"HTTPS_PROXY=" in seen
    assert b"BEGIN CERTIFICATE" in seen
    assert b"*" * len(SECRET) in seen
