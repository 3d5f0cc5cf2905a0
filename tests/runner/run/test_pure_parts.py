"""The small pure parts: redaction, cuts, watchdogs, board calls, scenarios."""

from dataclasses import replace
from pathlib import Path

import pytest

from forge.model import place
from ledger.rows.limit_answers import Subject
from runner.agents.adapters.scripted import PACKAGED, find_scenario, parse_scenario
from runner.agents.board_tools import BadCall, BoardCall, FinishInput, check_call
from runner.agents.scripted.player import prompt_title, scenario_for, slug_of
from runner.errors import ScenarioError
from runner.run.limits import Allowance, ExceededLimit, RunUsage
from runner.run.run_spec import Limits
from runner.text.plain import cut_bytes, one_line, redact, tail

PEM = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE\n-----END RSA " + "PRIVATE KEY-----"


@pytest.mark.parametrize(
    "secret",
    [
        "ghs_" + "a1" * 18, "ghp_" + "Z" * 36, "ghs_" + "a.b-c" * 100, "github_pat_" + "a" * 30,
        "sk-ant-" + "x" * 30, "sk-proj-" + "x" * 30, "AKIA" + "A" * 16, PEM, PEM[:40],
        "eyJhbGciOiJSUzI1NiJ9." + "eyJpc3MiOiIxMjM0NSJ9" + "." + "c2lnbmF0dXJlIQ",
    ],
)  # fmt: skip
def test_what_looks_like_a_secret_is_redacted(secret: str) -> None:
    assert redact(f"before {secret} after").startswith("before [redacted]")
    assert secret not in redact(f"x={secret}\n")


@pytest.mark.parametrize("header", ["Authorization", "AUTHORIZATION", "authorization", "Author\u0131zation"])
def test_a_header_s_secret_is_redacted_however_it_is_written(header: str) -> None:
    assert redact(f"{header}: Bearer abcdef0123456789") == f"{header}: [redacted]"


def test_ordinary_text_stays() -> None:
    text = "ghs_short sk-1 eyJ.a.b desk-lamp risk-assessment-of-everything-we-own.txt AKIA"
    assert redact(text) == text


def test_given_secrets_are_redacted_unless_they_are_tiny() -> None:
    assert redact("hunter22 and a", ["hunter22", "a"]) == "[redacted] and a"


def test_a_cut_keeps_whole_characters() -> None:
    assert cut_bytes("äöü", 6) == "äöü"
    assert cut_bytes("ä" * 20, 21).startswith("äää")
    assert len(cut_bytes("ä" * 20, 21).encode()) <= 21
    assert tail("äöü", 3) == "ü"
    assert one_line("a\n\x1b[31mb\t\u202ec") == "a [31mb c"


SPENT = RunUsage(active_s=1, silent_s=0, usd=0, turns=0, tokens=0, output_bytes=0)


@pytest.mark.parametrize(
    ("spent", "verdict"),
    [
        (SPENT, None),
        (replace(SPENT, output_bytes=51_000_000), ExceededLimit.FLOOD),
        (replace(SPENT, silent_s=300), ExceededLimit.SILENCE),
        (replace(SPENT, usd=2.0), ExceededLimit.BUDGET),
        (replace(SPENT, active_s=1800), ExceededLimit.TIME),
        (replace(SPENT, turns=60), ExceededLimit.TURNS),
        (replace(SPENT, silent_s=300, usd=5), ExceededLimit.SILENCE),
    ],
)
def test_each_watchdog_bites_at_its_limit(spent: RunUsage, verdict: ExceededLimit | None) -> None:
    assert Allowance(Limits()).find_exceeded(spent) is verdict


def test_going_on_gives_as_much_again() -> None:
    twice = Allowance(Limits(), ((Subject.BUDGET, 0), (Subject.TURNS, 60)))
    assert twice.find_exceeded(replace(SPENT, usd=3.9, turns=119)) is None
    assert twice.find_exceeded(replace(SPENT, usd=4.0)) is ExceededLimit.BUDGET
    assert "$4.00" in twice.describe_reached(ExceededLimit.BUDGET, SPENT)
    only = Allowance(Limits(), ((Subject.TURNS, 60),))
    assert only.find_exceeded(replace(SPENT, usd=3.9, turns=119)) is ExceededLimit.BUDGET


def test_tokens_have_no_limit_until_the_policy_sets_one() -> None:
    assert Allowance(Limits()).find_exceeded(replace(SPENT, tokens=10**12)) is None
    assert Allowance(Limits()).remaining_tokens(10**12) is None
    limits = Limits(max_tokens=500)
    assert Allowance(limits).find_exceeded(replace(SPENT, tokens=499)) is None
    assert Allowance(limits).find_exceeded(replace(SPENT, tokens=500)) is ExceededLimit.TOKENS
    assert Allowance(limits, ((Subject.TURNS, 60),)).remaining_tokens(510) == -10
    twice = Allowance(limits, ((Subject.TOKENS, 510),))
    assert (twice.find_exceeded(replace(SPENT, tokens=999)), twice.remaining_tokens(510)) == (None, 490)
    said = twice.describe_reached(ExceededLimit.TOKENS, replace(SPENT, tokens=1_003))
    assert said.startswith("its limit of 1,000 tokens with 1,003: ")


@pytest.mark.parametrize(
    ("used", "allowed"),
    [
        ([510, 1_003], 1_500),  # as much again of the limit
        ([999, 1_100, 1_600], 2_000),
        ([50_000], 100_000),  # 500 more would not pay for one call
        ([50_000, 130_000], 260_000),
    ],
)
def test_as_much_again_of_a_limit_far_below_the_usage_is_as_much_as_was_used(
    used: list[int], allowed: int
) -> None:
    limits = Limits(max_tokens=500, max_turns=500, timeout_s=500)
    tokens, turns, time = (
        Allowance(limits, [(subject, it) for it in used])
        for subject in (Subject.TOKENS, Subject.TURNS, Subject.TIME)
    )
    assert (tokens.most_tokens, turns.most_turns, time.most_s) == (allowed, allowed, allowed)
    assert (tokens.most_turns, turns.most_s, time.most_tokens) == (500, 500, 500)


def test_a_question_says_what_as_much_again_means_where_that_is_not_the_limit() -> None:
    small = Allowance(Limits(max_tokens=500, max_turns=2))
    far = replace(SPENT, tokens=50_000, turns=9)
    assert small.going_on(ExceededLimit.TOKENS, replace(SPENT, tokens=999)) == ""
    assert "continuing allows 100,000 tokens in all" in small.going_on(ExceededLimit.TOKENS, far)
    assert "continuing allows 18 turns in all" in small.going_on(ExceededLimit.TURNS, far)
    assert small.going_on(ExceededLimit.BUDGET, far) == ""


def test_a_question_says_how_many_dollars_pay_for_the_next_call_where_as_much_again_does_not() -> None:
    small, usage = Allowance(Limits(budget_usd=0.05)), replace(SPENT, usd=0.04)
    assert small.going_on(ExceededLimit.BUDGET, usage, 0.06) == ""
    assert "`/cardinal budget +0.52` does" in small.going_on(ExceededLimit.BUDGET, usage, 0.521)
    shared = replace(small, ceiling_usd=0.04, rule="usd_per_card", rule_usd=9)
    assert shared.going_on(ExceededLimit.BUDGET, usage, 0.521) == ""


def test_the_dollars_that_a_question_names_are_enough_for_an_agent_whose_next_call_has_no_price() -> None:
    usage = replace(SPENT, usd=5.0)
    assert "`/cardinal budget +4.01` does" in Allowance(Limits(budget_usd=1)).going_on(
        ExceededLimit.BUDGET, usage
    )
    assert Allowance(Limits(budget_usd=1), added_usd=4.01).find_exceeded(usage) is None


def test_a_limit_of_nothing_is_no_limit() -> None:
    free = Limits(timeout_s=0, silence_s=0, max_turns=0, budget_usd=0)
    assert (
        Allowance(free).find_exceeded(replace(SPENT, usd=99, turns=9999, active_s=1e6, silent_s=1e6)) is None
    )


def test_a_board_call_is_checked() -> None:
    call = check_call("1", "finish", {"done": "x" * 9000, "invented": 1})
    assert isinstance(call, BoardCall)
    assert isinstance(call.input, FinishInput)
    assert len(call.input.done.encode()) <= 8000
    for tool, given in [
        ("plan", {}),
        ("plan", {"summary": "s", "steps": []}),
        ("ask", None),
        ("tick", {"done": -1}),
    ]:
        bad = check_call("1", tool, given)
        assert isinstance(bad, BadCall), given
        assert bad.problem
    assert "there is no tool 'rm'" in getattr(check_call("1", "rm", {}), "problem", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("work: [{jump: 1}]", "work.0.jump"),
        ("works: []", "works"),
        ("work: [{say: a, note: b}]", "exactly one of"),
        ("work: [{edit: {path: a}}]", "either content, or find"),
        ("chat: [{say: a, when: '('}]", "regular expression"),
        ("work: [", "not YAML"),
        ("- 1", "valid dictionary"),
        ("!!python/object/apply:os.system [id]", "not YAML"),
        ("a" * 300_000, "larger than"),
    ],
)
def test_a_wrong_scenario_says_where(text: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        parse_scenario("x", text.encode())


def test_every_packaged_scenario_is_right_and_a_folder_comes_first(tmp_path: Path) -> None:
    for path in PACKAGED.glob("*.yml"):
        assert find_scenario(tmp_path, path.stem)
    (tmp_path / "hello.yml").write_text("work: [{say: mine}, crash]")
    assert find_scenario(tmp_path, "hello") == {"work": [{"say": "mine"}, {"crash": True}]}


def test_a_card_gets_the_scenario_that_its_title_names(tmp_path: Path) -> None:
    (tmp_path / "board.yml").write_text("cards: [{title: '^Login', scenario: login}]\nwork: [{say: any}]")
    (tmp_path / "login.yml").write_text("work: [{say: login}]")
    found = dict(find_scenario(tmp_path, "board"))
    assert scenario_for(found, "Login with a key") == {"work": [{"say": "login"}]}
    assert scenario_for(found, "No login") == found
    (tmp_path / "login.yml").unlink()
    with pytest.raises(ScenarioError, match="login"):
        find_scenario(tmp_path, "board")


@pytest.mark.parametrize(
    ("prompt", "title", "slug"),
    [
        ("# Add a key\n\n## Description\n# Not this", "Add a key", "add-a-key"),
        ("You plan.\n\n# The card: $(rm -rf ~) ../../x; `y`", "$(rm -rf ~) ../../x; `y`", "rm-rf-x-y"),
        ("# The card\n\n## Title, by eve\n<untrusted-0f>\nAdd it\n</untrusted-0f>", "Add it", "add-it"),
        ("no heading", "", "card"),
        ("# \u65e5\u672c", "\u65e5\u672c", "card"),
    ],
)
def test_a_title_names_a_file_that_is_safe_in_a_path_and_in_a_shell(
    prompt: str, title: str, slug: str
) -> None:
    assert prompt_title(prompt) == place.title_of(prompt) == title
    assert slug_of(title) == slug
