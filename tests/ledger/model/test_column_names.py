"""Names of columns: what people read as one name is one."""

import pytest

from ledger.model.column_names import column_key, same_column


@pytest.mark.parametrize(
    "other",
    [
        "In progress",
        "in progress",
        "INPROGRESS",
        " In  Progress ",
        "🏗 In progress",
        "🏗️ In progress 🧑\u200d💻",
        "In\u00a0Progress",
        "In\u200bProgress",
        "Ｉｎ Progress",
        "👍🏽 In Progress",
        "\ufeffIn Progress",
    ],
)
def test_case_spaces_and_emoji_make_no_other_column(other: str) -> None:
    assert same_column("In Progress", other)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Review", "In review"),
        ("QA", "Q&A"),
        ("Done", "Done!"),
        ("v1", "v2"),
        ("C", "C++"),
        ("Résumé", "Resume"),
        ("🔥", "🧊"),
        ("🔥", ""),
        ("🔥", None),
        ("進行中", "完了"),
        ("Done", None),
    ],
)
def test_other_letters_digits_and_signs_do(first: str, second: str | None) -> None:
    assert not same_column(first, second)


def test_no_column_is_like_no_column() -> None:
    assert same_column(None, "")
    assert column_key("🔥") == "🔥"
