"""What a commit's text says of its history."""

import time

from runner.git.commits import Commit, lead_to, parse_commit


def test_parents_stand_before_the_author_and_nowhere_else() -> None:
    who = "author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000"
    read = parse_commit("c", f"tree t\nparent a\nparent b\n{who}\nparent base\n\nparent x\n")
    assert (read.tree, read.parents) == ("t", ("a", "b"))


def test_commits_lead_to_what_is_behind_them() -> None:
    behind = {"d": ("b", "c"), "c": ("a",), "b": ("a",), "x": ("y",)}
    known = {name: Commit(name, "t", parents, "", "", "", "", "") for name, parents in behind.items()}
    assert [lead_to(known, "d", commit) for commit in "dcbaxy"] == [True, True, True, True, False, False]
    assert not lead_to(known, "unread", "a")


def test_a_commit_that_names_a_parent_very_often_is_no_work() -> None:
    known = {"d": Commit("d", "t", ("c",) * 40_000, "", "", "", "", "")}
    began = time.process_time()
    assert not lead_to(known, "d", "a")
    assert time.process_time() - began < 5
