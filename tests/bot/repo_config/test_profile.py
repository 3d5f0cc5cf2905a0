"""A repository's own profile: plain Markdown, or with the skills that it attaches."""

import pytest

from bot.repo_config.profiles import ProfileFile, parse_profile
from rules.errors import PolicyError

PATH = ".github/cardinal/profiles/ours.md"


def test_a_profile_without_front_matter_is_all_text() -> None:
    assert parse_profile(PATH, "# Ours\n---\nskills: [a]\n") == ProfileFile("# Ours\n---\nskills: [a]\n")


def test_front_matter_attaches_skills_and_is_no_part_of_the_text() -> None:
    profile_file = parse_profile(PATH, "---\r\nskills: [safe-migration, cache]\r\n---\r\nBe careful.\r\n")
    assert profile_file == ProfileFile("Be careful.\n", ("safe-migration", "cache"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\nskills: [a]\n", "the front matter does not end"),
        ("---\nskils: [a]\n---\nx", "skils: unknown key"),
        ("---\nskills: a\n---\nx", "line 2: skills"),
        ("---\n- a\n---\nx", "must be a mapping that begins with `skills: […]`"),
        (f"---\nskills: [{', '.join(f's{n}' for n in range(51))}]\n---\nx", "at most 50"),
    ],
)
def test_a_mistake_is_a_sentence_with_the_files_name(text: str, said: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_profile(PATH, text)
    assert caught.value.problems[0].startswith(f"{PATH}: ")
    assert said in caught.value.problems[0]
