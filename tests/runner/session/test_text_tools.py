"""Board calls in plain text: what is meant, what is only shown, and what is broken."""

import time

import pytest

from runner.session.listener import TextCall, calls_in

PLAN = '```board\n{"tool": "plan", "input": {"summary": "s", "steps": ["a"]}}\n```'
MEANT = TextCall("plan", {"summary": "s", "steps": ["a"]})


def test_a_block_is_a_call_and_several_are_several_in_their_order() -> None:
    text = f'First the plan.\n\n{PLAN}\n\nThen:\r\n```board\r\n{{"tool": "show_card"}}\r\n```\nThat\'s it.'
    assert calls_in(text) == (MEANT, TextCall("show_card", {}))


def test_text_without_a_block_means_nothing() -> None:
    assert calls_in("") == ()
    assert (
        calls_in('I would call {"tool": "finish"} or `board`, or not.\n```json\n{"tool": "plan"}\n```') == ()
    )


@pytest.mark.parametrize("fence", ["~~~board\n{}\n~~~", "````board\n{}\n````", "  ``` board \n{}\n  ```  "])
def test_a_fence_may_be_written_in_the_ways_of_markdown(fence: str) -> None:
    assert calls_in(fence.format('{"tool": "show_card"}')) == (TextCall("show_card", {}),)


@pytest.mark.parametrize(
    "shown",
    [
        f"````markdown\n{PLAN}\n````",
        f"~~~\n{PLAN}\n~~~",
        f"````\n```\n{PLAN}\n````",
        f"~~~\n```\n{PLAN}\n~~~",
        "```\n" + PLAN.replace("```board", "```board x") + "\n",
        "> " + PLAN.replace("\n", "\n> "),
        "    " + PLAN.replace("\n", "\n    "),
        PLAN.removesuffix("```"),
        PLAN.replace("```board", "```boards"),
        PLAN.replace("```board", "```Board"),
        "text " + PLAN,
    ],
)
def test_what_is_only_shown_is_not_obeyed(shown: str) -> None:
    assert calls_in(shown) == ()


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("", "no JSON"),
        ("plan: x", "no JSON"),
        ('{"tool": "plan"', "no JSON"),
        ('{"tool": "plan", "tool": "finish"}', "twice"),
        ('{"tool": "tick", "input": {"done": 1, "done": 2}}', "twice"),
        ('{"tool": "tick", "input": {"done": NaN}}', "no number"),
        ('{"tool": "tick", "input": {"done": ' + "9" * 5000 + "}}", "no JSON"),
        ('{"tool": "plan"}\n{"tool": "finish"}', "no JSON"),
        ('[{"tool": "plan"}]', "must be"),
        ('{"tool": ""}', "must be"),
        ('{"tool": 1}', "must be"),
        ("null", "must be"),
        ('{"tool": "plan", "summary": "s"}', "besides `tool` and `input` there is summary"),
        ("[" * 30_000, "nested too deeply"),
        ('{"tool": "' + "x" * 50_000 + '"}', "longer than"),
    ],
)
def test_a_broken_block_is_one_problem_and_no_call(body: str, problem: str) -> None:
    (call,) = calls_in(f"```board\n{body}\n```")
    assert problem in call.problem
    assert call.input is None
    assert len(call.problem) < 400


def test_however_much_is_said_the_answer_is_small_and_soon() -> None:
    began = time.monotonic()
    assert len(calls_in(f"{PLAN}\n" * 100_000)) == 20
    assert calls_in("x\n" * 300_000 + PLAN) == ()
    assert calls_in("`" * 5_000_000) == ()
    assert calls_in("```board\n" * 500_000) == ()
    assert calls_in(" " * 3_000_000 + "```board") == ()
    assert calls_in("```board" + " " * 3_000_000 + "\n{}") == ()
    assert time.monotonic() - began < 60
