"""Preparation of `cardinal try`: may the board be here, and the files of its folder `.cardinal/`."""

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from bot.admin.clone.own_git import NO_REPOSITORY, CloneError, commit_of, git, git_output, personal_settings
from bot.state.policy_names import list_installed
from bot.system.env_file import OWN_AGENTS
from bot.system.program import TRIAL
from ledger.lifecycle.in_place import put_in_place
from rules.policy import schema
from rules.policy.locations import PATH
from rules.policy.model import Policy, parse
from rules.policy.projects.proposal import Proposal

FOLDER, POLICY, ANSWERS, GITIGNORE, PACKAGES = ".cardinal", "policy.yml", TRIAL, ".gitignore", "packages.json"
COLUMNS = ("Tasks", "Planning", "In Progress", "Review", "QA", "Done")
PORT = 8585
_HOME = "board"  # the forge's own repository with the policy
_POLICY_TEXT = """\
# Each column of the board is a policy. `cardinal try` reads this file when it starts.
version: 1
board:
  columns:
    Tasks: {archetype: inbox}
    Planning: {archetype: planning, agent: AGENT, model: SMALL}
    In Progress: {archetype: execution, agent: AGENT, model: MODEL, plan_approval: required, budget_usd: 2.00}
    Review: {archetype: review}
    QA: {archetype: review, on_entry: [{action: ready}]}
    Done: {archetype: terminal, on_entry: [{action: merge, method: squash}, {action: delete_branch}]}
  limits: {usd_per_day: 10}
"""
_CHECKS = """\
  repositories:
    # How work is checked, since the repository has no .github/cardinal.yml. `setup` can fetch only from
    # hosts that In Progress lists: tools: {network: [HOST]}
    without_policy:
"""
_OFFLINE = """\
      validation: none
      # The place of the scripted agent has no network for a set-up. Once the packages are installed in the
      # clone, `cardinal try` offers these; in a container, with a real agent, they run as they are:
"""
MACHINE = "/etc/machine-id", "/proc/sys/kernel/random/boot_id"


@dataclass(frozen=True, slots=True)
class Trial:
    """A repository that a board can serve: its top folder, its git folder, and a branch of it."""

    top: Path
    common: Path
    into: str

    @property
    def folder(self) -> Path:
        return self.top / FOLDER

    @property
    def is_new(self) -> bool:
        return not (self.folder / ANSWERS).exists()

    def answers(self) -> dict[str, object]:
        """Return the answers given when the board was made. Raises CloneError."""
        file = self.folder / ANSWERS
        try:
            if not stat.S_ISREG(file.lstat().st_mode):  # a repository may bring a link to what never ends
                raise ValueError
            answers: dict[str, object] = dict(json.loads(file.read_bytes()))
        except (ValueError, TypeError, RecursionError) as error:  # it is written whole: somebody else's
            raise CloneError(f"{file} does not belong to a board: delete {self.folder}") from error
        return answers

    def is_from_here(self) -> bool:
        """Tell whether the board was made by this user on this machine: archives and repositories bring
        folders along.
        """
        try:
            return self.answers().get("made_by") == _maker()
        except CloneError:
            return False


def find(folder: Path, into: str) -> Trial:
    """Return the place around `folder`. An empty `into` is the branch that is checked out.

    Raises CloneError: one sentence with the obstacle and the next step.
    """
    if git_output(folder, "rev-parse", "--is-bare-repository").strip() == "true":
        raise CloneError(f"{folder} is a bare repository: go to a clone of it")
    trial = _around(folder, into)
    if trial is None:
        raise CloneError(NO_REPOSITORY.format(folder.resolve()))
    _check_folder(trial)
    if not trial.is_new:
        known = str(trial.answers()["into"])
        if into not in ("", known):
            raise CloneError(f"this board's Done merges into {known}: drop --into, or delete {FOLDER}")
        return replace(trial, into=known)
    if (trial.folder / "env").exists():
        raise CloneError(f"{trial.folder} is the home of a Cardinal: use another clone")
    if not commit_of(trial.top, "HEAD"):
        raise CloneError("there are no commits yet: run `git commit --allow-empty -m init`, then try again")
    current = git_output(trial.top, "symbolic-ref", "--short", "--quiet", "HEAD").strip()
    return Trial(trial.top, trial.common, _branch(trial.top, into or current))


def trial_around(folder: Path) -> Trial | None:
    """Return the place of the board in the clone around `folder`, or in the one whose work tree that is.

    None without one that this user made on this machine. Raises CloneError.
    """
    trial = _around(folder, "")
    if trial is None:
        return None
    for top in dict.fromkeys((trial.top, trial.common.parent)):
        place = replace(trial, top=top)
        if not place.is_new and place.is_from_here():
            _check_folder(place)
            return replace(place, into=str(place.answers()["into"]))
    return None


def _around(folder: Path, into: str) -> Trial | None:
    """Return the place in the work tree around `folder`; None outside of one."""
    wanted, args = ("--show-toplevel", "--git-common-dir"), ("rev-parse", "--path-format=absolute")
    top, common = (git_output(folder, *args, each).removesuffix("\n") for each in wanted)
    if Path(top).name == FOLDER:  # the board's own folder is a repository, so that `git clean` leaves it
        return _around(Path(top).parent, into)
    return Trial(Path(top), Path(common), into) if top else None


def _maker() -> str:
    """Return a signature that only this user's processes on this machine write.

    A container may have no machine-id, or an empty one. Source: machine-id(5), proc_sys_kernel(5).
    """
    machine = ""
    for file in MACHINE:
        with suppress(OSError):
            machine = machine or Path(file).read_text(encoding="ascii").strip()
    machine = machine or str(Path.home().stat().st_ino)
    return hashlib.sha256(f"cardinal try {machine} {os.geteuid()}".encode()).hexdigest()


def _check_folder(place: Trial) -> None:
    if set(str(place.top)) & set("\r\n"):  # git names objects of others by lines with their folder
        raise CloneError(f"{str(place.top)!r} has a line break in its name: rename the folder")
    with suppress(FileNotFoundError):
        known = place.folder.lstat()
        if not stat.S_ISDIR(known.st_mode) or known.st_uid != os.geteuid():
            raise CloneError(f"{place.folder} is not your own folder: delete it first")
    if git_output(place.top, "ls-files", "--", FOLDER, f"{FOLDER}/*"):
        raise CloneError(f"git tracks {FOLDER} here, so its content may be someone else's: delete it first")


def _branch(top: Path, into: str) -> str:
    if not into:
        raise CloneError("no branch is checked out here: name one with --into")
    known = git(top, "show-ref", "--verify", "--quiet", f"refs/heads/{into}").exit_code == 0
    if not known or into.startswith("cardinal/"):
        raise CloneError(f"there is no local branch {into!r}: name another with --into")
    names = git_output(
        top, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/cardinal"
    ).splitlines()
    own = re.compile(rf"cardinal(/(\d.*|{re.escape(into)}(/.*)?))?")
    for name in filter(own.fullmatch, names):
        raise CloneError(f"the branch {name} conflicts with the board's own: rename it, or delete it")
    if git_output(top, "rev-parse", "--is-shallow-repository").strip() == "true":
        raise CloneError("this clone is shallow: run `git fetch --unshallow` first")
    if git_output(top, "config", "--get-regexp", r"^(extensions\.partialclone|remote\..*\.promisor)$"):
        raise CloneError("this is a partial clone, and objects are missing: make a full clone")
    if git_output(top, "rev-parse", "--show-object-format").strip() != "sha1":
        raise CloneError(
            "this repository uses SHA-256 object names, which GitHub does not support: Cardinal cannot use it"
        )
    if git(top, "diff", "--cached", "--quiet").exit_code != 0:
        raise CloneError("you have staged changes: commit them, or run `git restore --staged .`")
    return into


def has_own_policy(place: Trial) -> bool:
    """Tell whether the branch has a policy file of its own."""
    return git(place.top, "cat-file", "-e", f"refs/heads/{place.into}:{PATH}").exit_code == 0


def write(
    place: Trial,
    agent: str,
    checks: Proposal | None,
    environ: Mapping[str, str],
    *,
    model: str = "",
    offline: bool = False,
) -> None:
    """Make the folder, hidden from git by a file of its own; the answers come last, so that a killed
    beginning is none. `offline`: the checks are written for later, and none is run.
    """
    place.folder.mkdir(mode=0o700, exist_ok=True)
    place.folder.chmod(0o700)
    (place.folder / GITIGNORE).write_text("*\n")
    # A name of one's own may look like a number; in quotes it is a text in YAML, too.
    worker, planner = (json.dumps(name) if model else name for name in models_for(agent, model))
    text = _POLICY_TEXT.replace("AGENT", agent).replace("MODEL", worker).replace("SMALL", planner)
    if checks is not None:
        text += _CHECKS + checks_text(checks, offline=offline)
    (place.folder / schema.FILE).write_text(schema.schema_text(), encoding="utf-8")
    (place.folder / POLICY).write_text(schema.name_schema(text, schema.FILE))
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", place.top.name).strip("-.")[:80] or "repository"
    person, email = _identity(place.top, environ)
    answers = {
        "name": f"{name}-1" if name == _HOME else name,
        "into": place.into,
        "login": re.sub(r"[^A-Za-z0-9-]+", "-", email.partition("@")[0] or person).strip("-")[:39] or "you",
        "person": person or "You",
        "email": email,
        "columns": COLUMNS,
        "port": PORT,
    }
    remember(place, answers)


def checks_text(checks: Proposal, *, offline: bool) -> str:
    """Return the lines of the policy below `without_policy:`."""
    begins = _OFFLINE if offline else ""
    return begins + "".join(f"      {'# ' if offline else ''}{line}\n" for line in checks.rules())


def remember(place: Trial, answers: Mapping[str, object]) -> None:
    """Write the answers, with where the repository is now: people move their folders."""
    fresh = place.folder / f"{ANSWERS}.new"
    fresh.write_text(json.dumps({**answers, "git": str(place.common), "made_by": _maker()}, indent=1))
    put_in_place(fresh, place.folder / ANSWERS)


def models_for(agent: str, model: str = "") -> tuple[str, str]:
    """Return the names of the model that works for that agent, and of the one that answers in Planning.

    Both are `model`, if one is named: a server of one's own often has no other.
    """
    if model:
        return model, model
    return ("hello", "hello") if agent == "scripted" else ("default", "small")


def policy_of(place: Trial) -> Policy:
    """Return the policy in the folder. Raises PolicyError, and CloneError where it is gone."""
    return read_policy(place)[1]


def read_policy(place: Trial) -> tuple[str, Policy]:
    """Return the policy in the folder with its text. Raises PolicyError, and CloneError where it is gone."""
    file = place.folder / POLICY
    if not file.exists():
        raise CloneError(f"{file} is missing: restore it, or delete {FOLDER} and start over")
    text = file.read_bytes().decode("utf-8")  # as it is: a file with other ends of lines keeps them
    return text, parse_policy(place, text)


def parse_policy(place: Trial, text: str) -> Policy:
    """Return the policy that a board would have by this text. Raises PolicyError."""
    installed = list_installed(place.folder / OWN_AGENTS)
    return parse(text, home=f"local/{_HOME}", installed=installed, profiles=())


def write_policy(place: Trial, text: str) -> None:
    """Replace the policy file at once: a killed switch leaves the old one."""
    fresh = place.folder / f"{POLICY}.new"
    fresh.write_bytes(text.encode())
    put_in_place(fresh, place.folder / POLICY)


def _identity(top: Path, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return name and address that the person commits with; empty where none is set."""
    identity = {"user.name": "", "user.email": ""}
    for env in personal_settings(environ):
        for key, known in identity.items():
            identity[key] = known or git_output(top, "config", "--get", key, env=env).strip()
    return identity["user.name"], identity["user.email"]
