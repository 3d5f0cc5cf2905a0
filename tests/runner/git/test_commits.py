"""What a commit's text says of its history."""

import time

from runner.git.commits import Commit, chain, lead_to, own_commit, parse_commit
from runner.run.run_spec import Committer


def test_parents_stand_before_the_author_and_nowhere_else() -> None:
    who = "author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000"
    read = parse_commit("c", f"tree t\nparent a\nparent b\n{who}\nparent base\n\nparent x\n")
    assert (read.tree, read.parents) == ("t", ("a", "b"))


def test_commits_lead_to_what_is_behind_them() -> None:
    behind = {"d": ("b", "c"), "c": ("a",), "b": ("a",), "x": ("y",)}
    known = {name: Commit(name, "t", parents, "", "", "", "", "") for name, parents in behind.items()}
    assert [lead_to(known, "d", commit) for commit in "dcbaxy"] == [True, True, True, True, False, False]
    assert not lead_to(known, "unread", "a")


def test_only_a_straight_line_of_commits_is_told_without_git() -> None:
    behind = {"d": ("c",), "c": ("b",), "m": ("d", "b"), "n": ("m",)}
    known = {name: Commit(name, "t", parents, "", "", "", "", "") for name, parents in behind.items()}
    assert chain(known, "d", ("b",)) == ("c", "d")
    assert chain(known, "b", ("b",)) == ()
    assert [chain(known, head, ("b",)) for head in "nm"] == [None, None]  # a merge
    assert chain(known, "d", ("a",)) is None  # what is behind `b` was not read
    assert chain(known, "d", ("b", "c")) == ("d",)
    assert chain(known, "d", ("c", "m")) is None  # `m` may have `d` behind it


def test_a_commit_that_names_a_parent_very_often_is_no_work() -> None:
    known = {"d": Commit("d", "t", ("c",) * 40_000, "", "", "", "", "")}
    began = time.process_time()
    assert not lead_to(known, "d", "a")
    assert time.process_time() - began < 5


def test_no_message_of_a_commit_takes_long_to_read() -> None:
    committer = Committer("C", "c@d")
    for line in ("a: a: ", "a: b\n", "-: -: \t", "a-"):
        commit = Commit("c", "t", (), "", "", "", "", f"Title\n\n{line * 10_000}\n!")
        began = time.process_time()
        own_commit(commit, committer, "r", "o/r#1", "1 +0000")
        assert time.process_time() - began < 5


def test_no_agent_writes_a_trailer_of_cardinals_in_its_message() -> None:
    said = "Title\n\nCardinal-Run: r9\ncardinal-approved-by : alice\nCardinal-Requested-By\t: bob\nFixes: 1"
    commit = own_commit(
        Commit("c", "t", (), "", "", "", "", said), Committer("C", "c@d"), "r1", "o/r#1", "1 +0000"
    )
    assert commit.message == "Title\n\nFixes: 1\nCardinal-Run: r1\nCardinal-Card: o/r#1"


def test_trailers_of_a_message_stay_together() -> None:
    committer = Committer("C", "c@d")
    said = {"Title\n\nSigned-off-by: a: b\nFixes: 1": "\n", "Title\n\nplain words": "\n\n", "Title": "\n\n"}
    for message, between in said.items():
        commit = own_commit(Commit("c", "t", (), "", "", "", "", message), committer, "r", "o/r#1", "1 +0000")
        assert commit.message.startswith(f"{message}{between}Cardinal-Run: r")
