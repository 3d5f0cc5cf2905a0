"""A SKILL.md is read strictly, and a hostile one is refused with one short sentence."""

import pytest

from rules.policy.markdown.skill import SKILL_BYTES, SkillFile, SkillFileError, parse

GOOD = (
    b"---\nname: cache\ndescription: How we cache.\ntriggers: [redis, hot path]\nversion: 1.2\n---\n"
    b"\nUse it.\n"
)


def test_front_matter_and_text_are_read() -> None:
    wanted = SkillFile("cache", "How we cache.", ("redis", "hot path"), "1.2", "Use it.")
    assert parse("cache", GOOD) == wanted
    assert parse("cache", b"\xef\xbb\xbf" + GOOD.replace(b"\n", b"\r\n")) == wanted


def test_keys_that_other_programs_obey_are_no_error() -> None:
    more = b"license: MIT\nallowed-tools: Read, Bash\nmetadata: {a: b}\ncompatibility: any\n---"
    assert parse("cache", GOOD.replace(b"---\n\n", more + b"\n\n")).text == "Use it."


@pytest.mark.parametrize(
    ("raw", "because"),
    [
        (b"Use it.", "must begin with front matter"),
        (b"", "must begin with front matter"),
        (b"---\nname: cache\n", "must begin with front matter"),
        (GOOD + b"x" * SKILL_BYTES, f"the limit is {SKILL_BYTES}"),
        (b"---\n" + b"# " + b"x" * 5_000 + b"\n---\nUse it.", "front matter has more than 4000 bytes"),
        (b"\xff\xfe", "is not UTF-8"),
        (GOOD.replace(b"name: cache", b"name: other"), "has the name `other`, which differs from its folder"),
        (GOOD.replace(b"Use it.\n", b" \n"), "has no text after the front matter"),
        (GOOD.replace(b"version", b"verison"), "did you mean version?"),
        (GOOD.replace(b"description: How we cache.\n", b""), "description: is missing"),
        (GOOD.replace(b"[redis, hot path]", b"[x]"), "triggers"),
        (GOOD.replace(b"[redis, hot path]", b"[" + b"ab, " * 30 + b"cd]"), "triggers"),
        (GOOD.replace(b"1.2", b"!!python/object/apply:os.system [id]"), "tags are not allowed"),
        (GOOD.replace(b"1.2", b"&a [x]\nlicense: *a"), "aliases are not allowed"),
        (GOOD.replace(b"1.2", b"[" * 40 + b"]" * 40), "nested too deeply"),
        (GOOD.replace(b"version: 1.2", b"name: cache"), "appears twice"),
        (GOOD.replace(b"name: cache", b"name: [a"), "front matter"),
    ],
)
def test_what_is_no_skill_is_refused_in_one_sentence(raw: bytes, because: str) -> None:
    with pytest.raises(SkillFileError) as refused:
        parse("cache", raw)
    said = str(refused.value)
    assert because in said
    assert len(said) < 300
    assert "\n" not in said


def test_hidden_characters_are_not_in_what_people_read_of_it() -> None:
    raw = GOOD.replace(b"How we cache.", "How \u202ewe cache\u200b.".encode())
    assert parse("cache", raw).description == "How we cache."
