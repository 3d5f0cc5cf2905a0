"""The runner's errors, by the run's way out."""

import re
from pathlib import Path

from ledger.errors import CardinalError
from ledger.ids import RunId

# What git and GitHub write around the reason of a refused push.
_FRAME = re.compile(r"\bremote: *|\berror: (?=GH0)| Repository rule violations found for \S+")
SILENT = "it did not say why"


class RunnerError(CardinalError):
    """The runner refused or failed to do something."""


class SpawnError(RunnerError):
    """The agent's program did not start."""


class ServiceError(SpawnError):
    """A service of the repository's policy did not start."""

    def __init__(self, name: str, why: str) -> None:
        self.name, self.why = name, why
        super().__init__(
            f"the service `{name}` did not start: {why}. See `services` in the repository's policy, then"
            " retry"
        )


class ImageBuildError(SpawnError):
    """The image of a repository's devcontainer.json was not built."""

    def __init__(self, path: str, why: str, step: str = "correct it on the default branch") -> None:
        self.path, self.why, self.step = path, why, step
        super().__init__(
            f"the image of `{path}` was not built: {why}. {step[0].upper()}{step[1:]}, or name an `image` in"
            " the repository's policy, then retry"
        )


class NetworkError(RunnerError):
    """The policy grants the agent a network that this kind of workspace cannot give."""

    def __init__(self, backend: str, wanted: str, granted: tuple[str, ...]) -> None:
        self.backend, self.wanted, self.granted = backend, wanted, granted
        super().__init__(
            f"the column's policy says `network: {wanted}`, but a {backend} workspace can only have"
            f" {' or '.join(granted)}: change `tools: {{network: …}}` of the column, then retry"
        )


class BackendError(RunnerError):
    """The agent's program is not in this kind of workspace."""

    def __init__(self, agent: str, backend: str, known: tuple[str, ...]) -> None:
        self.agent, self.backend, self.known = agent, backend, known
        super().__init__(
            f"{agent} works in a {' or '.join(known)} workspace, and this Cardinal uses {backend}: start a"
            " Docker engine and run `cardinal images`, or choose another agent for the column, then retry"
        )


class UnsandboxedError(RunnerError):
    """This machine cannot lock the agent in, and nobody allowed it to run free."""

    def __init__(self, agent: str, why: str) -> None:
        self.agent = agent
        super().__init__(
            f"{agent} may not run without a sandbox ({why}): install bubblewrap, or set"
            " CARDINAL_ALLOW_UNSANDBOXED=1"
        )


class CommandTimeoutError(RunnerError):
    """A command of Cardinal's own took longer than it may."""

    def __init__(self, what: str, timeout_s: float) -> None:
        self.what, self.timeout_s = what, timeout_s
        super().__init__(f"{what} was stopped after {timeout_s:.0f} s")


class KilledError(RunnerError):
    """A process that the run needs was killed from outside; another attempt may succeed."""

    def __init__(self, what: str, fate: str = "") -> None:
        self.what, self.fate = what, fate
        why = f": {fate}" if fate else " (signal 9): the machine may have run out of memory"
        super().__init__(f"{what} was killed{why}")


class WorkspaceError(RunnerError):
    """A step of Cardinal's own inside the workspace failed."""

    def __init__(self, what: str, output: str) -> None:
        self.what, self.output = what, output
        super().__init__(f"{what} failed: {output.strip()[-600:] or SILENT}")


class MissingSecretError(RunnerError):
    """The operator has not given a secret that the policy names, or not as text for a header."""

    def __init__(self, repository: str, names: tuple[str, ...], whose: str = "it") -> None:
        where = f"tool-secrets/{repository.lower()}.env"
        super().__init__(
            f"{whose} lacks {', '.join(names)}: an operator puts `NAME=value` into {where} of Cardinal's"
            " home, on each host; or change the policy"
        )


class ScenarioError(RunnerError):
    """A scenario of the scripted agent is missing or wrong."""

    def __init__(self, name: str, problem: str) -> None:
        self.name, self.problem = name, problem
        super().__init__(f"scenario {name!r}: {problem}")


class ProgramError(RunnerError):
    """The file that describes an agent's program is missing or wrong."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path, self.problem = path, problem
        super().__init__(f"{path}: {problem}; correct it: `cardinal agents` checks it")


class RepositoryError(RunnerError):
    """The repository cannot be worked on; the message names a person's next step."""


class SetUpError(RepositoryError):
    """A command of the repository's set-up failed."""

    def __init__(self, command: str, why: str) -> None:
        super().__init__(f"the set-up failed before an agent began: $ {command}: {why}")


class RemoteAwayError(RepositoryError):
    """The repository's host gives no credentials now, and may in `retry_after_s` seconds.

    `limited`: it will, since only its limit of calls is spent.
    """

    def __init__(self, because: str, retry_after_s: float, *, limited: bool = False) -> None:
        self.retry_after_s, self.limited = retry_after_s, limited
        super().__init__(f"no credentials for the repository: {because}")


class EmptyRepositoryError(RepositoryError):
    """The repository has no commit."""

    def __init__(self, repository: str) -> None:
        super().__init__(f"{repository} has no commits yet: push a first commit, then retry")


class GoneCommitError(RepositoryError):
    """The commit on which a run began is in no branch of its repository any more."""

    def __init__(self, repository: str, commit: str) -> None:
        self.repository, self.commit = repository, commit
        super().__init__(
            f"{repository} does not have the commit {commit[:12]} any more: add `--base now` to the command"
        )


class MissingBaseError(RepositoryError):
    """The default branch is not there."""

    def __init__(self, repository: str, branch: str) -> None:
        self.branch = branch
        super().__init__(
            f"{repository} has no branch {branch}: restore it or change the default branch, then retry"
        )


class GoneRepositoryError(RepositoryError):
    """The repository was deleted, renamed, or is out of the App's reach."""

    def __init__(self, repository: str, detail: str) -> None:
        super().__init__(
            f"{repository} cannot be reached; is it deleted, or Cardinal not installed there? git: {detail}"
        )


class LostSnapshotError(RepositoryError):
    """The store has no blob of a folder's snapshot that is in force."""

    def __init__(self, run_id: RunId) -> None:
        super().__init__(
            f"the folder's files, as {run_id} left them, are not in the store of this host: bring the store"
            " back, then retry"
        )


class OversizedRepositoryError(RepositoryError):
    """The repository, or the agent's work, is larger than the cap."""

    def __init__(self, what: str, cap_bytes: int) -> None:
        super().__init__(f"{what} is larger than {cap_bytes // 1_000_000} MB")


class LongHistoryError(RepositoryError):
    """The branch has more new commits than are read one by one."""

    def __init__(self, count: int, most: int) -> None:
        super().__init__(
            f"the branch has {count:,} commits that GitHub does not have, and at most {most:,} are read:"
            " squash them, then retry"
        )


class UnsoundObjectsError(RepositoryError):
    """Fetched objects fail git's own checks."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"git refuses objects that are not sound: {detail}")


class PushRefusedError(RepositoryError):
    """GitHub refused the push. `cause` is a PushCause, `because` its words; `step` helps the next push."""

    def __init__(self, branch: str, detail: str, *, cause: str, because: str, step: str) -> None:
        self.cause, self.step = cause, step
        said = f"{step}, then retry. GitHub: {_FRAME.sub('', detail)}"
        super().__init__(f"{branch} was not pushed: {because}: {said}")


class SigningError(RepositoryError):
    """The operator's key signs no commits."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            "the policy wants signed commits, and the key of CARDINAL_SIGNING_KEY does not sign:"
            f" {problem} Whoever runs Cardinal corrects the setting; then retry"
        )


class UnverifiedCommitError(RepositoryError):
    """GitHub does not make the signed commits that the policy wants."""

    def __init__(self, problem: str) -> None:
        super().__init__(
            f"the policy says `commits: {{sign: github}}`, and GitHub signs no such commits: {problem}."
            " Correct that or say `sign: ssh`, with a key on the hosts; then retry"
        )


class MovedBranchError(RepositoryError):
    """The branch got commits that the run did not make since it began."""

    def __init__(self, branch: str) -> None:
        super().__init__(
            f"{branch} was not pushed: it has new commits on GitHub; retry takes those commits in"
        )


class GitLimitError(RepositoryError):
    """git exceeded a limit of the host; `limit` names it."""

    def __init__(self, what: str, limit: str) -> None:
        self.what, self.limit = what, limit
        super().__init__(
            f"git {what} was stopped because it wanted more than {limit}: the branch holds something that is"
            " very large, or made to be (trees within trees, or one very long history)"
        )


class GitError(RepositoryError):
    """git failed for a reason without a class here."""

    def __init__(self, what: str, detail: str) -> None:
        super().__init__(f"git could not {what}: {detail or SILENT}")
