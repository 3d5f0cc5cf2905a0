"""A tick is a command only in a box that Cardinal made, and only when it is new."""

import pytest

from bot.render.markdown.checkboxes import box, newly_ticked


def test_a_new_tick_is_found_by_its_hidden_name() -> None:
    before = "\n".join(("text", box("approve", "Approve"), box("cancel", "Cancel")))
    assert newly_ticked(before, before.replace("- [ ] Approve", "- [x] Approve")) == ("approve",)
    assert newly_ticked(before, before.replace("[ ]", "[X]")) == ("approve", "cancel")


def test_an_old_tick_an_untick_and_another_edit_are_nothing() -> None:
    before = box("approve", "Approve", ticked=True)
    assert newly_ticked(before, before) == ()
    assert newly_ticked(before, box("approve", "Approve")) == ()
    assert newly_ticked(box("approve", "Approve"), box("approve", "Approve really")) == ()


def test_a_ticked_line_of_that_name_in_an_output_does_not_kill_the_button() -> None:
    output = "```text\n- [x] done <!-- box:retry -->\n```\n"
    assert newly_ticked(
        output + box("retry", "Try again"), output + box("retry", "Try again", ticked=True)
    ) == ("retry",)


def test_a_choice_has_the_question_and_the_number_in_its_name() -> None:
    assert newly_ticked("", box("choice:r1-q1:2", "2. blue", ticked=True)) == ("choice:r1-q1:2",)


@pytest.mark.parametrize(
    "body",
    [
        "> - [x] Approve <!-- box:approve -->",
        "    - [x] Approve <!-- box:approve -->",
        "- [x] Approve <!-- box:approve --> and more",
        "- [x] Approve <!-- box:rm -rf / -->",
        "- [x] Approve",
        "[x] Approve <!-- box:approve -->",
    ],
)
def test_quoted_indented_and_crooked_boxes_are_no_boxes(body: str) -> None:
    assert newly_ticked("", body) == ()


def test_lines_that_end_as_on_windows_count_too() -> None:
    assert newly_ticked("", "a\r\n" + box("pause", "Pause", ticked=True) + "\r\n") == ("pause",)
