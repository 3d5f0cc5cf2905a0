"""An answer that its client gives up, or that breaks, costs what the provider may bill for it."""

import json
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.agents.contract import Usage
from runner.gateway.control.messages import (
    Answering,
    CallRefusal,
    Drained,
    ProviderFailure,
    Warned,
)
from runner.gateway.control.terms import Waits
from runner.gateway.models import forward, proxy
from runner.gateway.models.limits import RunBudget
from runner.gateway.models.meter import Meter, ObservedUsage
from runner.gateway.models.prices import price_of
from runner.gateway.models.protocol import SseParser, parse_request
from runner.gateway.models.request_contents import estimate_tokens
from runner.gateway.models.routes import ROUTES
from runner.run.provider import Provider
from tests.runner.gateway.upstream import Answer, chat, event, messages, responses
from tests.runner.gateway.world import CLAUDE, GPT, KEY, MODEL, PATHS, TERMS, Line, Scene, ask, scene
from tests.waiting import until

LIMIT = {"messages": "max_tokens", "responses": "max_output_tokens", "chat": "max_completion_tokens"}
RATE = {"messages": 500, "responses": 3000, "chat": 3000, "compatible": 3000}
HIDDEN = 9_000
ONE = {"input_tokens": 50, "output_tokens": HIDDEN}
CHAT_ONE = {"prompt_tokens": 50, "completion_tokens": HIDDEN}
THOUGHTS: Mapping[str, tuple[bytes, ...]] = {  # nothing of them is seen
    "messages": messages(usage={"input_tokens": 50}, output_tokens=HIDDEN),
    "responses": responses(usage=ONE),
    "chat": chat(usage=CHAT_ONE),
    "compatible": chat(usage=CHAT_ONE),
}
WHOLE = {
    "messages": {"content": [], "usage": ONE},
    "responses": {"output": [], "status": "completed", "usage": ONE},
    "chat": {"choices": [], "usage": CHAT_ONE},
    "compatible": {"choices": [], "usage": CHAT_ONE},
}


@pytest.fixture
def world(tmp_path: Path) -> Any:
    with scene(tmp_path) as new_scene:
        yield new_scene


def call(name: str, tokens: int = 20_000, **fields: Any) -> dict[str, Any]:
    limit: dict[str, Any] = {LIMIT.get(name, "max_tokens"): tokens}
    return ask(MODEL[name], **limit, **fields)


def hang_up(line: Line) -> None:
    """Close a connection at once, with what is not yet read."""
    line.sock.shutdown(socket.SHUT_RDWR)
    line.close()


def abandon(world: Scene, name: str, answer: Answer, **fields: Any) -> None:
    """Let a client ask, see the first bytes if there are any, and go; the gateway stays."""
    arrived = len(world.upstream.got)
    world.upstream.answers.append(answer)
    line = world.begin(PATHS[name], call(name, **fields))
    until(lambda: len(world.upstream.got) > arrived, "it never arrived", every_s=0.01)
    if not answer.silent:
        with line.getresponse() as response:
            response.read1(10)
            hang_up(line)
    else:
        hang_up(line)
    assert not answer.left.wait(0.1)


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("way", ["streamed", "streamed, before the first byte", "in one piece"])
def test_an_abandoned_answer_costs_what_the_provider_tells_at_its_end(
    world: Scene, name: str, way: str
) -> None:
    raw = json.dumps(WHOLE[name]).encode()
    answers = {
        "streamed": Answer(THOUGHTS[name], holds=True),
        "streamed, before the first byte": Answer(THOUGHTS[name], silent=True),
        "in one piece": Answer((raw,), kind="application/json", silent=True),
    }
    abandon(world, name, answers[way], stream=way != "in one piece")
    answers[way].go.set()
    (used,) = world.ears.wait(Usage)
    input_usd, output_usd = (3e-6, 15e-6) if name == "messages" else (1.25e-6, 10e-6)
    expected = pytest.approx(50 * input_usd + HIDDEN * output_usd)
    assert used == Usage(expected, 50, HIDDEN, 1)  # type: ignore[arg-type]
    world.gateway.shut()
    world.ears.wait(Drained)
    assert [type(event) for event in world.ears.told] == [Usage, Drained]


def test_a_tool_call_that_is_abandoned_in_its_middle_costs_all_of_it(world: Scene) -> None:
    block = {"type": "tool_use", "id": "t", "name": "t", "input": {}}
    half = {"type": "input_json_delta", "partial_json": '{"path": "a'}
    *first, last = THOUGHTS["messages"]
    start = event("content_block_start", index=0, content_block=block)
    delta = event("content_block_delta", index=0, delta=half)
    answer = Answer((first[0], start, delta, b"".join((*first[-2:], last))), holds=True)
    abandon(world, "messages", answer)
    answer.go.set()
    assert world.ears.wait(Usage)[0].output_tokens == HIDDEN


def test_dollars_of_an_abandoned_answer_stay_reserved_until_its_end(world: Scene) -> None:
    answer = Answer(THOUGHTS["messages"], holds=True)
    world.open(usd_left=0.13)
    abandon(world, "messages", answer)
    line = world.begin(PATHS["messages"], call("messages"))
    assert not world.ears.hear(0.1)
    assert len(world.upstream.got) == 1
    answer.go.set()
    assert line.getresponse().status == 400  # it took $0.135
    line.close()
    assert world.ears.wait(CallRefusal)[0].kind == "budget"


@pytest.mark.parametrize("name", PATHS)
def test_the_end_of_a_turn_charges_an_abandoned_answer_at_once_by_its_time(world: Scene, name: str) -> None:
    began = time.monotonic()
    answer = Answer((THOUGHTS[name][0], b"".join(THOUGHTS[name][1:])), holds=True)
    abandon(world, name, answer)
    at_least_s = 0.1
    world.gateway.shut()
    world.ears.wait(Drained)
    took_s = time.monotonic() - began
    (used,) = world.ears.all(Usage)
    assert at_least_s * RATE[name] <= used.output_tokens <= took_s * RATE[name] + 1
    assert used.input_tokens > 0
    assert ["an estimate" in warned.text for warned in world.ears.all(Warned)] == [True]
    assert answer.left.wait(60)


def test_an_abandoned_answer_is_read_for_so_long_and_no_longer(tmp_path: Path) -> None:
    with scene(tmp_path, replace(TERMS, waits=Waits(abandoned_s=0.3))) as world:
        answer = Answer(THOUGHTS["responses"], holds=True)
        abandon(world, "responses", answer)
        (used,) = world.ears.wait(Usage)
        assert used.output_tokens >= 0.3 * 3000
        assert answer.left.wait(60)
        assert world.ears.all(ProviderFailure) == []


def test_only_so_many_abandoned_answers_are_read_at_once_and_the_oldest_makes_room(
    world: Scene,
) -> None:
    world.open(usd_left=1000.0)
    answers = [Answer(THOUGHTS["messages"], holds=True) for _ in range(proxy._MAX_ABANDONED + 1)]
    world.upstream.answers += answers
    lines = []
    for number in range(len(answers)):
        lines.append(world.begin(PATHS["messages"], call("messages")))
        until(lambda at=number: len(world.upstream.got) > at, "it never arrived", every_s=0.01)  # type: ignore[misc]
        lines[-1].getresponse().read1(10)
    for line in lines[:-1]:
        hang_up(line)
    assert not world.ears.hear(0.2)
    hang_up(lines[-1])
    assert world.ears.wait(Usage)[0].output_tokens > 0
    until(lambda: any(answer.left.is_set() for answer in answers), "nothing was cut", every_s=0.01)
    assert sum(answer.left.is_set() for answer in answers) == 1
    for answer in answers:
        answer.go.set()
    used = world.ears.wait(Usage, len(answers))
    assert sorted(usage.output_tokens for usage in used)[1:] == [HIDDEN] * (len(answers) - 1)


def test_a_provider_that_breaks_an_abandoned_answer_is_paid_for_its_time_and_not_counted_as_failing(
    tmp_path: Path,
) -> None:
    with scene(tmp_path, replace(TERMS, failures=1)) as world:
        answer = Answer((THOUGHTS["responses"][0], event("ping")), holds=True, cut=True)
        abandon(world, "responses", answer)
        answer.go.set()
        assert world.ears.wait(Usage)[0].output_tokens >= 0.1 * 3000
        world.upstream.answers[0] = Answer(THOUGHTS["responses"])
        assert world.post(PATHS["responses"], call("responses")).status == 200
        assert world.ears.all(ProviderFailure) == []


@pytest.mark.parametrize("watched", [True, False])
def test_an_abandoned_answer_is_no_sign_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, watched: bool
) -> None:
    monkeypatch.setattr(forward, "_ALIVE_S", 0.0)
    first, *others = messages(*["word"] * 3000, usage={"input_tokens": 50})
    answer = Answer((first, b"".join(others)), holds=True)
    with scene(tmp_path) as world:
        if watched:
            world.upstream.answers.append(answer)
            answer.go.set()
            assert world.post(PATHS["messages"], call("messages")).whole
        else:
            abandon(world, "messages", answer)
            answer.go.set()
        world.ears.wait(Usage)
        assert bool(world.ears.all(Answering)) is watched


def test_a_call_that_is_given_up_before_it_left_costs_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:  # the greeting of TLS is never answered
        url = f"https://127.0.0.1:{mute.getsockname()[1]}"
        payer = {"anthropic": Provider("anthropic", url, KEY)}
        with scene(tmp_path, keys=False, others=lambda _: payer) as world:
            line = world.begin(PATHS["messages"], call("messages"))
            mute.accept()[0].detach()
            hang_up(line)
            world.gateway.shut()
            world.ears.wait(Drained)
            assert world.ears.all(Usage) == []


@pytest.mark.parametrize("streamed", [True, False])
def test_a_provider_that_hangs_up_without_an_answer_may_bill_the_call(
    tmp_path: Path, *, streamed: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        payer = {"openai": Provider("openai", f"http://127.0.0.1:{server.getsockname()[1]}", KEY)}
        with scene(tmp_path, keys=False, others=lambda _: payer) as world:
            line = world.begin(PATHS["responses"], call("responses", 4000, stream=streamed))
            taken = server.accept()[0]
            until(lambda: b"4000" in taken.recv(100_000), "it never arrived")
            taken.close()
            assert line.getresponse().status == 502
            line.close()
            (used,) = world.ears.wait(Usage)
            assert used.output_tokens == 4000 if not streamed else 0 < used.output_tokens < 4000


@pytest.mark.parametrize("status", [302, 400, 401, 404, 429, 500, 529])
def test_what_a_provider_refuses_costs_nothing(world: Scene, status: int) -> None:
    world.upstream.answers.append(Answer((b'{"error":{"message":"no"}}',), status, "application/json"))
    world.post(PATHS["messages"], call("messages"))
    world.gateway.shut()
    world.ears.wait(Drained)
    assert world.ears.all(Usage) == []


def metered(
    name: str, tokens: int = 20_000, *, usd_left: float = 5.0, **fields: Any
) -> tuple[Meter, Callable[[bytes], None]]:
    """Return the meter of a call that was sent, and what reads its answer."""
    wire, given = ROUTES[PATHS[name]].wire, call(name, tokens, **fields)
    budget = RunBudget()
    budget.grant(usd_left)
    price = price_of(Provider(wire.provider, "", ""), GPT if name != "messages" else CLAUDE)
    request = parse_request(wire, given, json.dumps(given).encode())
    meter = Meter(request, wire, price, budget, ObservedUsage(), parts=estimate_tokens(given))
    assert meter.reserve()
    parser = SseParser()

    def read(piece: bytes) -> None:
        for payload in parser.feed(piece):
            wire.read_event(meter.reading, payload)

    return meter, read


ZEROS = {"input_tokens": 0, "output_tokens": 0}
CHAT_ZEROS = {"prompt_tokens": 0, "completion_tokens": 0}
CHAT_NONE = {"prompt_tokens": 50, "completion_tokens": 0}
FAILED = event("response.failed", response={"status": "failed", "error": {"message": "Overloaded"}})
UNCOUNTED: tuple[tuple[str, str, tuple[bytes, ...]], ...] = (
    *(("nothing came", name, ()) for name in PATHS),
    *(("it only began", name, THOUGHTS[name][:1]) for name in PATHS),
    ("its end is missing", "messages", THOUGHTS["messages"][:-2]),
    ("its end is missing", "responses", THOUGHTS["responses"][:-1]),
    *(("the end came without its usage", name, chat("hi", usage=None)) for name in ("chat", "compatible")),
    *(("figures of nothing", name, chat("hi", usage=CHAT_ZEROS)) for name in ("chat", "compatible")),
    ("an output of nothing", "chat", chat("hi", usage=CHAT_NONE)),
    ("figures of nothing", "responses", responses("hi", usage=ZEROS)),
    ("figures of nothing", "messages", messages("hi", usage={"input_tokens": 0}, output_tokens=0)),
    ("no figures", "responses", responses("hi", usage=None)),
    ("no figures at the end", "messages", (*THOUGHTS["messages"][:-2], event("message_stop"))),
    ("figures before the end alone", "chat", (chat("hi", usage=CHAT_ONE)[-2], *chat("hi", usage=None))),
    ("a failure", "responses", (FAILED,)),
    ("an error", "messages", (THOUGHTS["messages"][0], event("error", error={"message": "Overloaded"}))),
    ("an error", "chat", (b'data: {"error":{"message":"Overloaded"}}\n\n',)),
    ("nonsense", "messages", messages("hi", usage={"input_tokens": "many"}, output_tokens=-3)),
)


@pytest.mark.parametrize(("what", "name", "pieces"), UNCOUNTED, ids=lambda value: str(value)[:40])
def test_without_the_providers_last_figures_an_answer_costs_the_most_that_its_time_can_have_produced(
    what: str, name: str, pieces: tuple[bytes, ...]
) -> None:
    for worked_s, expected in ((2.0, 2 * RATE[name]), (3600.0, 20_000)):
        meter, read = metered(name)
        for piece in pieces:
            read(piece)
        reserved_usd = meter._budget.held_usd
        cost = meter.release(worked_s)
        assert cost is not None
        assert (cost.output_tokens, cost.estimated) == (max(expected, 9000 * ("before" in what)), True)
        assert cost.input_tokens > 0
        assert expected * 10e-6 < cost.usd <= reserved_usd * 1.001


@pytest.mark.parametrize("name", PATHS)
def test_the_providers_last_figures_count_however_long_it_took(name: str) -> None:
    meter, read = metered(name)
    read(b"".join(THOUGHTS[name]))
    cost = meter.release(3600.0)
    assert cost is not None
    assert (cost.input_tokens, cost.output_tokens, cost.estimated) == (50, HIDDEN, False)


def test_an_answer_in_one_piece_that_never_came_costs_its_limit_whenever_it_was_given_up() -> None:
    meter, _ = metered("messages", 4000, stream=False)
    cost = meter.release(0.0)
    assert cost is not None
    assert cost.output_tokens == 4000


def test_the_limit_that_the_gateway_set_bounds_what_an_answer_can_have_cost() -> None:
    meter, _ = metered("responses", 128_000, usd_left=0.50)
    cost = meter.release(3600.0)
    assert cost is not None
    assert cost.output_tokens == meter.request.added["max_output_tokens"] < 128_000
