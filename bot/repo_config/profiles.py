"""The profile of a repository: one of its own in `.github/cardinal/profiles/`, else a built-in one."""

from dataclasses import dataclass

from bot.github.api import contents
from bot.github.client import Hub
from ledger.model.policy_settings import Names, PolicyModel, setting
from rules.errors import PolicyError
from rules.policy.board import BoardRules
from rules.policy.locations import PROFILES_FOLDER
from rules.policy.markdown import front_matter
from rules.policy.model import parse_repository
from rules.policy.repository import RepositoryRules
from rules.policy.validate import NO_PROFILE
from rules.registry import PROFILES
from runner.guards import builtin as guards
from runner.run.instructions import Layer, LayerKind, own_layer
from runner.text.visible import strip_hidden

PROFILE_BYTES = 16_000
MAX_OWN = 100


class ProfileFrontMatter(PolicyModel):
    """The front matter of a profile."""

    skills: Names = setting((), "Skills for every card of the repository, in this order.")


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """A profile that was read."""

    text: str
    skills: tuple[str, ...] = ()


def parse_profile(path: str, text: str) -> ProfileFile:
    """Return the profile in the file; one that does not begin with `---` is all text.

    Raises PolicyError with a sentence for each problem of the front matter.
    """
    if not front_matter.begins(text):
        return ProfileFile(text)
    try:
        head, body = front_matter.split(text)
        front = front_matter.read(head, ProfileFrontMatter, "skills: […]")
    except PolicyError as error:
        raise PolicyError(tuple(f"{path}: {problem}" for problem in error.problems)) from error
    return ProfileFile(body.strip() + "\n", front.skills)


def own_profile_names(hub: Hub, repository: str, commit: str, text: str) -> tuple[str, ...]:
    """Return the repository's own profiles; GitHub is not asked where its policy `text` names none."""
    try:
        wanted = parse_repository(text).profile
    except PolicyError:
        return ()
    if wanted == NO_PROFILE or wanted in PROFILES.names() or not commit:
        return ()
    listed = contents.entries(hub, repository, PROFILES_FOLDER, commit)
    return tuple(
        entry.name.removesuffix(".md")
        for entry in listed
        if entry.kind == "file" and entry.name.endswith(".md")
    )[:MAX_OWN]


def rules_of(hub: Hub, repository: str, text: str | None, commit: str, board: BoardRules) -> RepositoryRules:
    """Return the rules of the repository's policy `text` at that commit; the board's without a text.

    Raises PolicyError.
    """
    if not text:
        return board.repositories.without_policy
    return parse_repository(text, own_profile_names(hub, repository, commit, text), guards=guards.names())


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile's part in a run: at most one layer, and skills. `firm`: the repository itself names them, so
    a missing one is reported.
    """

    name: str = ""
    layers: tuple[Layer, ...] = ()
    skills: tuple[str, ...] = ()
    firm: bool = False


def load(hub: Hub, repository: str, commit: str, rules: RepositoryRules) -> Profile:
    """Return the profile, an empty one for `none`; one of the repository's own counts before a built-in one.

    Raises PolicyError where the repository's own cannot be read.
    """
    name = rules.profile
    if name == NO_PROFILE:
        return Profile()
    listed = {entry.name: entry for entry in contents.entries(hub, repository, PROFILES_FOLDER, commit)}
    entry = listed.get(f"{name}.md")
    if entry is None or entry.kind != "file":
        part = PROFILES.load(name)
        layer = own_layer(LayerKind.PROFILE, name, "built in", part.TEXT)
        return Profile(name, (layer,), part.SKILLS)
    path = f"{PROFILES_FOLDER}/{name}.md"
    raw = contents.content(hub, repository, path, commit, most_bytes=PROFILE_BYTES)
    file = profile_of(path, raw)
    layer = own_layer(LayerKind.PROFILE, name, path, strip_hidden(file.text, paths=True))
    return Profile(name, (layer,), file.skills, firm=True)


def profile_of(path: str, raw: bytes | None) -> ProfileFile:
    """Return a file's profile. Raises PolicyError, also for None: it cannot be read."""
    if raw is None:
        raise PolicyError((f"{path}: it must be a plain file of at most {PROFILE_BYTES} bytes",))
    return parse_profile(path, raw.decode("utf-8-sig", "replace"))
