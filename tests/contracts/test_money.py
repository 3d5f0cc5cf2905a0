"""What a run cost is what the provider told and what the price list says, to the cent, whatever happened."""

from decimal import Decimal

import pytest
from genai_prices import Usage, calc_price

from forge.model.server import Served
from ledger.states import Ending
from tests.contracts.stand import COMMIT, EDIT, FINISH, PLAN, Stand

pytestmark = pytest.mark.timeout(600)
WITHOUT_SUBAGENTS = {"codex": "spawn_agent", "gemini": "invoke_agent"}  # what each would call to start one
SPENDING = {"usage": {"in": 12_345, "out": 678, "cache_read": 9_000}}


def price(served: Served) -> Decimal:
    """Return the dollars of one answered call, reckoned apart from the gateway.

    Some prices go by the hour: those of deepseek-v4-pro double at 06:00 UTC.
    """
    tokens = served.tokens
    assert tokens is not None
    used = Usage(
        input_tokens=tokens.fresh + tokens.cache_read + tokens.cache_write,
        cache_read_tokens=tokens.cache_read,
        cache_write_tokens=tokens.cache_write,
        output_tokens=tokens.out,
    )
    return calc_price(used, model_ref=served.model, genai_request_timestamp=served.at).total_price


def test_a_question_parks_the_answer_goes_on_in_the_session_and_all_of_it_is_counted(stand: Stand) -> None:
    ask = {"ask": {"question": "Which greeting?", "choices": ["Hello", "Moin"]}}
    write = {"edit": {"path": "hello.txt", "content": "{{answer}}\n"}}
    stand.scenario(plan=[SPENDING, PLAN], work=[SPENDING, ask, SPENDING, write, COMMIT, SPENDING, FINISH])
    spec = stand.spec(planned=False)
    assert stand.run(spec).why == "question"
    assert stand.containers() == []
    assert stand.world.only("QuestionAsked").choices == ("Hello", "Moin")
    stand.world.answer(spec, "Moin")
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    assert stand.world.show("hello.txt") == "Moin"
    assert len(stand.world.of("SessionStarted")) == 1
    served = [one for one in stand.model.served if one.tokens is not None]
    assert served
    assert len(served) >= 7
    assert Decimal(str(round(stand.usd(), 6))) == round(sum(map(price, served), Decimal()), 6)
    tokens = [one.tokens for one in served if one.tokens is not None]
    told_in = sum(told.fresh + told.cache_read + told.cache_write for told in tokens)
    assert stand.tokens() == (told_in, sum(told.out for told in tokens))


def test_what_subagents_use_is_counted_like_everything_else(stand: Stand) -> None:
    if stand.agent in WITHOUT_SUBAGENTS:
        stand.scenario(work=[EDIT, COMMIT, FINISH])
        stand.run(stand.spec())
        offered = str([request.body.get("tools") for request in stand.model.requests])
        assert "run_shell_command" in offered or "exec_command" in offered
        assert not any(name in offered for name in WITHOUT_SUBAGENTS.values())
        return
    stand.scenario(
        work=[{"subagent": "reader"}, EDIT, COMMIT, FINISH],
        subagents={"reader": [SPENDING, {"run": "ls"}, {"say": "It is a shop."}]},
    )
    stand.run(stand.spec())
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    served = [one for one in stand.model.served if one.tokens is not None]
    assert any(one.turn.startswith("sub-") for one in served), [one.turn for one in served]
    assert Decimal(str(round(stand.usd(), 6))) == round(sum(map(price, served), Decimal()), 6)


@pytest.mark.parametrize("agent", ["opencode"], indirect=True)
def test_a_model_of_google_works_by_its_own_protocol_and_is_counted_as_any_other(stand: Stand) -> None:
    stand.scenario(work=[SPENDING, EDIT, COMMIT, FINISH])
    stand.run(stand.spec(model="gemini/gemini-3.8-flash", effort="low"))
    assert stand.world.ended().ending is Ending.SUCCEEDED, stand.world.ended()
    assert (stand.world.show("hello.txt"), stand.model.problems) == ("hello", [])
    served = [one for one in stand.model.served if one.tokens is not None]
    assert {one.protocol for one in served} == {"gemini"}
    asked = {stand.effort_of(it.body) for it in stand.model.requests if it.body.get("tools")}
    assert asked == {"low"}
    assert Decimal(str(round(stand.usd(), 6))) == round(sum(map(price, served), Decimal()), 6)
