"""Can agents work in the cards' repositories: are they where they were, is there a policy with checks."""

from collections.abc import Iterator

from bot.admin.doctor import CheckResult, DoctorContext, fail, ok, warn
from bot.github.api import repositories, rulesets
from bot.github.errors import NotFoundError
from bot.render import missing_checks
from bot.repo_config import devcontainers, guides, policy_file, profiles
from bot.runspec import operator_grants, policy_fields
from bot.runspec.branch_rules import authorship_of, pushes
from bot.sync import access
from bot.system.config import ConfigError
from ledger.events.access import RepositoryMoved
from ledger.ids import BoardId
from ledger.queries import cards
from ledger.views import placements
from rules.errors import PolicyError
from rules.policy import locations
from rules.policy.board import BoardRules
from rules.policy.images import DEVCONTAINER, OWN
from rules.policy.projects.devcontainer import describe_devcontainer
from rules.policy.repository import RepositoryRules
from rules.runs.branch_rules import of_merge, of_push
from runner import workspaces as parts
from runner.errors import RunnerError
from runner.git.commits import trailers
from runner.workspaces.docker import engine as docker
from runner.workspaces.docker.errors import ImageMissingError

BRANCH = "cardinal/1-card"  # a branch like those of cards
MAX_REPOSITORIES = 30  # that are asked about: ten calls each, more with a profile or rules


def checks(context: DoctorContext) -> Iterator[CheckResult]:
    """Does each repository say how an agent's work there is checked?"""
    served = context.policies()
    named = {name: policy.board for board, policy in served for name in _names(context, board.board_id)}
    for repository, board in sorted(named.items())[:MAX_REPOSITORIES]:
        yield from _of(context, repository, board)
    if len(named) > MAX_REPOSITORIES:
        message = f"{len(named) - MAX_REPOSITORIES} more repositories were not checked"
        yield warn("checks", message, "run `cardinal policy validate` in a clone of each")


def names(context: DoctorContext) -> Iterator[CheckResult]:
    """Was a repository renamed or transferred without Cardinal noticing?"""
    for rename in find_moved(context):
        message = f"{rename.before} is now {rename.after}, but its cards and runs still have the old name"
        step = "`cardinal doctor --fix` updates them; so does the sweep, within about ten minutes"
        yield warn("repositories", message, step, mends="repositories")


def find_moved(context: DoctorContext) -> Iterator[RepositoryMoved]:
    """Ask GitHub for the repositories by the names that are known, and yield those that have another."""
    boards = context.boards()
    known = {(board.board_id, name) for board in boards for name in _names(context, board.board_id)}
    for board_id, name in sorted(known)[:MAX_REPOSITORIES]:
        now = access.find_new_name(context.hub_of(name), name)
        if now:
            yield RepositoryMoved(board_id, name, now)


def _names(context: DoctorContext, board_id: BoardId) -> tuple[str, ...]:
    """Return the repositories of the board's cards, and those in which their runs work."""
    return context.read(
        lambda db: (*cards.repositories_of(db, board_id), *placements.repositories(db, board_id)), ()
    )


def _of(context: DoctorContext, repository: str, board: BoardRules) -> Iterator[CheckResult]:
    hub = context.hub_of(repository)
    try:
        text, commit = policy_file.read(hub, repository)
        rules = profiles.rules_of(hub, repository, text, commit, board)
    except NotFoundError:
        message = f"{repository} is out of the App's reach"
        yield warn("checks", message, "add it to the App's installation on GitHub")
    except PolicyError as error:
        message = f"{repository}: its {locations.PATH} is refused: {error.problems[0]}"
        yield fail("checks", message, f"correct {locations.PATH}: until then no run starts there")
    else:
        yield _profile(context, repository, commit, rules) or _check(repository, rules)
        yield from _guides(context, repository, commit, rules)
        yield from _images(context, repository, commit, rules)
        yield from _branch_rules(context, repository, rules)


def _profile(
    context: DoctorContext, repository: str, commit: str, rules: RepositoryRules
) -> CheckResult | None:
    """Return the fault of the repository's own profile, which fails each run there; None without one."""
    try:
        profiles.load(context.hub_of(repository), repository, commit, rules)
    except PolicyError as error:
        message = f"{repository}: its profile is refused: {error.problems[0]}"
        return fail("checks", message, "correct it on the default branch: until then no run starts there")
    return None


def _guides(
    context: DoctorContext, repository: str, commit: str, rules: RepositoryRules
) -> Iterator[CheckResult]:
    """Yield a note on files written for agents that no agent gets."""
    names = guides.unread(context.hub_of(repository), repository, commit, rules) if commit else ()
    if names:
        message = f"{repository} has {' and '.join(names)}, which agents are not told"
        wanted = ", ".join((*rules.guides, *names))
        hint = f"write `repository: {{guides: [{wanted}]}}` into {locations.PATH} if they are to be"
        yield ok("guides", message, hint)


def _images(
    context: DoctorContext, repository: str, commit: str, rules: RepositoryRules
) -> Iterator[CheckResult]:
    """Yield the policy's images that no run there may open, and those that this machine does not have."""
    if not parts.load(policy_fields.workspace(context.config)).runs_images:
        return
    try:
        missing = operator_grants.find_unlisted(operator_grants.read_lists(context.config), repository, rules)
    except ConfigError as error:
        yield fail(
            "images",
            str(error),
            f"correct {context.config.home / operator_grants.IMAGES}: until then no run starts",
        )
        return
    yield from _devcontainer(context, repository, commit, rules)
    for image in dict.fromkeys(rules.images.values()):
        if image in missing:
            step = f"if {repository} may use it, add it to {context.config.home / operator_grants.IMAGES}"
            yield fail("images", missing[image], step)
        elif image not in OWN and not _has(image):
            message = f"{repository}: the image {image} is not on this machine"
            yield fail("images", message, f"run `docker pull {image}`, or build it")


def _devcontainer(
    context: DoctorContext, repository: str, commit: str, rules: RepositoryRules
) -> Iterator[CheckResult]:
    """Yield what counts of the repository's devcontainer.json, or why it does not."""
    counts = "image" not in rules.model_fields_set and operator_grants.may_build(context.config, repository)
    try:
        found = (
            devcontainers.read_devcontainer(context.hub_of(repository), repository, commit)
            if commit
            else None
        )
    except PolicyError as error:
        step = "correct it, or name an `image`: until then no run starts there"
        message = f"{repository}: {error.problems[0]}"
        yield fail("images", message, step) if counts else ok("images", message)
        return
    if found is not None and counts:
        yield ok("images", f"{repository}: {describe_devcontainer(found)}")
    elif found is not None and "image" in rules.model_fields_set:
        yield ok("images", f"{repository}: `image` of its policy counts, and {found.path} does not")
    elif found is not None:
        step = f"if it may, add {DEVCONTAINER} to {context.config.home / operator_grants.IMAGES}"
        yield ok("images", f"{repository}: {found.path} makes no image", step)


def _has(image: str) -> bool:
    try:
        docker.Engine(docker.engine_address()).image(image)
    except ImageMissingError:
        return False
    except RunnerError:
        return True  # an engine that is away is another check's finding
    return True


def _check(repository: str, rules: RepositoryRules) -> CheckResult:
    if rules.waived:
        message = f"{repository}: `validation` is `none`, so agents' work is not checked there"
        return warn("checks", message, "add `fast` or `full` checks, unless this is intended")
    if not rules.checked:
        message = f"{repository} has no checks, so no agent starts there"
        return warn("checks", message, f"add {missing_checks.LINE} to {locations.PATH}")
    return ok("checks", f"{repository} has checks")


def _branch_rules(context: DoctorContext, repository: str, rules: RepositoryRules) -> Iterator[CheckResult]:
    """Yield the rulesets' rules that refuse, or may refuse, Cardinal's commits and merges there."""
    hub = context.hub_of(repository)
    try:
        authorship = authorship_of(context.config, hub, repository, rules)
    except ConfigError as error:
        yield fail("rules", f"{repository}: {error.problems[0]}", "set them: until then no run starts there")
        return
    base = repositories.default_branch(hub, repository)
    pushed = pushes(BRANCH, authorship, trailers(("r1",), f"{repository}#1"))
    objections = of_push(rulesets.of_branch(hub, repository, BRANCH), pushed)
    of_base = rulesets.of_branch(hub, repository, base)
    for method in _methods(context):
        objections += of_merge(of_base, base, method, "", signed=pushed.signed)
    rule_objections = rulesets.binding(hub, repository, tuple(dict.fromkeys(objections)))
    for objection in rule_objections:
        yield (fail if objection.refuses else warn)(
            "rules", f"{repository}: {objection.problem}", objection.step
        )


def _methods(context: DoctorContext) -> tuple[str, ...]:
    """Return the merge methods of the boards' policies."""
    columns = (column for _, policy in context.policies() for column in policy.board.columns.values())
    steps = (step for column in columns for step in column.entry_actions if step["action"] == "merge")
    return tuple(sorted({str(step.get("method", "squash")) for step in steps}))


def _follow(context: DoctorContext) -> str:
    renames = tuple(find_moved(context))
    if not renames or context.engine is None:
        return "all repository names are up to date"
    access.record_moved(context.engine, renames, at=context.now)
    return f"renamed: {', '.join(f'{rename.before} to {rename.after}' for rename in renames)}"


ORDER = 5
CHECKS = (names, checks)
REPAIRS = {"repositories": _follow}
