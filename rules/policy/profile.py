"""A repository's own profile as people write it: Markdown, with front matter where it attaches skills."""

from dataclasses import dataclass

from pydantic import ValidationError

from rules.errors import PolicyError
from rules.policy.messages import capped, sentences
from rules.policy.repository import Names, PolicyModel, setting
from rules.policy.yaml_reader import Written, read

_FENCE = "---"


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
    rows = text.replace("\r\n", "\n").split("\n")
    if rows[0].rstrip() != _FENCE:
        return ProfileFile(text)
    end = next((at for at, row in enumerate(rows[1:], start=1) if row.rstrip() == _FENCE), None)
    if end is None:
        raise PolicyError((f"{path}: the front matter has no end: put `---` on a line of its own behind it",))
    written = Written({}, {})
    try:
        written = read("\n".join(("", *rows[1:end])), first="skills: […]")
        front = ProfileFrontMatter.model_validate(written.tree)
    except PolicyError as error:
        raise PolicyError(tuple(f"{path}: {problem}" for problem in error.problems)) from error
    except ValidationError as error:
        raise PolicyError(
            tuple(f"{path}: {problem}" for problem in capped(sentences(error, ProfileFrontMatter, written)))
        ) from error
    return ProfileFile("\n".join(rows[end + 1 :]).strip() + "\n", front.skills)
