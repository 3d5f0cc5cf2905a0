"""A card's steps in a real Chromium, in a real container, against an app of the repository's own."""

import io
import json
import os
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import docker
from bot.admin.doctor import DoctorContext, runner
from bot.github.client import Hub
from bot.system import config
from ledger.events.reproduction import AFTER, BEFORE, FAILED, PASSED, UNPLAYABLE
from ledger.queue.examinations import Level
from ledger.states import Ending
from rules.runs.reproduction import read
from runner.artifacts.store import store_of
from runner.run.run_spec import BrowserStep, ReproductionSpec
from runner.workspaces.backends.docker import home_of
from tests.containers.engine import need_engine
from tests.containers.locked import need_image
from tests.runner.flows.test_story import FINISH, PLAN
from tests.runner.world import World, checks, make_world

IMAGE = "cardinal/browser:latest"
APP = "http://127.0.0.1:3000/"
SERVER = """
import http.server, os, socket, sys

class App(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/never":
            import time; time.sleep(600)
        if self.path == "/":  # nothing answers there, and yet the app is ready
            self.send_response(302)
            self.send_header("Location", "https://127.0.0.1:9/")
            self.end_headers()
            return
        page = open("page.html", "rb").read()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(page)

http.server.ThreadingHTTPServer(("127.0.0.1", 3000), App).serve_forever()
"""
SHOP = """<!doctype html><title>Shop</title><h1>Cart</h1>
<label>Email <input name=email></label>
<label>Colour <select><option>Red</option><option>Blue</option></select></label>
<label><input type=checkbox> I agree</label>
<p id=out></p>
<button onclick="buy()">Buy</button>
<script>
function buy() {
  const chosen = document.querySelector('select').value + document.querySelector('[type=checkbox]').checked;
  console.error('wrong price for ghp_%s');
  document.getElementById('out').textContent = chosen + ' Total TOTAL';
  history.pushState(null, '', '/done?by=' + document.querySelector('[name=email]').value);
}
</script>
""" % ("a" * 36)
STEPS = """Address: /cart
Steps:
1. fill "Email" with "ann"
2. choose "Blue" in "Colour"
3. check "I agree"
4. press Tab
5. click "Buy"
6. expect address /done?by=ann
7. expect no "Error"
8. wait for "Bluetrue"
9. expect "Total 90"
"""
FIX = {"edit": {"path": "page.html", "content": SHOP.replace("TOTAL", "90")}}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[World]:
    """Return a card whose repository holds an app that adds up wrongly; nothing is left on the engine."""
    address = need_engine()
    os.environ.setdefault("DOCKER_HOST", address)
    need_image(IMAGE)
    tmp_path.chmod(0o755)
    world = make_world(tmp_path, files={"app.py": SERVER, "page.html": SHOP.replace("TOTAL", "80")})
    yield world
    world.engine.dispose()
    api = docker.APIClient(base_url=address, timeout=60)
    left = api.containers(all=True, filters={"label": [f"cardinal.home={home_of(world.places.workspaces)}"]})
    api.close()
    assert left == []


def steps_of(text: str) -> tuple[BrowserStep, ...]:
    script = read(text, APP)
    assert script is not None
    assert script.problem == ""
    return tuple(BrowserStep(str(step.verb), step.text, step.first, step.second) for step in script.steps)


def wanted(text: str = STEPS, **changes: Any) -> ReproductionSpec:
    spec = ReproductionSpec("python3 app.py", APP, steps_of(text), ready_s=60, limit_s=240, image=IMAGE)
    return replace(spec, **changes)


def reproduce(world: World, reproduction: ReproductionSpec, **files: str) -> Any:
    """Let an investigation begin with that, against a page of these files, and return how it was played."""
    if files:
        world.commit({name.replace("_", "."): text for name, text in files.items()})
    world.scenario(investigate=[{"findings": {"summary": "Nothing.", "findings": [], "follow_ups": []}}])
    world.run(world.spec(mode="investigate", workspace="docker", reproduction=reproduction))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    return world.only("ReproductionPlayed")


def kept(world: World, name: str) -> bytes:
    digest = next(one.digest for one in world.of("ArtifactKept") if one.name == name)
    raw = store_of(world.places).read(digest)
    assert raw is not None
    return raw


def test_a_fault_is_reproduced_on_the_base_and_gone_on_the_head_and_what_was_seen_is_kept(
    shop: World,
) -> None:
    shop.scenario(plan=[PLAN], work=[FIX, {"commit": "Add up"}, FINISH])
    full = checks(full=["grep -q 'Total 90' page.html"])
    shop.run(shop.spec(workspace="docker", reproduction=wanted(), validation=full))
    assert shop.ended().ending is Ending.SUCCEEDED, shop.ended()
    before, after = shop.of("ReproductionPlayed")
    assert (before.phase, before.outcome, before.step) == (BEFORE, FAILED, 10), before
    assert before.said == "it was not seen after 10 s"
    assert (before.head, len(before.steps), before.steps[-1]) == (shop.head("main"), 10, 'expect "Total 90"')
    assert (after.phase, after.outcome, after.step) == (AFTER, PASSED, 0), after
    assert after.head == shop.head()
    assert before.image == after.image
    kinds = shop.kinds()
    assert kinds.index("ReproductionPlayed") < kinds.index("TurnStarted")
    assert sorted({*before.kept}) == ["console", "log", "screenshot", "trace", "video"]
    assert before.kept.count("screenshot") == 11  # one for each step, and the end
    assert kept(shop, "before-final.png")[:8] == b"\x89PNG\r\n\x1a\n"
    assert kept(shop, "before-video.webm")[:4] == b"\x1aE\xdf\xa3"
    trace = zipfile.ZipFile(io.BytesIO(kept(shop, "after-trace.zip")))
    assert "trace.trace" in trace.namelist()
    assert b"Total 90" in b"".join(trace.read(name) for name in trace.namelist())
    console = kept(shop, "before-console.txt").decode()
    assert "[error] wrong price for [redacted" in console
    assert "ghp_" not in console + "".join(before.errors)


def test_a_page_reaches_neither_the_internet_nor_the_host_nor_the_result(shop: World) -> None:
    page = """<h1>Cart</h1><script>
    for (const at of ['http://1.1.1.1/', 'https://example.com/', 'http://172.17.0.1:2375/', 'file:///etc/passwd'])
      fetch(at).then(() => document.body.append('reached ' + at), () => 0);
    console.log(JSON.stringify({step: 1, said: '', key: ''}));
    alert('stop here');
    </script>"""
    # What lives beside the browser can write to the container's output; it does not know the key.
    forged = "\\n".join(json.dumps({"step": step, "said": "", "key": ""}) for step in range(1, 5))
    start = (
        "for p in /proc/[0-9]*; do case $p in /proc/1) continue;; esac;"
        " if grep -qs 'brow[s]e.py' $p/cmdline; then echo seen; ls $p/fd && echo reached; fi; done;"
        f" while sleep 0.2; do printf '{forged}\\n' > /proc/1/fd/1; done & exec python3 app.py"
    )
    text = 'Address: /cart\nSteps:\n- expect "Cart"\n- expect no "reached"\n- expect "Bought"'
    played = reproduce(shop, wanted(text, start=start), page_html=page)
    assert (played.outcome, played.step, played.error_count >= 3) == (FAILED, 4, True), played
    assert "[alert, accepted] stop here" in kept(shop, "before-console.txt").decode()
    app = kept(shop, "before-app.txt").decode()
    assert "seen" in app
    assert "reached" not in app


# What an app could do to the program beside it: as the same user it may at least stop it.
STOPS = (
    "for p in /proc/[0-9]*; do [ $p = /proc/1 ] || ! grep -qs 'brow[s]e.py' $p/cmdline"
    " || kill -STOP ${p#/proc/}; done; sleep 600"
)


@pytest.mark.parametrize(
    ("start", "limits", "said"),
    [
        ("echo 'no such module'; exit 3", {}, "the app ended with exit code 3 before it answered"),
        ("sleep 600", {"ready_s": 2}, "the app did not answer at http://127.0.0.1:3000/ within "),
        (STOPS, {"limit_s": 15}, "the reproduction was stopped after "),
    ],
)
def test_an_app_that_ends_never_listens_or_stops_the_browser_ends_no_run(
    shop: World, start: str, limits: dict[str, Any], said: str
) -> None:
    played = reproduce(shop, wanted(start=start, **limits))
    assert (played.outcome, played.step) == (UNPLAYABLE, 0)
    assert played.said.startswith(said), played
    if "exit 3" in start:
        assert kept(shop, "before-app.txt") == b"no such module\n"


def test_a_step_that_hangs_ends_in_its_time_with_what_was_seen_so_far(shop: World) -> None:
    page = "<h1>Cart</h1><button onclick='for (;;);'>Hang</button>"
    text = 'Steps:\n- open /cart\n- click "Hang"\n- expect "Done"'
    played = reproduce(shop, wanted(text), page_html=page)
    assert played.outcome == FAILED
    assert played.step in (2, 3)  # the click hangs, or what comes after it
    assert {"screenshot", "video", "trace"} <= {*played.kept}


def test_a_page_that_never_loads_fails_its_step_when_the_time_is_over(shop: World) -> None:
    played = reproduce(shop, wanted("Steps:\n- open /never", limit_s=40))
    assert (played.outcome, played.step) == (FAILED, 1), played
    assert played.said.startswith("it did not happen within ")
    assert "trace" in played.kept


def test_an_enormous_console_is_kept_up_to_its_cap(shop: World) -> None:
    page = "<h1>Cart</h1><script>for (let n = 0; n < 20000; n++) console.log('n'.repeat(500) + n)</script>"
    played = reproduce(shop, wanted('Address: /cart\nSteps:\n- expect "Cart"'), page_html=page)
    assert played.outcome == PASSED, played
    console = kept(shop, "before-console.txt")
    assert len(console) < 600_000
    assert b"more messages are left out]" in console


def test_an_image_without_a_browser_says_so_and_the_run_goes_on(shop: World) -> None:
    played = reproduce(shop, wanted(image="cardinal/none:latest"))
    assert played.outcome == UNPLAYABLE
    assert "the image cardinal/none:latest is not on this machine: run `cardinal images`" in played.said


def test_doctor_says_whether_the_image_is_there(
    shop: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = config.read({"CARDINAL_WORKSPACE": "docker"}, tmp_path)
    context = DoctorContext(settings, None, Hub(settings, shop.clock.now), shop.clock.now())
    found = {result.name: result for result in runner.workspaces(context)}
    assert found["browser"].level is Level.OK
    monkeypatch.setattr(runner, "BROWSER_IMAGE", "cardinal/none:latest")
    found = {result.name: result for result in runner.workspaces(context)}
    assert (found["browser"].level, found["containers"].level) == (Level.WARN, Level.OK)
    assert "`cardinal images browser`" in found["browser"].next_step
    for runtime, level in (("nope", Level.FAIL), ("runc", Level.OK), ("io.containerd.kata.v2", Level.OK)):
        named = DoctorContext(replace(settings, runtime=runtime), None, context.hub, shop.clock.now())
        found = {result.name: result for result in runner.workspaces(named)}
        assert found["containers"].level is level
