"""Gifts of the operator to a repository by its name: images and secrets. A later one has none of them."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import StringConstraints, TypeAdapter, ValidationError

from bot.github.api.repositories import Base
from bot.system import private_file
from bot.system.clock import CLOCK_SLACK
from bot.system.config import Config, ConfigError
from bot.system.env_file import read_lines
from rules.errors import PolicyError
from rules.policy import yaml_reader
from rules.policy.images import DEVCONTAINER, is_listed
from rules.policy.repository import ImageName, RepositoryRules
from rules.text import code
from runner import workspaces
from runner.run.run_spec import RunSpec

IMAGES = "images.yml"  # in the home: names of images by owner, or by OWNER/REPOSITORY
SECRETS = "tool-secrets"  # in the home: a file OWNER/REPOSITORY.env for each repository, in lower case
SEEN = "repository-ids"  # in the home: a file OWNER/REPOSITORY.id with the id of the one that has these
_Listed = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,39}(/[A-Za-z0-9._-]{1,100})?$")]
_Entry = Literal["devcontainer"] | ImageName
_LISTS: TypeAdapter[dict[str, tuple[str, ...]]] = TypeAdapter(dict[_Listed, tuple[_Entry, ...]])
Lists = Mapping[str, tuple[str, ...]]


def require_granted(config: Config, spec: RunSpec, rules: RepositoryRules, base: Base) -> None:
    """Raise ConfigError where the run's policy names an image that the operator does not list for its
    repository, or where that or its secrets were given to another repository of this name.

    With the first use they are this very repository's.
    """
    given = []
    if workspaces.load(spec.workspace).runs_images:
        lists = read_lists(config)
        if missing := find_unlisted(lists, spec.repository, rules):
            raise ConfigError(tuple(missing.values()))
        of_all = of_owner(lists, spec.repository)
        opens = any(not is_listed(image, of_all) for image in rules.images.values())
        if opens or (spec.recipe is not None and DEVCONTAINER not in of_all):
            given.append(Path(IMAGES))
    if spec.secrets or any(server.secrets for server in spec.servers):
        given.append(_secrets_file(spec.repository))
    for file in given:
        _require_same(config, spec.repository, base, file)


def find_unlisted(lists: Lists, repository: str, rules: RepositoryRules) -> dict[str, str]:
    """Return the policy's images that the operator does not list for the repository, each with a sentence."""
    allowed = (*lists.get(repository.casefold(), ()), *of_owner(lists, repository))
    return {
        image: f"{key}: {code(image)} is not in the operator's list for {repository}: the operator adds it to"
        f" `{IMAGES}` of Cardinal's home, on each host, as `{repository}: [{image}]`; or change the policy"
        for key, image in rules.images.items()
        if not is_listed(image, allowed)
    }


def may_build(config: Config, repository: str) -> bool:
    """Tell whether the operator lets the repository's devcontainer.json make an image here."""
    lists = read_lists(config)
    return DEVCONTAINER in (*lists.get(repository.casefold(), ()), *of_owner(lists, repository))


def of_owner(lists: Lists, repository: str) -> tuple[str, ...]:
    """Return the images that all repositories of the owner may open."""
    return lists.get(repository.partition("/")[0].casefold(), ())


def read_lists(config: Config) -> Lists:
    """Return the operator's lists of images, by owner or repository in lower case. Raises ConfigError."""
    path = config.home / IMAGES
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError((f"{path} cannot be read: {type(error).__name__}",)) from error
    try:
        written = _LISTS.validate_python(yaml_reader.read(text, first="acme/shop: [acme/ci]").tree)
    except PolicyError as error:
        raise ConfigError(tuple(f"{IMAGES}: {problem}" for problem in error.problems)) from error
    except ValidationError as error:
        wrong = (f"{'.'.join(map(str, it['loc']))}: {it['msg']}" for it in error.errors(include_input=False))
        raise ConfigError(tuple(f"{IMAGES}: {problem}" for problem in wrong)) from None
    lists: dict[str, tuple[str, ...]] = {}
    for name, images in written.items():
        lists[name.casefold()] = (*lists.get(name.casefold(), ()), *images)
    return lists


def tool_secrets(config: Config, repository: str, repository_id: str) -> dict[str, str]:
    """Return the secrets by name that tool servers of `repository` may have; none without a file, nor before
    `require_granted` found that they were given to the repository of this id.

    Raises ConfigError, without any value, for a file that cannot be read.
    """
    path = config.home / _secrets_file(repository)
    if ".." in path.parts or _read_record(config.home / _record_file(repository)) != repository_id:
        return {}
    values, mistakes = read_lines(path)
    if mistakes:
        raise ConfigError(tuple(mistakes))
    return values


def _secrets_file(repository: str) -> Path:
    return Path(SECRETS, f"{repository.casefold()}.env")


def _record_file(repository: str) -> Path:
    return Path(SEEN, f"{repository.casefold()}.id")


def _require_same(config: Config, repository: str, base: Base, given: Path) -> None:
    """Raise ConfigError where the file `given` of the home was meant for another repository of this name."""
    record, path = _record_file(repository), config.home / given
    if ".." in record.parts or not path.exists():
        return
    known = _read_record(config.home / record)
    if known and known != base.repository_id:
        raise ConfigError(
            (
                f"`{given}` of Cardinal's home says what an earlier {repository} was given,"
                " and this is another one: renamed, transferred or made anew. If it is to have that, the"
                f" operator removes `{record}` there; else what `{given}` says of {repository}",
            )
        )
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    if not known and base.born_at > written + CLOCK_SLACK:
        raise ConfigError(
            (
                f"`{given}` of Cardinal's home was written before {repository} was made, so it may be"
                " meant for an earlier repository of that name. If it is meant for this one, the operator"
                f" says so with `touch {given}` there",
            )
        )
    if not known:
        private_file.write(config.home / record, base.repository_id)


def _read_record(record: Path) -> str:
    return record.read_text(encoding="utf-8").strip() if record.exists() else ""
