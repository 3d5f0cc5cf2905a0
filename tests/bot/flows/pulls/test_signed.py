"""A ruleset that wants verified commits: what Cardinal signs passes, and else the card says what to set."""

from pathlib import Path

import pytest

from ledger.events.branch import CommitsSigned
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.pulls.test_check_buttons import check_of
from tests.bot.flows.pulls.test_review import review
from tests.bot.flows.runs.test_validation import set_rules, worked
from tests.runner.git.test_signing import OWNER, new_key

BRANCH = "cardinal/5-add-them-up"
RULES = "version: 1\nrepository: {commits: {sign: %s}, validation: {full: ['true']}}\n"


def want_signatures(cardinal: Cardinal, key: Path) -> None:
    repos = cardinal.forge.store.repos
    repos.add_signing_key(OWNER.email, key.with_suffix(".pub").read_text())
    repos.set_rules(cardinal.repo, "cardinal/*", {"type": "required_signatures"})


def test_what_cardinal_signs_is_verified_and_delivered(cardinal: Cardinal, tmp_path: Path) -> None:
    key = new_key(tmp_path, "-t", "ed25519").path
    set_rules(cardinal, RULES % "ssh")
    want_signatures(cardinal, key)
    cardinal.configure(signing_key=key, signing_as=f"{OWNER.name} <{OWNER.email}>")
    item = worked(cardinal)
    assert cardinal.run_of(item).ending == "succeeded"
    head = cardinal.pull_of(item).head_sha
    commit = cardinal.forge.store.repos.git(cardinal.repo).commit(head)
    assert (commit.verification, commit.committer.email) == ("valid", OWNER.email)
    assert (commit.author.name, commit.author.email) == (cardinal.bot.login, cardinal.bot.email)
    cardinal.assert_nothing_is_stuck()


def test_unsigned_commits_are_the_apps_own_and_no_strangers(cardinal: Cardinal) -> None:
    set_rules(cardinal, RULES % "none")
    item = worked(cardinal)
    commit = cardinal.forge.store.repos.git(cardinal.repo).commit(cardinal.pull_of(item).head_sha)
    assert [commit.author.email, commit.committer.email] == [cardinal.bot.email] * 2


def test_what_github_makes_anew_is_verified_has_the_judged_files_and_keeps_its_evidence(
    cardinal: Cardinal,
) -> None:
    set_rules(cardinal, RULES % "github")
    cardinal.forge.store.repos.set_rules(cardinal.repo, "cardinal/*", {"type": "required_signatures"})
    item = worked(cardinal)
    assert cardinal.run_of(item).ending == "succeeded"
    pull, git = cardinal.pull_of(item), cardinal.forge.store.repos.git(cardinal.repo)
    (event,) = cardinal.events(CommitsSigned)
    commit = git.commit(pull.head_sha)
    assert (event.signed, event.tree) == (commit.sha, commit.tree)
    assert event.head != event.signed
    assert (commit.verification, commit.author.email) == ("valid", cardinal.bot.email)
    assert git.attempt("for-each-ref", "refs/cardinal") == ""
    assert cardinal.card(item).pull_head == commit.sha
    check = check_of(cardinal, item)
    assert (check.conclusion, "`true`" in str(check.output)) == ("success", True)
    assert f"GitHub made `{event.signed[:12]}` of it, signed" in str(check.output)
    cardinal.assert_nothing_is_stuck()


@pytest.mark.soak(
    instead="tests/bot/flows/pulls/test_signed.py"
    "::test_what_github_makes_anew_is_verified_has_the_judged_files_and_keeps_its_evidence"
)
def test_the_next_run_rebases_what_github_made_and_all_of_it_is_made_anew(cardinal: Cardinal) -> None:
    set_rules(cardinal, RULES % "github")
    repos = cardinal.forge.store.repos
    repos.set_rules(cardinal.repo, "cardinal/*", {"type": "required_signatures"})
    item = worked(cardinal)
    pull = cardinal.pull_of(item)
    cardinal.drag(item, "Review")
    cardinal.catch_up()
    moved: dict[str, bytes | None] = {"moved.txt": b"On\n"}
    repos.write_files(cardinal.repo, "main", moved, "Moved on", actor=cardinal.person("alice"))
    review(cardinal, pull, "REQUEST_CHANGES")
    cardinal.catch_up()
    edit = {"edit": {"path": "shop/more.py", "content": '"""More."""\n'}}
    cardinal.scenario(revise=[edit, {"finish": {"done": "More."}}])
    cardinal.drag(item, "In Progress")
    cardinal.catch_up(work=True)
    assert cardinal.run_of(item).ending == "succeeded"
    commits = repos.git(cardinal.repo).log(f"main..{pull.head_sha}")
    assert [(one.verification, one.author.email) for one in commits] == [("valid", cardinal.bot.email)] * 2


def test_a_push_refused_for_its_signature_says_what_to_set(cardinal: Cardinal) -> None:
    set_rules(cardinal, RULES % "none")
    repos = cardinal.forge.store.repos
    repos.want_signatures(cardinal.repo, BRANCH)  # by branch protection, which the App may not read
    item = worked(cardinal)
    assert (cardinal.run_of(item).ending, cardinal.run_of(item).branch) == ("failed", BRANCH)
    assert "was not pushed" in cardinal.card(item).because
    assert "`repository: {commits: {sign: github}}`" in cardinal.card(item).because
