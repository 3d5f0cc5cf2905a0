"""What git answers in a checkout: tags, a remote's name and a whole history, as in a clone from GitHub."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from ledger.ids import CardId
from ledger.states import Ending
from runner import workspaces
from runner.git.checkout import Checkout
from runner.git.mirror import MAX_TAGS, Heads, Mirror
from runner.supervisor import execute_run
from runner.workspaces.contract import Tenancy
from tests.runner.world import BRANCH, COMMITTER, REPOSITORY, FileRemote, World, checks, git

ADDRESS = "https://github.example/acme/shop.git"
FINISH = {"finish": {"done": "Done."}}
PLAN = {"plan": {"summary": "x", "steps": ["a"]}}
# What version tools, Makefiles and linters of changes ask, each with the answer on one commit of a branch.
ASKED = {
    "git describe --tags | cut -d- -f1,2": "v1.0-{ahead}",
    "git describe --dirty --tags --long --match '*[0-9]*' | cut -d- -f1,2,4": "v1.0-{ahead}",
    "git describe --tags --exact-match HEAD~{ahead}": "v1.0",
    "git describe --always --dirty --exclude '*' | grep -c dirty": "0",
    "git tag --list | tr '\\n' ' '": "light v1.0",
    "git cat-file -t v1.0": "tag",
    "git rev-list --count HEAD": "{count}",
    "git rev-parse --is-shallow-repository": "false",
    "git log --format=%s origin/main..HEAD": "{subject}",
    "git diff --name-only origin/main...": "{changed}",
    "test \"$(git merge-base origin/main HEAD)\" = \"$(git rev-parse origin/main)\" && echo same": "same",
    "git rev-parse --abbrev-ref origin/HEAD": "origin/main",
    "git branch --show-current": BRANCH,
    "git remote": "origin",
    "git remote get-url origin": ADDRESS,
    "git config --get remote.origin.url": ADDRESS,
    "git status --porcelain": "",
    "git fetch origin 2>&1 | grep -c 'unable to access .*github.example'": "1",
}  # fmt: skip
ON_THE_BASE = {"ahead": "1", "count": "2", "subject": "", "changed": ""}
ON_THE_WORK = {"ahead": "2", "count": "3", "subject": "Add a", "changed": "a.txt"}


@dataclass(frozen=True, slots=True)
class WebRemote(FileRemote):
    """The same folder, under an address of the web."""

    folder: str = ""

    def git_environment(self) -> Mapping[str, str]:
        key = f"url.{self.folder}.insteadOf"
        return {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": key, "GIT_CONFIG_VALUE_0": self.url}


def remote_of(world: World) -> WebRemote:
    return WebRemote(ADDRESS, str(world.origin))


def asking(facts: Mapping[str, str]) -> str:
    """Return a shell line that fails at the first other answer, and says it."""
    rows = []
    for command, answer in ASKED.items():
        command, answer = command.replace("{ahead}", facts["ahead"]), answer.format(**facts)
        said = f"said=$({command}); said=${{said% }}"
        rows.append(
            f'{said}; [ "$said" = "{answer}" ] || {{ echo "{command.split("|")[0]}: $said"; exit 1; }}'
        )
    return "\n".join(row.replace("--exact-match", "--exact-match 2>&1") for row in rows)


@pytest.fixture
def tagged(world: World) -> World:
    """Return a world whose main is one commit after v1.0."""
    git(world.origin, "tag", "light", "refs/heads/main")
    as_a_person = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    git(world.origin, *as_a_person, "tag", "-a", "-m", "The first", "v1.0", "refs/heads/main")
    world.commit({"later.txt": "later\n"})
    return world


def test_git_answers_the_same_to_set_up_to_the_agent_and_in_the_gate_as_in_a_clone(tagged: World) -> None:
    on_the_work = asking(ON_THE_WORK)
    work = [{"edit": {"path": "a.txt", "content": "a\n"}}, {"commit": "Add a"}, {"run": on_the_work}, FINISH]
    tagged.scenario(plan=[PLAN], work=work)
    either = f"if [ -e a.txt ]; then {on_the_work}\nelse {asking(ON_THE_BASE)}\nfi"
    validation = checks(setup=(either,), fast=(on_the_work,), full=(on_the_work,))
    spec, log = tagged.claim(tagged.spec(validation=validation))
    execute_run(spec, log, remote_of(tagged), tagged.clock)
    failed = [(each.tier, each.tail) for each in tagged.of("CommandChecked") if each.exit_code != 0]
    assert (tagged.ended().ending, failed) == (Ending.SUCCEEDED, []), tagged.ended()
    assert {each.tier for each in tagged.of("CommandChecked")} == {"fast", "full"}


@pytest.fixture
def mirror(tagged: World) -> Mirror:
    new_mirror = Mirror(tagged.places.mirrors, REPOSITORY, remote_of(tagged), lambda: None)
    new_mirror.fetch("main")
    return new_mirror


@pytest.fixture
def checkout(tagged: World, mirror: Mirror) -> Checkout:
    workspace = workspaces.load("local").open(tagged.places, Tenancy(CardId("x")))
    new_checkout = Checkout(workspace, mirror, COMMITTER, lambda: None)
    new_checkout.clone(BRANCH, "main", Heads("", mirror.head("main")))
    return new_checkout


def tags(repository: Path) -> set[str]:
    return set(git(repository, "tag", "--list").split())


def test_a_fetch_follows_moved_tags_and_forgets_removed_ones(tagged: World, mirror: Mirror) -> None:
    assert tags(mirror.path) == {"light", "v1.0"}
    git(tagged.origin, "tag", "-d", "v1.0")
    git(tagged.origin, "tag", "-f", "light", "refs/heads/main")
    mirror.fetch("main")
    assert tags(mirror.path) == {"light"}
    assert git(mirror.path, "rev-parse", "light") == mirror.head("main")


def test_tags_that_an_agent_makes_stay_in_its_checkout(tagged: World) -> None:
    tagging = "git tag mine && git tag -f v1.0 HEAD && git tag -d light"
    work = [{"edit": {"path": "a.txt", "content": "a\n"}}, {"commit": "Add a"}, {"run": tagging}, FINISH]
    tagged.scenario(plan=[PLAN], work=work)
    before = git(tagged.origin, "for-each-ref", "refs/tags")
    tells = 'test "$(git tag -l | tr "\\n" " ")" = "light v1.0 " && git describe --tags | grep "^v1.0-2-"'
    tagged.run(tagged.spec(validation=checks(fast=("git tag -l mine | grep mine",), full=(tells,))))
    assert tagged.ended().ending is Ending.SUCCEEDED, tagged.ended()
    assert git(tagged.origin, "for-each-ref", "refs/tags") == before
    (mirror,) = tagged.places.mirrors.glob("*.git")
    assert git(mirror, "for-each-ref", "refs/tags") == before


def test_the_next_fetch_brings_githubs_tags_in_place_of_the_agents(
    tagged: World, mirror: Mirror, checkout: Checkout
) -> None:
    repo = tagged.places.workspaces / "x" / "repo"
    git(repo, "tag", "v2")
    git(repo, "tag", "-d", "light")
    git(tagged.origin, "tag", "v2/first", "refs/heads/main")  # no repository has both
    checkout.fetch(BRANCH, "main", mirror.fetch_heads(BRANCH, "main"))
    assert tags(repo) == {"light", "v1.0", "v2/first"}
    assert git(repo, "rev-parse", "origin/main") == mirror.head("main")
    assert git(repo, "remote", "get-url", "origin") == ADDRESS


@pytest.mark.parametrize("names", [("main", BRANCH, "origin/main", "HEAD", "fine"), ("origin", "fine")])
def test_a_tag_is_never_taken_for_a_branch(tagged: World, mirror: Mirror, names: tuple[str, ...]) -> None:
    for name in names:
        git(tagged.origin, "update-ref", f"refs/tags/{name}", "refs/tags/light")
    mirror.fetch("main")
    workspace = workspaces.load("local").open(tagged.places, Tenancy(CardId("x")))
    mirror.remember("r1-head", mirror.head("main"))
    Checkout(workspace, mirror, COMMITTER, lambda: None).clone_from("refs/cardinal/r1-head", BRANCH, "main")
    repo = tagged.places.workspaces / "x" / "repo"
    assert tags(repo) == {"fine", "light", "v1.0"}
    assert git(repo, "rev-parse", "origin/main", "origin", "HEAD").split() == [mirror.head("main")] * 3


def test_a_checkout_has_no_tags_of_a_repository_with_too_many(tagged: World, mirror: Mirror) -> None:
    count = MAX_TAGS - 1  # beside the other two
    rows = "".join(f"{mirror.head('main')} refs/tags/n{number:05}\n" for number in range(count))
    (mirror.path / "packed-refs").write_text(f"# pack-refs with: sorted \n{rows}")
    workspace = workspaces.load("local").open(tagged.places, Tenancy(CardId("x")))
    Checkout(workspace, mirror, COMMITTER, lambda: None).clone(BRANCH, "main", Heads("", mirror.head("main")))
    assert tags(tagged.places.workspaces / "x" / "repo") == set()
    assert mirror.explain_missing() == "The repository has more than 10,000 tags: checkouts have none."


def test_an_unsound_tag_keeps_no_branch_out(tagged: World, mirror: Mirror) -> None:
    later = tagged.commit({"more.txt": "more\n"})
    text = f"object {later}\ntype commit\ntag bad\ntagger Ann <ann@example.org\n\nx\n"
    args = ("git", "hash-object", "-t", "tag", "-w", "--stdin", "--literally")
    made = subprocess.run(args, cwd=tagged.origin, input=text, capture_output=True, text=True, check=True)
    (tagged.origin / "refs" / "tags" / "bad").write_text(made.stdout)
    assert mirror.fetch("main") == later
    assert tags(mirror.path) == {"light", "v1.0"}
    assert "badEmail" in mirror.explain_missing()
    git(tagged.origin, "update-ref", "-d", "refs/tags/bad")
    mirror.fetch("main")
    assert mirror.explain_missing() == ""


@pytest.mark.parametrize(
    "url", ["/srv/shop.git", "https://me:secret@github.example/a/b", 'https://x/"\n[core]', "ssh://x/a/b"]
)
def test_only_an_address_of_the_web_without_a_credential_is_told(world: World, url: str) -> None:
    assert Mirror(world.places.mirrors, REPOSITORY, FileRemote(url), lambda: None).web_address == ""
