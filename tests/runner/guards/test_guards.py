"""What an agent can try to get past the guards: nothing that is denied reaches GitHub."""

import subprocess
from typing import Any

import pytest

from ledger.events.run import RunParked
from ledger.states import Ending
from runner.git.mirror import Mirror
from runner.guards.diff import Known, change_of
from runner.guards.report import list_violations
from runner.phases.guard import violations
from runner.run.run_spec import Guards
from tests.runner.flows.test_story import FINISH, PLAN
from tests.runner.world import BRANCH, COMMITTER, GIT_ENVIRONMENT, REPOSITORY, World, checks, git, packed

KEY = "gh" + "p_" + "a1B2" * 9  # in two parts: no scanner is to find it here
HELLO = {"edit": {"path": "hello.txt", "content": "Hello\n"}}
COMMIT = {"commit": "Say hello"}
INFRA = ("infra/**",)
OWN = f"{COMMITTER.name} <{COMMITTER.email}>"


def rules(guard: str, action: str = "deny", **more: Any) -> Guards:
    return Guards({guard: action}, **more)


def nothing_left(world: World) -> bool:
    return BRANCH not in git(world.origin, "branch", "--format=%(refname:short)")


def run(line: str) -> dict[str, str]:
    return {"run": line}


TRIES: tuple[tuple[str, Guards, str, str], ...] = (
    ("renamed away", rules("protected", protect=INFRA), "git mv infra/main.tf main.tf", "infra/main.tf"),
    ("renamed into", rules("protected", protect=INFRA), "git mv README.md infra/R.md", "infra/R.md"),
    ("deleted", rules("protected", protect=INFRA), "git rm -q infra/main.tf", "infra/main.tf"),
    ("by case", rules("protected", protect=INFRA), "mkdir INFRA; echo a > INFRA/a", "INFRA/a"),
    ("look-alike", rules("protected", protect=INFRA), "mkdir іnfra; echo a > іnfra/a", "іnfra/a"),
    ("full width", rules("protected", protect=INFRA), "mkdir ｉｎfra; echo a > ｉｎfra/a", "fra/a"),
    ("joiner", rules("protected", protect=INFRA), "mkdir in\u200dfra; echo a > in\u200dfra/a", "in fra/a"),
    ("put back", rules("protected", protect=INFRA),
     "echo a >> infra/main.tf; git commit -qam a; git revert --no-edit HEAD >/dev/null", "infra/main.tf"),
    ("folder replaced", rules("protected", protect=INFRA), "git rm -rq infra; ln -s docs infra", "infra"),
    ("absolute link", rules("symlinks"), "ln -s /etc/passwd a", "absolute"),
    ("link out", rules("symlinks"), "mkdir x; ln -s ../../y x/a", "out of the repository"),
    ("link to protected", rules("symlinks", protect=INFRA), "ln -s infra/main.tf a", "protected"),
    ("link for a file", rules("symlinks"), "rm README.md; ln -s docs/a README.md", "in the place of a file"),
    ("submodule", rules("submodules"),
     "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),lib; git commit -qm a", "lib"),
    ("gitmodules", rules("submodules"), "echo '[submodule \"x\"]' > .gitmodules", ".gitmodules"),
    ("lock file", rules("dependencies"), "echo '{}' > package-lock.json", "package-lock.json"),
    ("executable", rules("modes"), "echo a > a.sh; chmod +x a.sh", "a.sh"),
    ("index only", rules("modes"), "git update-index --chmod=+x README.md; git commit -qm a", "README.md"),
    ("binary", rules("binaries"), "printf 'a\\000b' > a.bin", "a.bin"),
    ("large", rules("large_files", max_file_kb=10), "head -c 20000 /dev/zero | tr '\\0' a > a.txt", "20 KB"),
    ("large, taken back", rules("large_files", max_file_kb=10),
     "head -c 20000 /dev/zero > a.bin; git add .; git commit -qm a; git rm -q a.bin", "a.bin"),
    ("secret", rules("secrets"), f"echo 'k = {KEY}' >> README.md", "README.md':2"),
    ("secret, taken back", rules("secrets"),
     f"echo 'k = {KEY}' > a.py; git add .; git commit -qm a; git rm -q a.py", "a.py':1 in commit"),
    ("secret, wide letters", rules("secrets"),
     f"python3 -c \"open('a','wb').write('{KEY}'.encode('utf-16'))\"", "a"),
    ("secret as a file's name", rules("secrets"), f"echo a > {KEY}", "name of a file"),
    ("secret as a folder's name", rules("secrets"), f"mkdir {KEY}; echo a > {KEY}/a", "name of a file"),
    ("secret in a message, wide letters", rules("secrets"),
     f"git commit -q --allow-empty -m {KEY[:9]}\u200b{KEY[9:]}", "commit message"),
    ("secret in a message", rules("secrets"), f"git commit -q --allow-empty -m {KEY}", "commit message"),
    ("secret by a merge", rules("secrets"),
     f"git checkout -qb side; echo {KEY} > a; git add .; git commit -qm a; git rm -q a; git commit -qm b;"
     " git checkout -q -; echo x > c; git add .; git commit -qm c; git merge -q --no-edit side", "a"),
    ("secret of a stranger", rules("secrets"),
     f"git checkout -q --orphan other; echo {KEY} > a; git add -A; git commit -qm a; git rm -q a;"
     f" git commit -qm b; git checkout -q work; git merge -q --no-edit --allow-unrelated-histories"
     " -X ours other", "a"),
    ("attributes", rules("secrets"), f"echo '* binary' > .gitattributes; echo {KEY} > a", "a"),
    # No commit of its own touches the file: a merge says that the older side is the right one.
    ("merge that takes back", rules("protected", protect=INFRA),
     "git checkout -q -B work HEAD~1; echo c > c; git add .; git commit -qm c;"
     " git merge -q -s ours --no-edit origin/main", "infra/main.tf"),
    ("noise", rules("generated"), "mkdir node_modules; echo a > node_modules/b.js", "node_modules/b.js"),
    ("machine", rules("machines"), "mkdir -p web/.VSCode; echo a > web/.VSCode/tasks.json", "tasks.json"),
    ("machine, taken back", rules("machines"),
     "echo a > .mcp.json; git add .; git commit -qm a; git rm -q .mcp.json", ".mcp.json"),
    ("outside", rules("outside", allow=("hello.txt",)), "echo a > other.txt", "other.txt"),
    ("many files", rules("protected", protect=("zz/**",)),
     "mkdir q zz; (cd q; python3 -c \"for n in range(4500): open('a'*240 + str(n), 'w').write('x')\");"
     " echo a > zz/last", "zz/last"),
)  # fmt: skip


def brought_out(world: World, line: str) -> tuple[Mirror, str, str]:
    """Return the mirror with what commands made of a clone, as a pack brings it, the base and the head."""
    clone = world.root / "clone"
    git(world.root, "clone", "--quiet", str(world.origin), str(clone))
    git(clone, "checkout", "--quiet", "-b", "work")
    env = GIT_ENVIRONMENT | {"LC_ALL": "C.UTF-8"}
    subprocess.run(("sh", "-c", line), cwd=clone, env=env, check=True, timeout=120)
    git(clone, "add", "--all")
    subprocess.run(("git", "commit", "-qm", "Work"), cwd=clone, env=env, check=False, timeout=120)
    pack, head = packed(clone, world.root / "b.pack", "HEAD"), git(clone, "rev-parse", "HEAD")
    world.places.mirrors.mkdir(exist_ok=True)
    mirror = Mirror(world.places.mirrors, REPOSITORY, world.remote, lambda: None)
    base = mirror.fetch("main")
    mirror.take_pack(pack, head, "r1-head")
    return mirror, base, head


def test_all_files_are_read_at_once_but_for_one_with_a_line_that_is_too_long(world: World) -> None:
    world.commit({"gone": "1\n2\n", "changed": "1\n2\n3", "mode": "x\n", "docs/a": "a\n"})
    line = (
        "rm gone; chmod +x mode; printf '1\\n+ 2\\n-- a\\n' > changed;"
        " head -c 2000000 /dev/zero | tr '\\0' x > long; rm -r docs;"
        " printf '@@ -1 +1 @@\\n' > docs; echo 4 > 'quoted \"'; ln -s long link"
    )
    mirror, base, head = brought_out(world, line)
    change = change_of(mirror, base, head, Known((base,), "", ()))
    read = {touched.path: (touched.lines, touched.gone) for touched in change.touched if not touched.unread}
    assert read == {
        "gone": ((), ("1", "2")),
        "changed": (((2, "+ 2"), (3, "-- a")), ("2", "3")),
        "mode": ((), ()),
        "docs": (((1, "@@ -1 +1 @@"),), ()),
        "docs/a": ((), ("a",)),
        'quoted "': (((1, "4"),), ()),
        "link": ((), ()),
    }
    assert [touched.path for touched in change.touched if touched.unread] == ["long"]
    assert sorted(mirror.list_entries(head)) == sorted(mirror.query("ls-tree", "-r", head).splitlines())


@pytest.mark.parametrize(("guard", "line", "said"), [pytest.param(*one[1:], id=one[0]) for one in TRIES])
def test_no_way_around_a_guard_is_overlooked(world: World, guard: Guards, line: str, said: str) -> None:
    world.commit({"infra/main.tf": "x\n", "docs/a": "a\n"})
    mirror, base, head = brought_out(world, line)
    found_violations = violations(change_of(mirror, base, head, Known((base,), "", ())), guard)
    assert found_violations
    assert {violation.action for violation in found_violations} == {"deny"}
    assert said in list_violations(found_violations, shown=50)
    assert KEY not in repr(found_violations)


@pytest.mark.parametrize("name", ["renamed away", "secret, taken back", "submodule", "link for a file"])
def test_what_is_denied_is_given_back_once_and_never_leaves(world: World, name: str) -> None:
    guard, line, said = next(one[1:] for one in TRIES if one[0] == name)
    world.commit({"infra/main.tf": "x\n"})
    world.scenario(plan=[PLAN], work=[HELLO, run(line), COMMIT, FINISH], repair=[{"say": "I will not"}])
    world.run(world.spec(guards=guard))
    ended = world.ended()
    assert (ended.ending, ended.reason) == (Ending.FAILED, "guardrail"), ended
    assert said in ended.detail
    assert "(rule '" in ended.detail
    assert "rewrite the commits" in ended.detail
    assert [turn.turn for turn in world.of("TurnStarted")][-1] == "repair-guard-1"
    assert nothing_left(world)
    assert not any(KEY in repr(event) for event in world.of("GuardsJudged") + world.of("RunEnded"))


def test_an_agent_that_writes_its_commits_anew_is_published_without_the_secret(world: World) -> None:
    hide = f"echo {KEY} > a; git add .; git commit -qm a; git rm -q a; git commit -qm b"
    undo = "git reset -q --soft origin/main; git commit -qm 'Say hello'"
    world.scenario(plan=[PLAN], work=[HELLO, run(hide), COMMIT, FINISH], repair=[run(undo)])
    world.run(world.spec(guards=rules("secrets"), validation=checks(full=["true"])))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.show("hello.txt") == "Hello"
    assert git(world.origin, "log", "-p", BRANCH, "--format=").count(KEY) == 0
    first, second = world.of("GuardsJudged")
    assert [one.action for one in first.findings] == ["deny"]
    assert second.findings == ()
    assert len(world.of("ValidationEnded")) == 1  # what is refused costs no checks


def test_another_finding_is_given_back_too_but_not_without_end(world: World) -> None:
    work = [HELLO, run("echo a > a.min.js"), COMMIT, FINISH]
    undo = "git reset -q --soft origin/main; git rm -qf '*.min.js'; echo a > b$(date +%N).min.js"
    world.scenario(plan=[PLAN], work=work, repair=[run(undo), COMMIT])
    spec = world.spec(guards=rules("generated"))
    parked = world.run(spec)
    assert isinstance(parked, RunParked)
    assert parked.why == "limit"
    turns = [turn.turn for turn in world.of("TurnStarted") if turn.turn.startswith("repair-guard")]
    assert turns == ["repair-guard-1", "repair-guard-2"]  # as many as the specification allows
    asked = world.only("QuestionAsked").text
    assert ".min.js' looks made by a tool" in asked
    assert "The attempts to get it right are used up. Let the agent continue" in asked
    assert nothing_left(world)
    mends = [run("git reset -q --soft origin/main; git rm -qf '*.min.js'"), COMMIT]
    world.scenario(plan=[PLAN], work=work, repair=mends)
    world.answer(spec, "1")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()


def test_what_python_and_desktops_leave_lying_is_not_committed(world: World) -> None:
    noise = run("mkdir __pycache__; echo a > __pycache__/a.pyc; echo a > .DS_Store")
    world.scenario(plan=[PLAN], work=[HELLO, noise, FINISH])
    world.run(world.spec(guards=rules("generated")))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert git(world.origin, "ls-tree", "-r", "--name-only", BRANCH).split() == ["README.md", "hello.txt"]


def test_a_finding_that_is_asked_about_leaves_with_a_persons_word_and_only_as_it_was(world: World) -> None:
    lock = run("echo '{}' > package-lock.json")
    more = run("echo '{\"a\": 1}' > package-lock.json")
    world.scenario(plan=[PLAN], work=[HELLO, lock, COMMIT, FINISH], heed=[more, COMMIT])
    spec = world.spec(guards=rules("dependencies", "ask"))
    parked = world.run(spec)
    assert isinstance(parked, RunParked)
    asked = world.only("QuestionAsked")
    assert asked.asker == "guard"
    assert "'package-lock.json' says what is installed (rule 'dependencies: ask')" in asked.text
    assert nothing_left(world)
    world.answer(spec, "Please add a first")  # the words are heeded, and the change is another one then
    assert len(world.of("QuestionAsked")) == 2
    assert world.of("QuestionAsked")[1].text != asked.text
    assert nothing_left(world)
    world.answer(spec, "Publish these files too")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.show("package-lock.json") == '{"a": 1}'


def test_what_may_be_a_secret_is_asked_about_even_where_secrets_are_denied(world: World) -> None:
    line = "echo 'DB_PASSWORD = \"Xk29!sdfQQz81\"' > settings.py"
    world.scenario(plan=[PLAN], work=[HELLO, run(line), COMMIT, FINISH])
    spec = world.spec(guards=rules("secrets"))
    world.run(spec)
    assert "may be a secret" in world.only("QuestionAsked").text
    assert "Xk29" not in world.only("QuestionAsked").text
    world.answer(spec, "Stop here")
    assert world.ended().reason == "stopped"
    assert nothing_left(world)


def test_what_the_guards_allow_and_what_people_pushed_passes_unasked(world: World) -> None:
    theirs = {"infra/main.tf": "x\n", "package.json": "{}\n", "key.py": f"k = '{KEY}'\n"}
    world.commit(theirs, BRANCH)
    world.commit({"other.txt": "x"})  # so that their commit is rebased
    world.scenario(plan=[PLAN], work=[HELLO, COMMIT, FINISH])
    guards = Guards({"protected": "deny", "dependencies": "deny", "secrets": "deny"}, INFRA)
    world.run(world.spec(guards=guards))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert git(world.origin, "log", "-1", "--format=%an", BRANCH, "--", "infra/main.tf") == "Ann"


def test_a_change_of_what_people_pushed_is_the_agents(world: World) -> None:
    world.commit({"infra/main.tf": "x\n"}, BRANCH)
    world.scenario(plan=[PLAN], work=[HELLO, run("echo y > infra/main.tf"), COMMIT, FINISH])
    world.run(world.spec(guards=rules("protected", protect=INFRA)))
    assert world.ended().reason == "guardrail"


def test_every_commit_of_the_agent_is_cardinals_own_with_run_and_card(world: World) -> None:
    boss = "git -c user.name=Boss -c user.email=b@x commit -q --date=2020-01-02T03:04:05Z"
    lines = (
        f"git add .; {boss} --author='The Boss <boss@acme.org>' -m 'One' -m 'Cardinal-Run: r9'",
        f"echo b > b; git add b; {boss} -m 'Two' -m 'See: it'",
    )
    world.scenario(plan=[PLAN], work=[HELLO, *map(run, lines), FINISH])
    world.run(world.spec(validation=checks(fast=["true"], full=["true"])))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    said = git(world.origin, "log", "--format=%an <%ae>|%cn <%ce>", f"main..{BRANCH}")
    assert said.splitlines() == [f"{OWN}|{OWN}"] * 2
    two, one = git(world.origin, "log", "--format=%B%x00", f"main..{BRANCH}").split("\0")[:2]
    assert two.strip() == "Two\n\nSee: it\nCardinal-Run: r1\nCardinal-Card: acme/shop#12"
    assert one.strip() == "One\n\nCardinal-Run: r1\nCardinal-Card: acme/shop#12"
    assert {world.only("BranchPushed").head} == {tier.head for tier in world.of("ValidationEnded")}


def test_peoples_commits_stay_theirs_and_a_copy_of_one_does_not(world: World) -> None:
    world.commit({"theirs.txt": "x"}, BRANCH, "By Ann")
    world.commit({"other.txt": "x"})
    as_ann = "git -c user.name=A commit -q --author='Ann <ann@example.org>' -m 'By Ann'"
    world.scenario(plan=[PLAN], work=[HELLO, run(f"git add .; {as_ann}"), FINISH])
    world.run(world.spec())
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    log = git(
        world.origin, "log", "--format=%an|%s|%(trailers:key=Cardinal-Run,valueonly)", f"main..{BRANCH}"
    )
    assert [row for row in log.splitlines() if row] == [f"{COMMITTER.name}|By Ann|r1", "Ann|By Ann|"]


def test_a_second_run_leaves_the_commits_of_the_first_as_they_are(world: World) -> None:
    world.scenario(plan=[PLAN], work=[HELLO, COMMIT, FINISH])
    world.run(world.spec())
    first = world.head()
    world.scenario(plan=[PLAN], work=[run("echo b > b"), COMMIT, FINISH])
    world.lease = None
    world.run(world.spec(run_id="r2", attempt=2))
    assert world.ended("r2").ending is Ending.SUCCEEDED, world.ended("r2")
    assert git(world.origin, "rev-parse", f"{BRANCH}~1") == first
    assert "Cardinal-Run: r2" in git(world.origin, "log", "-1", "--format=%B", BRANCH)
