"""A reply to a question is read as people write it, by hand and by mail; in doubt they are asked."""

import time

import pytest

from ledger.model.reply_text import ReplyChoice, own_words, read_reply, says_more

CHOICES = ("Publish these files too", "Stop here")
MAIL = (
    "\n\nOn Mon, Nov 29, 2026 at 10:00 AM cardinal[bot] ***@***.***> wrote:\n\n> 1. Publish these files too\n"
)
FOOTER = "\n\n—\nReply to this email directly, view it on GitHub.\nYou are receiving this because …"
AGREES = [
    "1", "yes", "Y", "Yes please", "publish", "publish it", "👍🏽", "sure",
    "yes, publish these files too", "+1", "LGTM!", "go ahead", "sounds good", "1 thanks",
    "publish these files", "the first one",
]  # fmt: skip
STOPS = [
    "2", "2. Stop here", "#2", "No, stop here.", "no", "Nope", "stop", "2)", "(2)",
    "Option 2: Stop here", "2, thanks", "2\n\nThanks,\nBob", "Thanks!\n2", "2️⃣", "②", "２", "**2**",
    "`2`", "I'd go with 2", "the second", "ok, stop here", "Let's stop here", "> Which one?\n\n2",
    "> 2. Stop here", "- [x] Stop here", "stop here, thank you very much", "👎",
    "2\nSent from my iPhone", "2\u200b", "\ufeff2", "number 2", "2 - Stop here", "“Stop here”",
    "STOP HERE!", "2\n\n-- \nBob\nAcme 1", f"2{MAIL}", f"2{FOOTER}", f"2{MAIL}{FOOTER}",
    "@cardinal 2", "2\u00a0thanks",
    "2\n\nOn Mon, Nov 29, 2026 at 10:00 AM cardinal[bot]\n<notifications@example.com> wrote:\n> x",
    "2\r\n\r\nAm 29.11.26 schrieb cardinal[bot] <a@example.com>:\r\n> x",
    "2\n\n*From:* cardinal\n*Sent:* Monday\nyes",
]  # fmt: skip
UNSURE = [
    "don't stop here", "not 2", "1 or 2?", "1 and 2", "yes, stop here", "2 but rename it",
    "No, rename it", "3", "2?", "2 files are wrong", "stop, don't publish",
    "publish nothing, stop here", "no idea", "no 1",
]  # fmt: skip
WORDS = [
    "Rename the file to a.sh", "use a different approach", "why?", "thanks", "",
    "I 2 agree, and would rename both of them",
]  # fmt: skip


@pytest.mark.parametrize(("said", "choice"), [(stop, 0) for stop in AGREES] + [(stop, 1) for stop in STOPS])
def test_a_choice_is_read_however_it_is_written(said: str, choice: int) -> None:
    assert read_reply(CHOICES, said, yes=0, no=1).choice == choice


@pytest.mark.parametrize("said", UNSURE)
def test_what_names_a_choice_and_says_more_is_not_taken_for_it(said: str) -> None:
    assert read_reply(CHOICES, said, yes=0, no=1) == ReplyChoice(said, unsure=True)


@pytest.mark.parametrize("said", WORDS)
def test_other_words_are_words(said: str) -> None:
    assert read_reply(CHOICES, said, yes=0, no=1) == ReplyChoice(said)


def test_a_yes_names_no_choice_where_none_is_one() -> None:
    assert read_reply(("Cancel the run", "Let it finish"), "yes").unsure
    assert read_reply(("Yes", "No"), "yes").choice == 0


@pytest.mark.parametrize(
    ("said", "choice"), [("allow once", 0), ("do not allow", 2), ("allow", None), ("once", None)]
)
def test_a_part_of_a_choice_names_it_where_no_other_has_it(said: str, choice: int | None) -> None:
    allow = ("Allow it once", "Allow it for this card from now on", "Do not allow it")
    assert read_reply(allow, said, yes=0, no=2).choice == choice


def test_what_mail_adds_is_taken_off_and_the_rest_stays_as_it_is() -> None:
    block = "```\n> kept\n-- \n```"
    assert own_words(f"Use\n{block}\nplease{MAIL}{FOOTER}") == f"Use\n{block}\nplease"
    assert own_words("first\n> said\nsecond") == "first\nsecond"
    assert own_words("> only a quote") == "> only a quote"


@pytest.mark.parametrize(
    "said",
    [
        *("yes? thanks", "1? please", "(yes?)", "yes؟", "Publish these files too‽", "is it 1"),
        *("$1", "1%", "1 €", "−⁠1 to it", "+1 -1", "-1, thanks", "please −1", "−1", "–1"),
        *("❌ 1", "🚫 continue", "✖ yes", "≠ 1", "👎 1", "🙅 yes"),
        *("~~yes~~", "~~1~~", "<!-- yes -->", "- [ ] Publish these files too", "[ ] 1"),
        *("yes\nthanks\nnot yet", "1\ncheers\nno 2", "go on\nthanks\nin a week", "ok\nthanks\nStop!"),
        *("1\nThanks\nTests First", "1\n\nThanks\nTests First", "1\nThanks\nBob", "1\n\nThanks\nStop Here"),
        *("yes\nthanks\nNever", "yes\nregards\nDo Not", "No. 1"),
        *("> yes", "> ok\n>\n> thanks", ">> go on"),
    ],
)
def test_signs_and_words_around_a_yes_that_may_mean_another_thing_agree_to_nothing(said: str) -> None:
    assert read_reply(CHOICES, said, yes=0, no=1).choice != 0


@pytest.mark.parametrize(
    "said",
    [
        *("yes 👍", "Yes!\n\nMany thanks\nAnna Weber", "1\n\nBest regards,\n- A. Weber\nAcme"),
        *("- [x] Publish these files too", "1, thanks 🙏", "(1)", "+1 thanks", "Yes, 1"),
    ],
)
def test_thanks_names_and_kind_pictures_leave_a_yes_a_yes(said: str) -> None:
    assert read_reply(CHOICES, said, yes=0, no=1).choice == 0


@pytest.mark.parametrize(
    ("below", "more"),
    [
        *(
            (stop, False)
            for stop in ("", "\n", "thanks!", "lgtm 👍", "> quoted", f"\n{MAIL}", FOOTER, "-- \nBob")
        ),
        *((it, False) for it in ("Thanks,\nBob", "ok", "please", "Sent from my iPhone")),
        *((it, True) for it in ("NO WAIT", "not", "👎", "🛑", "<!-- no -->", "> quoted\nno", "```\nx\n```")),
        *((stop, True) for stop in ("Thanks,\nNo Wait", "wait\n\nthanks", "1", f"{'ok ' * 4_000}not")),
    ],
)
def test_thanks_and_what_mail_adds_say_no_more_than_the_command_above_them(below: str, more: bool) -> None:
    assert says_more(below) is more


@pytest.mark.parametrize("said", ["no ", "ok, ", "yes no ", "\n", "thanks ", "1 1: "])
def test_a_reply_that_repeats_itself_without_end_is_read_and_soon(said: str) -> None:
    begun_s = time.process_time()
    read_reply(CHOICES, said * 30_000, yes=0, no=1)
    assert time.process_time() - begun_s < 0.3


@pytest.mark.parametrize("said", ["no one", "no 1", "no, first"])
def test_a_no_with_a_number_chooses_nothing_where_no_choice_is_a_no(said: str) -> None:
    assert read_reply(("Cancel the run", "Let it finish"), said).choice is None
