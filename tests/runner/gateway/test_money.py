"""Dollars are the provider's own figures at the price list's prices, and never beyond the budget."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import genai_prices
import pytest

from runner.agents.contract import Usage
from runner.gateway.control.messages import CallRefusal, Drained, Warned
from runner.gateway.models.anthropic import Messages
from runner.gateway.models.limits import RunBudget
from runner.gateway.models.meter import Meter, ObservedUsage
from runner.gateway.models.prices import price_of
from runner.gateway.models.protocol import parse_request as read_call
from runner.gateway.models.request_contents import estimate_tokens
from runner.run.provider import Provider, TokenPrice
from tests.runner.gateway.upstream import Answer, chat, messages, responses
from tests.runner.gateway.world import CLAUDE, GPT, PATHS, TERMS, Scene, ask, finish, scene
from tests.waiting import until

ANTHROPIC = {
    "input_tokens": 1200,
    "cache_read_input_tokens": 50_000,
    "cache_creation_input_tokens": 3000,
    "cache_creation": {"ephemeral_5m_input_tokens": 1000, "ephemeral_1h_input_tokens": 2000},
}
OPENAI = {
    "input_tokens": 54_200,
    "input_tokens_details": {"cached_tokens": 50_000},
    "output_tokens": 700,
    "output_tokens_details": {"reasoning_tokens": 512},
}
CHAT = {
    "prompt_tokens": 54_200,
    "prompt_tokens_details": {"cached_tokens": 50_000},
    "completion_tokens": 700,
}


@pytest.fixture
def world(tmp_path: Path) -> Any:
    with scene(tmp_path) as new_scene:
        yield new_scene


def price(provider: str, model: str, context: dict[str, str] | None = None, **tokens: int) -> float:
    """Return what the library asks for these figures, put to it by hand."""
    used = genai_prices.Usage(**tokens)
    told = genai_prices.calc_price(used, model, provider_id=provider, price_context=context)
    return float(told.total_price)


def served(world: Scene, name: str, model: str, pieces: tuple[bytes, ...], **fields: Any) -> Usage:
    world.upstream.answers.clear()
    world.upstream.answers.append(Answer(pieces))
    before = len(world.ears.all(Usage))
    assert world.post(PATHS[name], ask(model, **fields)).status == 200
    return world.ears.wait(Usage, before + 1)[-1]


def test_an_anthropic_call_costs_what_its_figures_say_cached_or_not(world: Scene) -> None:
    expected = price(
        "anthropic",
        CLAUDE,
        input_tokens=54_200,
        cache_read_tokens=50_000,
        cache_write_tokens=3000,
        cache_write_5m_tokens=1000,
        cache_write_1h_tokens=2000,
        output_tokens=700,
    )
    by_hand = Decimal("0.0036") + Decimal("0.015") + Decimal("0.00375") + Decimal("0.012") + Decimal("0.0105")
    assert expected == pytest.approx(float(by_hand))
    streamed = served(world, "messages", CLAUDE, messages("hi", usage=ANTHROPIC, output_tokens=700))
    assert streamed == Usage(pytest.approx(expected, abs=1e-9), 54_200, 700, 1)  # type: ignore[arg-type]
    whole = json.dumps({"content": [], "usage": {**ANTHROPIC, "output_tokens": 700}}).encode()
    world.upstream.answers[0] = Answer((whole,), kind="application/json")
    world.post(PATHS["messages"], ask(stream=False))
    assert world.ears.wait(Usage, 2)[1] == streamed


def test_an_openai_call_costs_what_its_figures_say_in_both_protocols(world: Scene) -> None:
    expected = price("openai", GPT, input_tokens=54_200, cache_read_tokens=50_000, output_tokens=700)
    assert expected == pytest.approx(0.00525 + 0.00625 + 0.007)
    for name, pieces in (
        ("responses", responses("hi", usage=OPENAI)),
        ("responses", responses("hi", usage=OPENAI, status="incomplete")),
        ("chat", chat("hi", usage=CHAT)),
        ("compatible", chat("hi", usage=CHAT)),
    ):
        used = served(world, name, GPT, pieces)
        assert used == Usage(pytest.approx(expected, abs=1e-9), 54_200, 700, 1)  # type: ignore[arg-type]


def test_a_dearer_service_tier_is_counted_as_such_when_the_provider_says_so(world: Scene) -> None:
    usual = served(world, "responses", GPT, responses("hi", usage=OPENAI, service_tier="default"))
    dear = served(world, "responses", GPT, responses("hi", usage=OPENAI, service_tier="priority"))
    tokens = {"input_tokens": 54_200, "cache_read_tokens": 50_000, "output_tokens": 700}
    assert dear.usd == pytest.approx(price("openai", GPT, {"service_tier": "priority"}, **tokens))
    assert dear.usd > 1.5 * usual.usd


def test_a_search_of_the_provider_costs_what_the_list_says(world: Scene) -> None:
    found = [{"type": "web_search_call", "id": "ws_1"}, {"type": "message", "content": []}]
    plain = served(world, "responses", GPT, responses("hi", usage=OPENAI))
    dear = served(world, "responses", GPT, responses("hi", usage=OPENAI, output=found))
    assert dear.usd - plain.usd == pytest.approx(0.01)


def test_a_call_without_tools_is_no_turn(world: Scene) -> None:
    assert served(world, "messages", CLAUDE, messages("hi", usage=ANTHROPIC), tools=[]).turns == 0


@pytest.mark.parametrize("name", ["messages", "chat", "compatible"])
def test_a_model_without_a_known_price_is_refused_before_it_costs_anything(world: Scene, name: str) -> None:
    reply = world.post(PATHS[name], ask("strange-1"))
    assert reply.status == 400
    (refused,) = world.ears.wait(CallRefusal)
    assert refused.kind == "model"  # the run ends with the sentence, nothing is tried again
    assert "set CARDINAL_PRICES=strange-1=INPUT/OUTPUT" in refused.detail
    assert world.upstream.got == []


def test_the_operators_own_price_counts_cached_or_not_and_comes_before_the_list(tmp_path: Path) -> None:
    own = (TokenPrice("strange-1", 2.0, 30.0), TokenPrice(GPT, 0.0, 0.0))
    with scene(tmp_path, prices=own) as world:
        expected = pytest.approx(54_200 * 2e-6 + 700 * 30e-6, abs=1e-9)
        figures = messages("hi", usage=ANTHROPIC, output_tokens=700)
        assert served(world, "messages", "strange-1", figures) == Usage(expected, 54_200, 700, 1)  # type: ignore[arg-type]
        figures = chat("hi", usage=CHAT)
        assert served(world, "compatible", "strange-1", figures) == Usage(expected, 54_200, 700, 1)  # type: ignore[arg-type]
        assert served(world, "compatible", GPT, figures) == Usage(0.0, 54_200, 700, 1)


def test_the_operators_own_price_bounds_the_budget(tmp_path: Path) -> None:
    with scene(tmp_path, prices=(TokenPrice("strange-1", 2.0, 30.0),)) as world:
        world.open(usd_left=0.03)
        used = served(world, "compatible", "strange-1", chat("word " * 400, usage=None), max_tokens=100_000)
        assert json.loads(world.upstream.got[0].body)["max_tokens"] < 3_000  # of 0.03 + slack
        assert used.usd > 0.01
        assert world.post(PATHS["compatible"], ask("strange-1", max_tokens=100_000)).status == 400
        assert [call_refusal.kind for call_refusal in world.ears.wait(CallRefusal)] == ["budget"]
        assert len(world.upstream.got) == 1


def test_figures_that_are_none_are_replaced_by_an_estimate(world: Scene) -> None:
    for figures in ({"input_tokens": -5}, {"input_tokens": "many"}, {"input_tokens": 10**400}):
        used = served(world, "messages", CLAUDE, messages("word " * 80, usage=figures))
        assert used.usd > 0
        assert used.output_tokens >= 100


def test_without_money_left_no_call_goes_out_until_there_is_some(world: Scene) -> None:
    world.upstream.answers.append(Answer(messages("hi", usage=ANTHROPIC, output_tokens=700)))
    world.open(usd_left=0.04)
    assert world.post(PATHS["messages"], ask()).status == 200
    reply = world.post(PATHS["messages"], ask())
    assert (reply.status, reply.headers["x-should-retry"]) == (400, "false")
    assert "budget" in reply.json["error"]["message"]
    for name in ("responses", "compatible"):
        assert world.post(PATHS[name], ask(GPT)).json["error"]["code"] == "insufficient_quota"
    assert [call_refusal.kind for call_refusal in world.ears.wait(CallRefusal, 3)] == ["budget"] * 3
    world.gateway.top_up(1.0)
    assert world.post(PATHS["messages"], ask()).status == 200


@pytest.mark.parametrize("streamed", [True, False])
def test_a_call_that_does_not_fit_says_how_many_dollars_it_needs(world: Scene, *, streamed: bool) -> None:
    world.upstream.answers.append(Answer(messages("hi", usage=ANTHROPIC, output_tokens=700)))
    words = [{"role": "user", "content": "word " * 80_000}]
    call, needs_usd = ask(messages=words, stream=streamed, max_tokens=9_000), 0.1
    for _ in range(2):
        world.open(usd_left=needs_usd * 0.8)
        assert world.post(PATHS["messages"], call).status == 400
        needs_usd = world.ears.wait(CallRefusal)[-1].needs_usd
    world.open(usd_left=needs_usd)
    assert world.post(PATHS["messages"], call).status == 200


def test_once_the_tokens_are_used_up_no_protocol_makes_a_call_however_many_dollars_are_left(
    tmp_path: Path,
) -> None:
    with scene(tmp_path, prices=(TokenPrice(GPT, 0.0, 0.0),)) as world:
        world.upstream.answers.append(Answer(chat("hi", usage=CHAT)))  # 54,900 tokens
        world.open(tokens_left=54_900)
        assert world.post(PATHS["compatible"], ask(GPT)).status == 200
        reply = world.post(PATHS["compatible"], ask(GPT))
        assert (reply.status, reply.headers["x-should-retry"]) == (400, "false")
        assert reply.json["error"]["code"] == "insufficient_quota"
        world.gateway.top_up(1000.0)  # dollars are no tokens
        assert world.post(PATHS["messages"], ask()).json["error"]["message"].endswith("tokens is used up")
        assert len(world.upstream.got) == 1
        world.open()
        assert world.post(PATHS["compatible"], ask(GPT)).status == 200


def test_an_input_that_alone_does_not_fit_is_not_sent(world: Scene) -> None:
    world.upstream.answers.append(Answer(messages("hi", usage=ANTHROPIC)))
    world.open(usd_left=0.10)
    assert world.post(PATHS["messages"], ask(metadata={"x": "y" * 200_000})).status == 400
    assert world.post(PATHS["messages"], ask(metadata={"x": "y" * 100_000})).status == 200
    assert len(world.upstream.got) == 1


@pytest.mark.parametrize(
    ("name", "pieces", "last"),
    [
        ("messages", messages(*["word " * 800] * 40, usage={"input_tokens": 10}), "event: error"),
        ("responses", responses(*["word " * 800] * 40, usage=OPENAI), "event: response.failed"),
        ("chat", chat(*["word " * 800] * 40, usage=CHAT), 'data: {"error"'),
    ],
)
def test_a_stream_that_runs_over_the_budget_is_cut_between_two_events(
    world: Scene, name: str, pieces: tuple[bytes, ...], last: str
) -> None:
    whole = b"".join(pieces)
    shreds = tuple(whole[start : start + 500] for start in range(0, len(whole), 500))
    answer = Answer(shreds, holds=True)
    world.upstream.answers.append(answer)
    world.open(usd_left=0.05)
    reply = world.post(PATHS[name], ask(CLAUDE if name == "messages" else GPT))
    assert (reply.status, reply.whole) == (200, True)
    *passed, ending = reply.body.decode().rstrip("\n").split("\n\n")
    assert whole.decode().startswith("\n\n".join(passed))
    assert len(passed) > 5
    assert ending.startswith(last)
    told = json.loads(ending.split("data: ", 1)[1])
    assert "budget" in json.dumps(told)
    assert world.ears.wait(CallRefusal)[0].kind == "budget"
    used = world.ears.wait(Usage)[0]
    assert 0.09 < used.usd < 0.13
    assert world.post(PATHS[name], ask(GPT if name != "messages" else CLAUDE)).status == 400


def test_of_40_calls_at_once_those_that_do_not_fit_beside_others_wait_or_are_refused(world: Scene) -> None:
    answer = Answer(messages("hi", usage=ANTHROPIC, output_tokens=700), holds=True)  # $0.045
    world.upstream.answers.append(answer)
    world.open(usd_left=0.20)
    lines = [world.begin(PATHS["messages"], ask(metadata={"x": "y" * 80_000})) for _ in range(40)]
    until(lambda: bool(world.upstream.got), "nothing went out")
    answer.go.set()
    replies = [finish(line) for line in lines]
    for line in lines:
        line.close()
    assert {reply.status for reply in replies} == {200, 400}
    assert sum(usage.usd for usage in world.ears.wait(Usage, len(world.upstream.got))) < 0.25
    assert {one.kind for one in world.ears.wait(CallRefusal, 40 - len(world.upstream.got))} == {"budget"}


def test_what_was_cached_before_is_not_counted_on_for_calls_at_once() -> None:
    given = {"model": CLAUDE, "stream": True, "max_tokens": 1000, "system": "y" * 80_000}
    call = read_call(Messages(), given, json.dumps(given).encode())
    budget, experience = RunBudget(), ObservedUsage()

    def meter() -> Meter:
        price = price_of(Provider("anthropic", "", ""), CLAUDE)
        return Meter(call, Messages(), price, budget, experience, parts=estimate_tokens(given))

    budget.grant(0.20)
    first = meter()
    assert first.reserve()
    first.reading.take(
        {"input_tokens": 100, "cache_read_input_tokens": 20_000, "output_tokens": 10}, last=True
    )
    first.reading.ended = True
    first.release(1.0)
    alone, beside = meter(), meter()
    assert alone.reserve()
    assert budget.held_usd == pytest.approx(0.006 + 0.015, rel=0.1)
    assert not beside.reserve()  # $0.24 at most: that it was cached is not sure
    assert beside.may_fit_later()
    alone.release(None)
    assert beside.reserve()


def test_a_call_that_waits_for_room_ends_with_its_turn(world: Scene) -> None:
    answer = Answer(messages("hi", usage=ANTHROPIC), holds=True)
    world.upstream.answers.append(answer)
    world.open(usd_left=0.20)
    first = world.begin(PATHS["messages"], ask())
    until(lambda: len(world.upstream.got) == 1, "it never arrived")
    second = world.begin(PATHS["messages"], ask())
    world.gateway.shut()
    assert (finish(second).status, world.ears.wait(CallRefusal)[0].kind) == (403, "closed")
    first.close()
    second.close()


def test_what_is_not_streamed_holds_all_that_it_may_answer(world: Scene) -> None:
    whole = json.dumps({"content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}).encode()
    answer = Answer((whole[:5], whole[5:]), kind="application/json", holds=True)
    world.upstream.answers.append(answer)
    world.open(usd_left=0.10)
    first = world.begin(PATHS["messages"], ask(stream=False, max_tokens=6000))
    until(lambda: len(world.upstream.got) == 1, "it never arrived")
    second = world.begin(PATHS["messages"], ask())
    answer.go.set()
    assert [finish(first).status, finish(second).status] == [200, 200]
    assert len(world.upstream.got) == 2
    first.close()
    second.close()


def test_after_a_cut_nothing_is_spent_until_there_is_more_though_some_is_left(world: Scene) -> None:
    pieces = messages(*["word " * 800] * 40, usage={"input_tokens": 10})
    world.upstream.answers.append(Answer(pieces, holds=True))
    world.open(usd_left=0.05)
    assert b"event: error" in world.post(PATHS["messages"], ask()).body
    whole = json.dumps({"content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}).encode()
    world.upstream.answers[0] = Answer((whole,), kind="application/json")
    assert world.post(PATHS["messages"], ask(stream=False, max_tokens=10)).status == 400
    world.gateway.top_up(0.05)
    assert world.post(PATHS["messages"], ask(stream=False, max_tokens=10)).status == 200


def test_a_closed_budget_opens_with_the_next_grant_alone() -> None:
    budget = RunBudget()
    budget.grant(1.0)
    budget.close()
    assert budget.free_usd == 0
    budget.grant(1.0)
    assert budget.free_usd == 1.0


def test_an_answer_in_one_piece_must_fit_as_a_whole_since_it_cannot_be_cut(world: Scene) -> None:
    whole = json.dumps({"content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}).encode()
    world.upstream.answers.append(Answer((whole,), kind="application/json"))
    world.open(usd_left=0.10)  # and $0.05 of slack: 10,000 tokens
    assert world.post(PATHS["messages"], ask(stream=False, max_tokens=11_000)).status == 400
    assert world.post(PATHS["messages"], ask(stream=False)).status == 400
    assert world.post(PATHS["messages"], ask(stream=False, max_tokens=9_000)).status == 200


def test_an_input_that_is_cheaper_than_it_looked_leaves_more_for_the_answer(world: Scene) -> None:
    pieces = messages(*["word " * 800] * 6, usage={"input_tokens": 10}, output_tokens=6000)
    world.upstream.answers.append(Answer(pieces))
    world.open(usd_left=0.10)  # $0.075 by the bytes of the request, $0.09 for the answer
    reply = world.post(PATHS["messages"], ask(metadata={"x": "y" * 100_000}))
    assert reply.body == b"".join(pieces)


def test_the_end_of_a_turn_cuts_what_is_under_way_and_settles_it(world: Scene) -> None:
    answer = Answer(messages("x" * 40_000, usage=ANTHROPIC), holds=True)
    world.upstream.answers.append(answer)
    line = world.begin(PATHS["messages"], ask())
    response = line.getresponse()
    response.read1(100)
    until(lambda: bool(world.upstream.got), "it never arrived")
    world.gateway.shut()
    world.ears.wait(Drained)
    kinds = [type(one) for one in world.ears.told]
    assert kinds == [Usage, Warned, Drained]  # its cost is an estimate
    assert answer.left.wait(60)
    line.close()


def test_what_is_cached_does_not_make_a_long_session_look_too_dear(world: Scene) -> None:
    figures = {"input_tokens": 100, "cache_read_input_tokens": 25_000}
    world.upstream.answers.append(Answer(messages("hi", usage=figures, output_tokens=10)))
    world.open(usd_left=0.10)
    for _ in range(6):  # $0.075 each by the bytes, $0.008 by the figures
        assert world.post(PATHS["messages"], ask(metadata={"x": "y" * 100_000})).status == 200


def test_a_gateway_of_another_policy_knows_nothing_of_this_budget(tmp_path: Path) -> None:
    with (
        scene(tmp_path / "a") as one,
        scene(tmp_path / "b", replace(TERMS, models=(GPT,))) as two,
    ):
        one.open(usd_left=0.0)
        two.upstream.answers.append(Answer(responses("hi", usage=OPENAI)))
        assert one.post(PATHS["responses"], ask(GPT)).status == 400
        assert two.post(PATHS["responses"], ask(GPT)).status == 200
        assert two.post(PATHS["messages"], ask(CLAUDE)).status == 400
