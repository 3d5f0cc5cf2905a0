"""Keeps a repository's settings for an agent's program from it. Standard library only: it runs inside."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

_CALL_S = 30.0


class ShelterError(Exception):
    """A file of the repository is not hidden; the message is for people."""


class Shelter:
    """Keeps files that are hidden from the agent out of its commits: git would see them as deleted."""

    def __init__(self, program: str, repo: str, hidden: Sequence[str]) -> None:
        self._program, self._repo, self._hidden = program, Path(repo), hidden
        self._files = b""

    def raise_up(self) -> None:
        """Raises ShelterError when the program would obey files of the repository."""
        for name in self._hidden:
            path = self._repo / name
            if any(path.iterdir()) if path.is_dir() else path.is_file() and path.stat().st_size > 0:
                raise ShelterError(
                    f"{name} of the repository is not hidden here, and {self._program} would obey it: give"
                    " the column another agent or workspace, then retry"
                )
        self._files = self._git(b"", "ls-files", "-z", "--", *self._names())
        self._mark("--skip-worktree")

    def take_down(self) -> None:
        self._mark("--no-skip-worktree")

    def _names(self) -> list[str]:
        """Return the hidden paths; a link's target is hidden with it."""
        root = self._repo.resolve()
        targets = ((self._repo / name).resolve() for name in self._hidden)
        inside = [
            str(path.relative_to(root)) for path in targets if path.is_relative_to(root) and path != root
        ]
        return [*self._hidden, *inside]

    def _mark(self, how: str) -> None:
        if self._files:
            self._git(self._files, "update-index", "-z", how, "--stdin")

    def _git(self, given: bytes, *args: str) -> bytes:
        explicit = ("-c", "safe.bareRepository=explicit")
        argv = ["git", *explicit, "--literal-pathspecs", "-C", str(self._repo), *args]
        try:
            done = subprocess.run(argv, input=given, capture_output=True, timeout=_CALL_S)
        except (OSError, subprocess.TimeoutExpired):
            return b""
        return done.stdout if done.returncode == 0 else b""  # a read-only index: nothing can be committed
