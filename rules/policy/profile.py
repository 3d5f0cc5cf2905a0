"""A repository's own profile as people write it: Markdown, with front matter where it attaches skills."""

from dataclasses import dataclass

from rules.errors import PolicyError
from rules.policy import front_matter
from rules.policy.repository import Names, PolicyModel, setting


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
