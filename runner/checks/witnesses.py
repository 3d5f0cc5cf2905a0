"""Hears the gate's witnesses: the runners' own summaries, and tests of the host's that must fail.

The output of a command on the default branch's own files decides its expectations: no code of the branch
has a say in that. There Cardinal learns how many tests the runner has, and whether it names a test that must
fail, put beside the others. On the branch it has to do the same.
"""

import hashlib
import json
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from posixpath import dirname, join, normpath

from ledger.events.run import CommandChecked, UsageMetered
from ledger.events.witness import Canary as Heard
from ledger.events.witness import CheckWitnessed
from ledger.lifecycle.in_place import put_in_place
from runner.checks import canary, summary
from runner.checks.canary import PlantedFile
from runner.checks.command import RanCommand, run_command
from runner.checks.places import WITNESS, clean_room
from runner.checks.summary import Language, Runner, Summary
from runner.git.checkout import Checkout
from runner.git.mirror import Mirror
from runner.session.context import RunContext
from runner.text.plain import one_line
from runner.workspaces.contract import Workspace

_FOLDER = re.compile(r"^cd ('[^']*'|\S+) \|\| exit; ")
_WORDS = re.compile(r"[\s;&|<>()'\"=]+")
# Tools that run what a file of theirs says.
_TOOL_FILES = (
    (re.compile(r"\b(?:npm|npx|yarn|pnpm|bun)\b"), ("package.json",)),
    (re.compile(r"\bmake\b"), ("Makefile", "makefile", "GNUmakefile")),
    (re.compile(r"\btox\b"), ("tox.ini", "pyproject.toml", "setup.cfg")),
    (re.compile(r"\bnox\b"), ("noxfile.py",)),
    (re.compile(r"\bjust\b"), ("justfile", "Justfile")),
    (re.compile(r"\btask\b"), ("Taskfile.yml", "Taskfile.yaml")),
    (re.compile(r"\brake\b"), ("Rakefile",)),
)
_MAX_FILES = 20  # of a command that are searched for the names of runners
_TEXT_CHARS = 100_000
_KEPT, _MAX_KEPT = "cardinal-witnesses", 100
_VERSION = 1  # of what is kept


@dataclass(frozen=True, slots=True)
class Passed:
    """A command of the gate with exit code 0, and its redacted output."""

    checked: CommandChecked
    output: str


@dataclass(frozen=True, slots=True)
class Doubt:
    """A command with exit code 0 that no witness confirms; `why` is for people and agents."""

    checked: CommandChecked
    output: str
    why: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """The ways of a command on the default branch with tests that must fail beside the others.

    `runner` is the entry whose summary it prints, or empty; `tests` are those of the repository; `named`
    counts the tests of Cardinal's that it names as failing. `why` says why there is no second witness;
    `unknown`: it could not be run there to its end.
    """

    runner: str = ""
    tests: int = 0
    named: int = 0
    why: str = ""
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """The witnesses' word on a command; see CheckWitnessed."""

    canary: Heard
    why: str = ""
    believed: bool = True


def hear_witnesses(
    run: RunContext, workspace: Workspace, set_up: tuple[str, ...], passed: Sequence[Passed]
) -> tuple[Doubt, ...]:
    """Record the witnesses' word on these commands; return those that are not believed.

    `workspace` is where they passed, after `set_up`. Raises RunnerError and StopRequested.
    """
    if not passed:
        return ()
    head, began = passed[0].checked.head, time.monotonic()
    base = run.mirror.fork(passed[0].checked.base, head)
    files = {commit: run.mirror.files(commit) for commit in (head, base)}
    runners = [_runners(run.mirror, base, files[base], entry) for entry in passed]
    beside = {
        runner: canary.neighbours(runner.language, files[head], files[base])
        for runner in dict.fromkeys(runner for some in runners for runner in some)
    }
    commands = tuple(entry.checked.command for entry in passed)
    planter = _Planter(run, head, beside, files[head])
    expected = [Baseline()] * len(passed)
    if any(runners):
        expected = _expect(run, planter, base, set_up, commands, runners=runners)
    planted = planter.plant(workspace) if any(entry.named for entry in expected) else ()
    doubts = []
    for entry, some, baseline in zip(passed, runners, expected, strict=True):
        shapes = (summary.BY_NAME[baseline.runner],) if baseline.runner else some or summary.RUNNERS
        own = summary.read_summary(entry.output, shapes)
        verdict = _judge_summary(own, baseline, entry.checked.command)
        if verdict is None:
            again = run_command(run, workspace, planter.line(entry.checked.command, planted), of_column=True)
            verdict = judge_canary(baseline, again, _names(planted))
        took, began = time.monotonic() - began, time.monotonic()
        _record(run, entry.checked, own, baseline, verdict, base=base, took=took)
        if not verdict.believed:
            doubts.append(
                Doubt(entry.checked, entry.output, f"{verdict.why} So its exit code 0 is not believed.")
            )
    return tuple(doubts)


def _record(
    run: RunContext,
    checked: CommandChecked,
    own: Summary,
    baseline: Baseline,
    verdict: Verdict,
    *,
    base: str,
    took: float,
) -> None:
    runner = own.runner or baseline.runner
    event = CheckWitnessed(
        run_id=checked.run_id,
        iteration=checked.iteration,
        tier=checked.tier,
        command=checked.command,
        head=checked.head,
        base=base,
        runner=own.runner,
        unit=summary.BY_NAME[runner].unit if runner else "",
        passed=own.passed,
        base_tests=baseline.tests,
        canary=verdict.canary,
        believed=verdict.believed,
        why=verdict.why,
        duration_s=round(took, 3),
    )
    run.log.append(
        event,
        UsageMetered(
            run_id=checked.run_id, usd=0.0, input_tokens=0, output_tokens=0, turns=0, seconds=event.duration_s
        ),
    )


def _judge_summary(own: Summary, baseline: Baseline, command: str) -> Verdict | None:
    """Return the verdict where the first witness settles it; None: the second one is to be heard."""
    name = baseline.runner
    if not name and baseline.unknown:
        name = next((runner.name for runner in summary.find_runners(command)), "")
    if name and not own.runner:
        why = (
            f"{name} ended with exit code 0 but printed no summary: something ended it early, or ran in its"
            " place."
        )
        return Verdict(Heard.ABSENT, why, believed=False)
    if own.failed:
        why = f"{own.runner} ended with exit code 0, but its own summary says that {own.failed} failed."
        return Verdict(Heard.ABSENT, why, believed=False)
    if not name or not baseline.named:
        return Verdict(Heard.ABSENT, baseline.why)
    return None


def judge_canary(baseline: Baseline, ran: RanCommand, names: tuple[str, ...]) -> Verdict:
    """Return the verdict of the second witness: the command ran once more, with tests that must fail."""
    runner, output = baseline.runner, ran.log.text()
    own, named = (
        summary.read_summary(output, (summary.BY_NAME[runner],)),
        summary.find_failing(output, names),
    )
    begins = f"A test that must fail was put beside the repository's own, and {runner}"
    if ran.exit_code == 0:
        why = f"{begins} still ended with exit code 0: it does not run the tests, or hides that they fail."
    elif ran.broken:
        why = f"{begins} did not end by itself: {one_line(ran.broken)}."
    elif len(named) < baseline.named:
        why = (
            f"{begins} ended with exit code {ran.exit_code} without naming it as a failure, as it does on the"
            " default branch."
        )
    elif not own.runner:
        why = f"{begins} printed no summary, as it does on the default branch."
    elif own.failed > len(named):
        others = own.failed - len(named)
        why = f"{begins} then named {others} more that failed: what passes alone does not pass twice."
    else:
        return Verdict(Heard.FAILED)
    return Verdict(Heard.UNHEARD, why, believed=False)


class _Planter:
    """Puts tests that must fail beside the tests of the commit `head`, wherever it is told to."""

    def __init__(
        self, run: RunContext, head: str, beside: dict[Runner, tuple[str, ...]], files: Iterable[str]
    ) -> None:
        self._run = run
        self._tests: dict[str, str] = {}
        for language in {runner.language for runner in beside}:
            self._tests |= canary.test_files(language, files)
        self._text = cache(partial(_text, run.mirror, head))
        # Runners of one language collect each other's files.
        self._beside = {
            (runner.language, file): (runner, file)
            for runner, some in reversed(beside.items())
            for file in some
        }
        self._message = run.mirror.read_commits((head,))[0].message

    def key(self) -> list[str]:
        """Return where tests are put, by which others are told from them."""
        return sorted(f"{runner.name} {file}" for runner, file in self._beside.values())

    def plant(self, workspace: Workspace) -> tuple[PlantedFile, ...]:
        """Put new tests into the room, and commit them, so that git tells them from no other file.

        Raises WorkspaceError.
        """
        planted_files = tuple(
            canary.write_canary(runner, file, self._texts(runner, file))
            for runner, file in self._beside.values()
        )
        run = self._run
        checkout = Checkout(workspace, run.mirror, run.spec.authorship.author, run.beat)
        checkout.commit_files({entry.path: entry.content for entry in planted_files}, self._message)
        return planted_files

    def _texts(self, runner: Runner, beside: str) -> list[str]:
        """Return the content of a file of tests, and of others in its folder where their imports count."""
        others = [name for name, where in self._tests.items() if where == dirname(beside) and name != beside]
        wanted = others[:_MAX_FILES] if runner.language is Language.JAVASCRIPT else []
        return [self._text(name) for name in (beside, *wanted)]

    def line(self, command: str, planted: Iterable[PlantedFile]) -> str:
        """Return the command, with the planted tests where it names tests one by one."""
        return canary.with_canaries(command, planted, _folder(command), self._tests)


def _expect(
    run: RunContext,
    planter: _Planter,
    base: str,
    set_up: tuple[str, ...],
    commands: tuple[str, ...],
    *,
    runners: Sequence[tuple[Runner, ...]],
) -> list[Baseline]:
    """Return the expectations of the commands; they are kept for the next gate on the same base."""
    spec = run.spec
    facts: list[object] = [
        base,
        set_up,
        commands,
        planter.key(),
        [[runner.name for runner in some] for some in runners],
    ]
    facts += [spec.image, spec.workspace, _VERSION]
    key = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    file = run.mirror.path / _KEPT / f"{key}.json"
    if file.exists():
        return [Baseline(**row) for row in json.loads(file.read_text())]
    name = f"{spec.run_id}-witness"
    run.mirror.remember(name, base)
    with clean_room(run, WITNESS, name) as workspace:
        for line in set_up:
            ran = run_command(run, workspace, line, of_column=True)
            if ran.exit_code != 0:
                why = f"on the default branch the set-up fails: {one_line(line, 200)}"
                return [Baseline(why=why, unknown=True) if some else Baseline() for some in runners]
        planted = planter.plant(workspace)
        names = _names(planted)
        last = max(number for number, some in enumerate(runners) if some)
        shown = []
        for number, (command, some) in enumerate(zip(commands, runners, strict=True)):
            if number > last:
                shown.append(Baseline())
                continue
            ran = run_command(run, workspace, planter.line(command, planted), of_column=True)
            shown.append(learn(some, ran, names) if some else Baseline())
    if not any(entry.unknown for entry in shown):
        _keep(file, shown)
    return shown


def _keep(file: Path, shown: Sequence[Baseline]) -> None:
    file.parent.mkdir(exist_ok=True)
    kept = sorted(file.parent.glob("*.json"), key=lambda path: path.stat().st_mtime)
    for old in kept[: 1 - _MAX_KEPT]:
        old.unlink(missing_ok=True)
    partial = file.with_suffix(f".{time.monotonic_ns()}")
    partial.write_text(json.dumps([asdict(entry) for entry in shown]))
    put_in_place(partial, file)


def _names(planted: Iterable[PlantedFile]) -> tuple[str, ...]:
    return tuple(name for entry in planted for name in entry.names)


def learn(runners: tuple[Runner, ...], ran: RanCommand, names: tuple[str, ...]) -> Baseline:
    """Return the expectations of a command that ran so on the default branch, beside the tests of `names`."""
    output = ran.log.text()
    own = summary.read_summary(output, runners)
    named = summary.find_failing(output, names)
    adds = bool(own.runner) and summary.BY_NAME[own.runner].unit == "test"
    tests = max(0, own.passed + own.failed - (len(named) if adds else 0))
    if ran.broken:
        why = f"on the default branch the check did not end by itself: {one_line(ran.broken, 200)}"
        return Baseline(why=why, unknown=True)
    if not own.runner:
        return Baseline(why="on the default branch the check prints no summary that Cardinal can read")
    if not summary.BY_NAME[own.runner].language:
        return Baseline(own.runner, tests, why=f"Cardinal writes no test for {own.runner}")
    if not names:
        return Baseline(own.runner, tests, why="no folder has tests beside which one could be put")
    if ran.exit_code == 0 or not named or own.failed < len(named):
        return Baseline(
            own.runner,
            tests,
            why=f"on the default branch {own.runner} does not name a test that is put beside the others",
        )
    return Baseline(own.runner, tests, len(named))


def _runners(mirror: Mirror, base: str, files: frozenset[str], entry: Passed) -> tuple[Runner, ...]:
    """Return the runners that the command, or a file of the default branch that it runs, names or prints."""
    command = entry.checked.command
    shown = dict.fromkeys(summary.find_runners(command))
    if not shown:
        for file in _files_of(command, files):
            shown |= dict.fromkeys(summary.find_runners(_text(mirror, base, file)))
    printed = summary.read_summary(entry.output)
    if not shown and printed.runner:
        shown[summary.BY_NAME[printed.runner]] = None
    return tuple(shown)


def _files_of(command: str, files: frozenset[str]) -> list[str]:
    """Return the files that a shell line names, and those of the tools that it names."""
    folder = _folder(command)
    words = [word for word in _WORDS.split(command) if word]
    words += [name for tool, names in _TOOL_FILES if tool.search(command) for name in names]
    paths = dict.fromkeys(normpath(join(folder, word)) for word in words)
    return [path for path in paths if path in files][:_MAX_FILES]


def _folder(command: str) -> str:
    shown = _FOLDER.match(command)
    return shown[1].strip("'") if shown else ""


def _text(mirror: Mirror, commit: str, file: str) -> str:
    """Return a file of a commit; nothing where one of its lines is too long to be read."""
    return (mirror.read("cat-file", "blob", f"{commit}:{file}") or "")[:_TEXT_CHARS]
