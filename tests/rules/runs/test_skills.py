"""Which skills a run gets: by default, label, description, command, trigger; never more than fit."""

from dataclasses import replace

import pytest

from rules.policy.repository import Skills
from rules.runs.skills import (
    ALL_BYTES,
    MAX_LOADED,
    MAX_NAMED,
    OPERATOR,
    REPOSITORY,
    Offer,
    SkillContext,
    choose_skills,
    find_skill_line,
    names_of,
)

RULES = Skills(default=("style",), labels={"Area:DB": ("safe-migration", "style")})
CARD = SkillContext("Add a migration for totals", trusted=True)


def offer(name: str, *triggers: str, source: str = REPOSITORY, **more: object) -> Offer:
    return replace(Offer(name, source, "1", "d" * 64, 100, triggers), **more)  # type: ignore[arg-type]


def loaded(context: SkillContext, *offers: Offer, rules: Skills = RULES) -> list[tuple[str, str]]:
    return [(skill.offer.name, skill.why) for skill in choose_skills(rules, context, offers) if skill.loaded]


def skipped(context: SkillContext, *offers: Offer, rules: Skills = RULES) -> dict[str, str]:
    return {one.offer.name: one.why for one in choose_skills(rules, context, offers) if not one.loaded}


STYLE, MIGRATE, CACHE = (
    offer("style"),
    offer("safe-migration", "migration"),
    offer("cache", "redis", "hot path"),
)


@pytest.mark.parametrize(
    ("occasion", "wanted"),
    [
        (replace(CARD, title="x"), [("style", "by default")]),
        (
            replace(CARD, title="x", labels=("area:db",)),
            [("style", "by default"), ("safe-migration", "label `Area:DB`")],
        ),
        (
            replace(CARD, title="x", profile="our_shop", attached=("cache", "Style"), labels=("area:db",)),
            [
                ("style", "by default"),
                ("cache", "by profile `our_shop`"),
                ("safe-migration", "label `Area:DB`"),
            ],
        ),
        (
            replace(CARD, title="x", line=("cache",)),
            [("style", "by default"), ("cache", "the description asks for it")],
        ),
        (
            replace(CARD, title="x", pinned=("cache", "style")),
            [("style", "by default"), ("cache", "/cardinal skills")],
        ),
        (CARD, [("style", "by default"), ("safe-migration", "trigger `migration` in the title")]),
        (
            replace(CARD, title="x", labels=("Hot Path",)),
            [("style", "by default"), ("cache", "trigger `hot path` in a label")],
        ),
        (replace(CARD, title="immigrations and predispositions"), [("style", "by default")]),
    ],
)
def test_a_skill_is_loaded_for_one_reason_in_a_fixed_order(
    occasion: SkillContext, wanted: list[tuple[str, str]]
) -> None:
    assert loaded(occasion, STYLE, MIGRATE, CACHE) == wanted
    assert loaded(occasion, CACHE, MIGRATE, STYLE) == wanted


def test_what_nothing_asks_for_is_skipped_and_that_is_said() -> None:
    assert skipped(replace(CARD, title="x"), STYLE, MIGRATE) == {"safe-migration": "nothing asks for it"}


def test_it_is_known_whether_something_asked_for_a_skill() -> None:
    stranger = replace(CARD, trusted=False, line=("cache",))
    choices = choose_skills(Skills(default=("style",)), stranger, (STYLE, offer("other"), CACHE))
    assert {skill.offer.name: skill.requested for skill in choices} == {
        "style": True,
        "cache": True,
        "other": False,
    }


def test_a_name_without_a_skill_is_said() -> None:
    assert skipped(replace(CARD, pinned=("nowhere",)), STYLE) == {
        "nowhere": "/cardinal skills, but there is no skill of this name"
    }


def test_the_words_of_people_without_write_access_load_nothing() -> None:
    stranger = replace(CARD, trusted=False, line=("cache",))
    assert loaded(stranger, STYLE, MIGRATE, CACHE) == [("style", "by default")]
    assert skipped(stranger, MIGRATE, CACHE, rules=Skills()) == {
        "safe-migration": "only a title without write access has its trigger",
        "cache": "only a description without write access asks for it",
    }
    assert loaded(replace(stranger, labels=("needs migration",)), MIGRATE, rules=Skills()) == [
        ("safe-migration", "trigger `migration` in a label")
    ]


def test_the_trigger_words_of_a_private_skill_are_not_said() -> None:
    private = replace(MIGRATE, source=OPERATOR)
    assert loaded(CARD, private, rules=Skills()) == [("safe-migration", "a trigger of its own in the title")]


def test_of_two_with_one_name_the_repositorys_counts() -> None:
    private = offer("style", source=OPERATOR)
    choices = choose_skills(RULES, CARD, (private, STYLE))
    assert [(skill.offer.source, skill.loaded, skill.why) for skill in choices] == [
        (REPOSITORY, True, "by default"),
        (OPERATOR, False, "the repository has one of the same name"),
    ]


def test_what_cannot_be_used_is_skipped_with_the_reason() -> None:
    assert skipped(CARD, offer("style", problem="its SKILL.md is not UTF-8")) == {
        "style": "by default, but its SKILL.md is not UTF-8"
    }


def test_only_so_many_are_loaded() -> None:
    names = tuple(f"s{number:02}" for number in range(MAX_LOADED + 2))
    skills = Skills(default=names)
    offers = [offer(name) for name in names]
    assert [name for name, _ in loaded(CARD, *offers, rules=skills)] == list(names[:MAX_LOADED])
    assert skipped(CARD, *offers, rules=skills) == dict.fromkeys(
        names[MAX_LOADED:], "by default, but 8 skills are the most"
    )


def test_what_does_not_fit_any_more_is_skipped_and_a_smaller_one_still_fits() -> None:
    skills = Skills(default=("a", "b", "c"))
    half = ALL_BYTES // 2 + 1
    offers = (offer("a", size_bytes=half), offer("b", size_bytes=half), offer("c", size_bytes=10))
    assert [name for name, _ in loaded(CARD, *offers, rules=skills)] == ["a", "c"]
    assert skipped(CARD, *offers, rules=skills) == {
        "b": f"by default, but all skills together have at most {ALL_BYTES} bytes"
    }


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Please.\n\nSkills: safe-migration, `cache`\nMore.", ("safe-migration", "cache")),
        ("skills:a b  A", ("a", "b")),
        ("```\nSkills: a\n```\nSkills: b", ("b",)),
        ("> Skills: a", ()),
        ("My skills: a", ()),
        ("Skills: ../../etc, .git, a/b, -x", ()),
        ("Skills:", ()),
        (
            "Skills: " + ",".join(f"s{number}" for number in range(99)),
            tuple(f"s{n}" for n in range(MAX_NAMED)),
        ),
    ],
)
def test_a_description_names_skills_in_a_line_of_its_own(text: str, names: tuple[str, ...]) -> None:
    assert find_skill_line(text) == names


def test_a_name_is_a_name_whatever_stands_around_it() -> None:
    assert names_of("**safe-migration**. `Cache`") == ("safe-migration", "cache")
