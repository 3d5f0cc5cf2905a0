"""Git in a person's clone, without the machine's hooks and settings. It imports little: git's hooks wait."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ledger.errors import CardinalError
from runner.exec.child import Ran
from runner.git.cli import run_git

GIT_S = 300.0
QUARANTINE = ("GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")  # git-receive-pack(1)

NO_REPOSITORY = (
    "{} is not in a git repository of yours: go to your clone, or name it with -C. If it belongs to "
    "another user, clone it first; `safe.directory` makes no difference"
)


class CloneError(CardinalError):
    """The clone cannot be checked as it is; `because` ends with the next step."""

    def __init__(self, because: str) -> None:
        self.because = because
        super().__init__(because)


def quarantine(environ: Mapping[str, str]) -> dict[str, str]:
    """Return git's variables for a hook on a server: the folders of its objects before acceptance."""
    return {name: text for name, text in environ.items() if name in QUARANTINE}


def commit_of(folder: Path, name: str, env: Mapping[str, str] | None = None) -> str:
    """Return the commit that a person's name stands for here; empty for none."""
    args = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return git_output(folder, *args, env=env).strip()


def git_output(folder: Path, *args: str, env: Mapping[str, str] | None = None) -> str:
    """Return git's output; empty where it failed."""
    ran = git(folder, *args, env=env)
    return ran.out if ran.exit_code == 0 else ""


def git(folder: Path, *args: str, env: Mapping[str, str] | None = None) -> Ran:
    """Run git in a folder of this user, without hooks or settings of the machine."""
    return run_git(
        args,
        folder=folder,
        beat=no_beat,
        timeout_s=GIT_S,
        more_env=env,
        transfers=True,
        bare=_is_own_bare(folder),
    )


def _is_own_bare(folder: Path) -> bool:
    """Tell whether the folder is a bare repository, or git's own folder, and no part of a checkout.

    One that lies among somebody's files came with them. Git takes no file into a commit that is in `.git`.
    """
    here = folder.absolute()
    if not (here / "HEAD").is_file() or not (here / "objects").is_dir():
        return False
    return ".git" in here.parts or not any((above / ".git").exists() for above in (here, *here.parents))


def personal_settings(environ: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield git's environment with each file of the person's own settings, by precedence.

    Source: git-config(1).
    """
    home = Path(environ.get("HOME", "/nonexistent"))
    folder = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    given = environ.get("GIT_CONFIG_GLOBAL")
    for file in (given,) if given else (home / ".gitconfig", folder / "git" / "config"):
        yield {
            "HOME": str(home),
            "GIT_CONFIG_GLOBAL": str(file),
            "GIT_CONFIG_NOSYSTEM": environ.get("GIT_CONFIG_NOSYSTEM", "0"),
        }


def no_beat() -> None:
    """Hold no lease."""
