"""The steps of a card: what is understood of them, and what is said of the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.runs.reproduction import (
    MAX_STEPS,
    STEP_BYTES,
    UNDERSTOOD,
    ReproductionScript,
    ReproductionStep,
    Verb,
    read,
)

APP = "http://127.0.0.1:3000/"
UNDERSTANDS = {
    "open /cart": ("open", "/cart", ""),
    "OPEN http://127.0.0.1:3000/cart?a=1#top": ("open", "/cart?a=1#top", ""),
    'click "Buy"': ("click", "Buy", ""),
    'Click on "Buy now".': ("click", "Buy now", ""),
    'fill "Email" with "a@b"': ("fill", "Email", "a@b"),
    'fill in "Email" with ""': ("fill", "Email", ""),
    "press Enter": ("press", "Enter", ""),
    "press Control+A": ("press", "Control+A", ""),
    'choose "Red" in "Colour"': ("choose", "Red", "Colour"),
    'check "I agree"': ("check", "I agree", ""),
    'uncheck "I agree"': ("uncheck", "I agree", ""),
    'expect "Total 90"': ("expect", "Total 90", ""),
    'expect no "Error"': ("expect_no", "Error", ""),
    "expect address /done": ("expect_address", "/done", ""),
    'wait for "Ready"': ("wait", "Ready", ""),
    "click “Buy”": ("click", "Buy", ""),
    '`expect "Total 90"`': ("expect", "Total 90", ""),
    '[x] click   "Buy"': ("click", "Buy", ""),
}
ELSEWHERE = (
    "http://example.org/cart",
    "//example.org/cart",
    "http://127.0.0.1:3001/",
    "https://127.0.0.1:3000/",
    "http://ann@127.0.0.1:3000/",
    "http://127.0.0.1:3000@example.org/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "http://[::1",
)
NO_STEPS = (
    "",
    "Steps",
    "Steps: look at the cart",
    "The steps:\n1. open /",
    "Steps:\nOpen the cart, then buy.\n\n1. open /",
    "Next steps:\n- open /",
)


def steps(text: str) -> tuple[ReproductionStep, ...]:
    script = read(text, APP)
    assert script is not None
    assert script.problem == ""
    return script.steps


def problem(text: str) -> str:
    script = read(text, APP)
    assert script is not None
    assert script.steps == ()
    return script.problem


@pytest.mark.parametrize("line", UNDERSTANDS)
def test_a_step_is_understood_numbered_or_not_and_in_any_case(line: str) -> None:
    step = steps(f"Steps:\n1. open /\n2. {line}")[1]
    assert (str(step.verb), step.first, step.second) == UNDERSTANDS[line]
    loud = steps(f"## STEPS TO REPRODUCE\n\n* open /\n\n* {line.upper()}")[1]
    assert (loud.verb, loud.first.casefold()) == (step.verb, step.first.casefold())


def test_every_verb_has_an_example_that_people_are_shown_and_is_understood() -> None:
    listed = "\n".join(f"- {one}" for one in UNDERSTOOD)
    assert {step.verb for step in steps(f"Steps:\n{listed}")} == set(Verb)


def test_the_address_is_opened_first_unless_a_step_opens_one() -> None:
    assert steps('**Address:** `/cart`\n**Steps:**\n- click "Buy"')[0].first == "/cart"
    assert steps('Address: http://127.0.0.1:3000/cart?x=1\nSteps:\n- click "Buy"')[0].first == "/cart?x=1"
    assert steps('Address: http://localhost:3000/a\nSteps:\n- click "Buy"')[0].first == "/a"
    assert steps('Steps:\n- click "Buy"')[0] == ReproductionStep(Verb.OPEN, "open /", "/")
    assert [step.first for step in steps("Address: /cart\nSteps:\n- open /done")] == ["/done"]


@pytest.mark.parametrize("address", ELSEWHERE)
def test_no_step_leads_out_of_the_app(address: str) -> None:
    assert "not in the app, which is at" in problem(f'Address: {address}\nSteps:\n- click "Buy"')
    said = problem(f"Steps:\n- open /\n- open {address}")
    assert said.startswith("Line 2 of the card's steps leads elsewhere")
    assert "leads elsewhere" in problem(f"Steps:\n- expect address {address}")


@pytest.mark.parametrize("text", NO_STEPS)
def test_prose_is_no_list_of_steps(text: str) -> None:
    assert read(text, APP) is None


@pytest.mark.parametrize("lines", [(*UNDERSTANDS,)[::4], ("**Open** the cart",), ("Go there", "`click` it")])
def test_a_list_of_which_a_line_begins_with_a_verb_is_steps_also_where_nobody_asked(
    lines: tuple[str, ...],
) -> None:
    text = "Steps:\n" + "".join(f"- {line}\n" for line in lines)
    reproduction_script = read(text, APP, requested=False)
    assert reproduction_script is not None
    assert reproduction_script == read(text, APP)


@pytest.mark.parametrize("line", ["Go to the cart", "Opening it, I expect nothing", "checkout: wait!", ""])
def test_a_list_of_which_no_line_begins_with_a_verb_is_prose_unless_somebody_asked_for_its_steps(
    line: str,
) -> None:
    text = f"Address: http://example.org/\nSteps to reproduce:\n1. {line}\n2. Buy something\n"
    assert read(text, APP, requested=False) is None
    assert read(text, APP) is not None
    many = "Steps:\n" + "- buy\n" * (MAX_STEPS + 1)
    assert read(many, APP, requested=False) is None


def test_a_line_that_is_not_understood_is_named_with_what_would_be() -> None:
    said = problem("Steps to reproduce:\n1. open /cart\n2. Go to the `cart` @ann <b>\n")
    assert said.startswith("Line 2 of the card's steps is not understood: ")
    assert all(f"`{one}`" in said for one in UNDERSTOOD)
    assert "`cart`" not in said  # no code span of ours is ended by one of theirs


def test_the_list_ends_where_other_text_begins() -> None:
    text = "Steps:\n1. open /\n\n2. press Enter\nWhat I see:\n- nothing that could be played"
    assert [step.verb for step in steps(text)] == [Verb.OPEN, Verb.PRESS]


def test_too_many_steps_and_too_long_ones_are_refused() -> None:
    assert len(steps("Steps:\n" + "- open /\n" * MAX_STEPS)) == MAX_STEPS
    assert f"at most {MAX_STEPS} are played" in problem("Steps:\n" + "- open /\n" * (MAX_STEPS + 1))
    long = f'expect "{"ü" * (STEP_BYTES // 2)}"'
    assert f"Line 1 of the card's steps is longer than {STEP_BYTES} bytes" in problem(f"Steps:\n- {long}")


@given(st.text(alphabet=st.sampled_from(list('Steps:\n-1. "clikopenxwath/`*#<@'))), st.text())
def test_any_text_is_read_to_some_end(text: str, more: str) -> None:
    script = read(f"Steps:\n- {text}\n{more}", APP)
    assert script is None or isinstance(script, ReproductionScript)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("line", ["address:{}x y", "steps{}x", "{}steps to reproduce{}:{}**{}x"])
def test_no_line_holds_the_reading_up(line: str) -> None:
    blanks = " " * 60_000
    assert read(f"Steps:\n1. open /cart\n{line.format(*[blanks] * 4)}\n", APP) == read(
        "Steps:\n1. open /cart\n", APP
    )
