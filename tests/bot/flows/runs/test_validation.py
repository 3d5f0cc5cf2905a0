"""A repository says how work is checked, or that it is not: what people see of either on GitHub."""

import pytest

from bot.admin.doctor import CheckResult, DoctorContext, repositories
from forge.store.board import Item
from ledger.events.bounds import ValidationWaived
from ledger.events.turn import TurnStarted
from ledger.queue.examinations import Level
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.pulls.test_check_buttons import check_of
from tests.bot.flows.pulls.test_review import review

WORK = [
    {"edit": {"path": "shop/greeting.py", "content": '"""Say hello."""\n'}},
    {"finish": {"done": "It says hello."}},
]
BARE = "version: 1\n"
NONE = "version: 1\nrepository: {validation: none}\n"


def set_rules(cardinal: Cardinal, text: str | None) -> None:
    """Write the shop's own policy file, or take it away."""
    files = {".github/cardinal.yml": None if text is None else text.encode()}
    alice = cardinal.person("alice")
    cardinal.forge.store.repos.write_files(cardinal.repo, "main", files, "Rules", actor=alice)


def worked(cardinal: Cardinal) -> Item:
    cardinal.scenario(work=WORK)
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    return item


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (None, "acme/shop has no .github/cardinal.yml: name your tests"),
        (BARE, "acme/shop's .github/cardinal.yml names no checks: name your tests"),
        ("version: 1\nrepository: {validation: {fast: [], full: []}}\n", "names no checks"),
    ],
)
def test_where_nothing_is_checked_no_agent_starts_and_people_read_what_to_write(
    cardinal: Cardinal, rules: str | None, said: str
) -> None:
    set_rules(cardinal, rules)
    item = worked(cardinal)
    run = cardinal.run_of(item)
    assert (run.ending, run.reason, run.usd) == ("failed", "no_validation", 0.0)
    assert cardinal.events(TurnStarted) == []
    report = cardinal.comment(item, "nothing to check an agent's work with", "Try again").body
    assert said in report
    assert 'repository:\n  validation: {full: ["make test"]}\n' in report
    assert "No agent was started and nothing was spent" in report
    assert said in cardinal.card(item).because
    assert '`repository: {validation: {full: ["make test"]}}`' in cardinal.card(item).because
    assert cardinal.card(item).pull_number is None
    cardinal.assert_nothing_is_stuck()


def test_once_the_file_names_checks_a_retry_works(cardinal: Cardinal) -> None:
    set_rules(cardinal, None)
    item = worked(cardinal)
    set_rules(cardinal, 'version: 1\nrepository: {validation: {full: ["test -f shop/greeting.py"]}}\n')
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up(work=True)
    assert cardinal.run_of(item).ending == "succeeded"
    assert "Nothing was checked" not in (cardinal.pull_of(item).issue.body or "")


def test_in_a_repository_without_a_file_the_boards_checks_count_until_they_change(cardinal: Cardinal) -> None:
    columns = (
        "Tasks: {archetype: inbox}, Done: {archetype: terminal, on_entry: [{action: merge}]},"
        " In Progress: {archetype: execution, agent: scripted, model: test, plan_approval: off}"
    )
    policy = (
        "version: 1\nboard:\n  columns: {%s}\n"
        "  repositories: {without_policy: {validation: {full: [test -f shop/%s]}}}\n"
    )
    set_rules(cardinal, None)
    cardinal.set_policy(policy % (columns, "greeting.py"))
    cardinal.catch_up()
    item = worked(cardinal)
    assert cardinal.run_of(item).ending == "succeeded"
    assert "test -f shop/greeting.py" in check_of(cardinal, item).output["summary"]
    assert finding(cardinal).message == "acme/shop has checks"
    cardinal.set_policy(policy % (columns, "prices.py"))
    cardinal.catch_up()
    review(cardinal, cardinal.pull_of(item), "APPROVE")
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert cardinal.pull_of(item).merged_at is None
    assert "the checks were changed" in cardinal.card(item).because


def test_where_validation_is_none_pull_request_report_and_check_say_so(cardinal: Cardinal) -> None:
    set_rules(cardinal, NONE)
    item = worked(cardinal)
    assert cardinal.run_of(item).ending == "succeeded"
    pull = cardinal.pull_of(item)
    assert [event.head for event in cardinal.events(ValidationWaived)] == [cardinal.run_of(item).pushed_head]
    assert "**Nothing was checked.** The repository's policy says `validation: none`" in (
        pull.issue.body or ""
    )
    assert "**Nothing was checked.**" in cardinal.comment(item, "is ready for your review").body
    check = check_of(cardinal, item)
    assert (check.conclusion, check.output["title"]) == ("neutral", "Nothing was checked: validation is none")


def test_repairs_that_do_not_help_are_a_question_on_the_card(cardinal: Cardinal) -> None:
    checks = "validation: {full: [echo 'FAILED tests/a.py::test_a - KeyError'; exit 1]}"
    set_rules(cardinal, f"version: 1\nrepository:\n  {checks}\n  limits: {{same_failures: 2}}\n")
    cardinal.scenario(work=WORK, repair=[{"run": "echo x >> shop/greeting.py"}])
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    comment = cardinal.comment(item, "cannot make the checks pass")
    assert "failed 2 times in a row in the same way: the repairs do not help" in comment.body
    assert "tests/a.py::test_a" in comment.body
    assert cardinal.card(item).state == "needs_input"
    assert cardinal.card(item).pull_number is None
    cardinal.say(item, "2")
    cardinal.catch_up(work=True)
    assert (cardinal.run_of(item).ending, cardinal.run_of(item).reason) == ("cancelled", "stopped")
    assert "alice stopped it, asked: " in cardinal.comment(item, "Run r1 was cancelled").body
    card = cardinal.card(item)
    assert (card.state, "r1 was cancelled (alice stopped it, asked: " in card.because) == ("blocked", True)
    cardinal.assert_nothing_is_stuck()


@pytest.mark.parametrize(
    ("rules", "level", "said"),
    [
        (None, Level.WARN, "acme/shop has no checks, so no agent starts there"),
        (NONE, Level.WARN, "acme/shop: `validation` is `none`, so agents' work is not checked there"),
        ("version: 2\n", Level.FAIL, "acme/shop: its .github/cardinal.yml is refused"),
        ("version: 1\nrepository: {validation: {fast: [x]}}\n", Level.OK, "acme/shop has checks"),
    ],
)
def test_the_doctor_finds_repositories_that_name_no_checks(
    cardinal: Cardinal, rules: str | None, level: Level, said: str
) -> None:
    set_rules(cardinal, rules)
    cardinal.new()
    cardinal.catch_up()
    result = finding(cardinal)
    assert (result.level, result.message.startswith(said)) == (level, True), result


def finding(cardinal: Cardinal) -> CheckResult:
    """Return what the doctor finds in the shop."""
    services = cardinal.services
    findings = list(
        repositories.checks(DoctorContext(services.config, services.engine, services.hub, cardinal.clock()))
    )
    (result,) = [one for one in findings if "acme/shop" in one.message]
    return result


def test_the_doctor_finds_a_profile_that_fails_every_run(cardinal: Cardinal) -> None:
    cardinal.new()
    cardinal.catch_up()
    set_rules(cardinal, "version: 1\nrepository: {validation: {fast: [x]}, profile: our_shop}\n")
    assert "is refused: line 2: repository.profile: unknown profile `our_shop`" in finding(cardinal).message
    for text, level, said in (
        (
            "---\nskils: [a]\n---\nx\n",
            Level.FAIL,
            "/profiles/our_shop.md: line 2: skils: unknown key `skils`",
        ),
        ("---\nskills: [a]\n---\nx\n", Level.OK, "acme/shop has checks"),
    ):
        files = {".github/cardinal/profiles/our_shop.md": text.encode()}
        alice = cardinal.person("alice")
        cardinal.forge.store.repos.write_files(cardinal.repo, "main", files, "Profile", actor=alice)
        result = finding(cardinal)
        assert (result.level, said in result.message) == (level, True), result
