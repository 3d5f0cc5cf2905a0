"""Checks of a board of `cardinal try`: those that the repository names, as far as they can run here."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from bot.admin.clone.proposal import lacking_programs, read_tree
from bot.admin.trial import installed as packages_here
from bot.admin.trial.in_folder import lines_in_clone
from bot.admin.trial.installed import InstalledPackages
from bot.admin.trial.trial import PACKAGES, Trial, checks_text, has_own_policy, read_policy
from rules.policy.projects.proposal import Proposal, propose
from runner.checks.command import LOCAL
from runner.workspaces.bubblewrap import sandbox_problem
from runner.workspaces.packages import Packages, write_packages

SCRIPTED = "scripted"
_SEEN = "The set-up is skipped: checks use {0} of this clone, read-only."
_INSTALL = (
    "The scripted agent skips them for now: it cannot fetch packages. Install them in this clone with `{0}`, "
    "and start it again: checks use them from there, read-only."
)
_NO_WAY = "The scripted agent skips them for now: it cannot fetch packages. A real agent's container can."
_UNTIL = (
    "Until you have done that and started it again, the scripted agent skips them: it cannot fetch packages."
)
_NO_SANDBOX = "The scripted agent skips them for now: without a sandbox, checks see no installed packages."
_REAL = "The set-up fetches only from hosts that you name: `tools: {network: [HOST]}`."
_NO_MODULE = "`{0}` is not installed in {1}, so `{2}` is left out: `{1}/bin/pip install {0}`."


@dataclass(frozen=True, slots=True)
class TrialChecks:
    """The proposed checks, None where the repository has a policy file. `offline`: they are not run for now.

    `packages` are those that checks see here; `notes` say what a person should know.
    """

    proposal: Proposal | None
    offline: bool = False
    packages: Packages | None = None
    notes: tuple[str, ...] = ()


def look_at_checks(place: Trial, agent: str) -> TrialChecks:
    """Return the checks of the branch that the board merges into, for that agent."""
    names, texts = read_tree(place.top, f"refs/heads/{place.into}")
    plain = propose(names, texts)
    own = has_own_policy(place)
    if agent != SCRIPTED:
        notes = (*((_REAL,) if plain.needs_setup() else ()), *lacking_programs(plain, image=""))
        return TrialChecks(None if own else plain, notes=() if own else notes)
    problem = sandbox_problem()
    installed = (
        InstalledPackages({}) if problem else packages_here.find_installed(place.top, names, texts, plain)
    )
    proposal = propose(names, texts, installed.languages)
    lacking = packages_here.lacking_modules(place.top, installed, proposal)
    proposal = _without(proposal, lacking)
    packages = _packages(place, installed, (plain, proposal)) if installed.binds else None
    notes = installed.problems if plain.needs_setup() else ()
    if own:
        return TrialChecks(None, packages=packages, notes=notes)
    environment = installed.binds.get("home/venv", "")
    notes += tuple(_NO_MODULE.format(name, environment, line) for line, name in lacking.items())
    offline = packages_here.needs_more(installed, proposal) or bool(lacking and not _has_checks(proposal))
    if offline and problem:
        return TrialChecks(plain, True, None, (_NO_SANDBOX, *lacking_programs(plain, image=LOCAL)))
    if offline:
        steps = lines_in_clone(plain, names, _list_setup_lines(packages))
        way = _INSTALL.format(" && ".join(steps)) if all(steps) else _NO_WAY
        # Where packages that are there cannot be used, the problem says what to do.
        notes = (*notes, _UNTIL) if installed.problems else (*((way,) if steps else ()), *notes)
    elif packages is not None and packages.setup:
        notes = (_SEEN.format(" and ".join(sorted({*installed.binds.values()}))), *notes)
    shown = plain if offline else proposal
    return TrialChecks(shown, offline, packages, (*notes, *lacking_programs(shown, image=LOCAL)))


def _packages(place: Trial, installed: InstalledPackages, proposals: Iterable[Proposal]) -> Packages:
    """Return the packages for lines of set-up that are written in either way."""
    made = [installed.packages(place.top, proposal) for proposal in proposals]
    return replace(made[-1], setup=tuple(dict.fromkeys(line for packages in made for line in packages.setup)))


def _list_setup_lines(packages: Packages | None) -> Collection[str]:
    return packages.setup if packages is not None else ()


def _parts(proposal: Proposal) -> tuple[Proposal, ...]:
    return (proposal, *proposal.paths.values())


def _has_checks(proposal: Proposal) -> bool:
    return any(part.full or part.fast for part in _parts(proposal))


def _without(proposal: Proposal, lines: Collection[str]) -> Proposal:
    if not lines:
        return proposal

    def drop_lines(given: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(line for line in given if line not in lines)

    paths = {name: _without(part, lines) for name, part in proposal.paths.items()}
    return replace(proposal, full=drop_lines(proposal.full), fast=drop_lines(proposal.fast), paths=paths)


def store_packages(place: Trial, checks: TrialChecks) -> None:
    """Tell the workspaces of this machine what checks see; the person may have removed some since."""
    file = place.folder / PACKAGES
    if checks.packages is None:
        file.unlink(missing_ok=True)
    else:
        write_packages(file, checks.packages)


def take_up(place: Trial, checks: TrialChecks) -> str:
    """Return the policy with the checks that were left out, where they can run by now; else nothing.

    A file that somebody has changed there since is theirs.
    """
    if checks.proposal is None or checks.offline:
        return ""
    plain = propose(*read_tree(place.top, f"refs/heads/{place.into}"))
    text, _ = read_policy(place)
    left_out = checks_text(plain, offline=True)
    return text.replace(left_out, checks_text(checks.proposal, offline=False)) if left_out in text else ""
