"""What of a repository is covered, for a program that must not see it."""

from pathlib import Path

import pytest

from ledger.ids import CardId
from runner.errors import WorkspaceError
from runner.workspaces.card_folder import Folder


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    place = tmp_path / "place" / "repo"
    place.mkdir(parents=True)
    return place


def masked(repo: Path, *names: str) -> list[tuple[str, str]]:
    return list(Folder(repo.parent, CardId("c1"), 0, 0).mask(names))


def test_a_folder_is_covered_by_an_empty_one_and_a_file_by_a_blank_one(repo: Path) -> None:
    (repo / ".agent").mkdir()
    (repo / "agent.json").write_text("{}")
    assert masked(repo, ".agent", "agent.json", "not there") == [
        ("empty", "/workspace/repo/.agent"),
        ("blank", "/workspace/repo/agent.json"),
    ]


def test_a_links_target_is_covered(repo: Path) -> None:
    (repo / "real").write_text("{}")
    (repo / "agent.json").symlink_to("real")
    assert masked(repo, "agent.json") == [("blank", "/workspace/repo/real")]


def test_below_a_file_there_is_nothing(repo: Path) -> None:
    (repo / "agent.json").write_text("{}")
    assert masked(repo, "agent.json/plugin") == []


def test_a_link_out_of_the_repository_is_refused(repo: Path) -> None:
    (repo / "agent.json").symlink_to("/etc/passwd")
    with pytest.raises(WorkspaceError):
        masked(repo, "agent.json")
