"""A forge goes on where its file says; a foreign file makes nothing but values."""

import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import pytest

from forge.portable.saved import SavedForge, StateError
from forge.store import Store
from forge.store.models import UserType
from tests.forge.portable.conftest import Portable
from tests.runner.world import git


def test_what_was_written_is_there_again_and_what_was_not_did_not_happen(portable: Portable) -> None:
    saved = SavedForge(portable.root)
    kept = portable.work("cardinal/1", "Hello.")
    saved.write(portable.store, portable.world, {"refs/heads/main": kept})
    portable.work("cardinal/1", "Hello, killed.")
    portable.work("cardinal/2", "Killed, too.")
    portable.merge("cardinal/1")
    opened = SavedForge(portable.root).read()
    assert opened is not None
    store, world, shared = opened
    refs = store.repos.git(store.repos.get("local", "shop")).branches()
    assert (refs["cardinal/1"], {*refs}) == (kept, {"main", "cardinal/1"})
    assert shared == {"refs/heads/main": kept}
    assert [item.title for item in world.project.items] == ["Say hello"]
    assert store.projects.get(store.users.get("local"), 1) is world.project
    assert oct((portable.root / "state").stat().st_mode)[-3:] == "600"


def test_where_nothing_was_written_there_is_nothing(tmp_path: Path) -> None:
    assert SavedForge(tmp_path).read() is None


class Hostile:
    """A pickle that calls something when it is read."""

    def __init__(self, call: Any, *given: Any) -> None:
        self.call, self.given = call, given

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self.call, self.given


@pytest.mark.parametrize("call", [os.system, subprocess.Popen, eval, setattr])
def test_a_file_of_somebody_else_runs_nothing(tmp_path: Path, call: Any) -> None:
    (tmp_path / "state").write_bytes(pickle.dumps(Hostile(call, f"touch {tmp_path}/ran")))
    with pytest.raises(StateError, match="is nothing that a forge keeps"):
        SavedForge(tmp_path).read()
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "name", ["forge.store.repos\nGitError", "forge.store.repos\nre.compile", "forge.store.base\nwraps"]
)
def test_names_that_lead_out_of_the_store_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "state").write_bytes(f"c{name}\n.".encode())
    with pytest.raises(StateError, match=r"is no class|Can't get|has no"):
        SavedForge(tmp_path).read()


class Reduced:
    """What is pickled as a call of `getattr`, as Python 3.11.2, that of Debian 12, does with enumerations."""

    def __init__(self, *words: object) -> None:
        self.words = words

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, self.words


def test_members_of_enumerations_are_read_as_every_python_writes_them(tmp_path: Path) -> None:
    member = Reduced(UserType, "BOT")
    (tmp_path / "state").write_bytes(pickle.dumps((Store(tmp_path), member, {}, {})))
    assert SavedForge(tmp_path).load()[1] is UserType.BOT


@pytest.mark.parametrize("words", [(Store, "__init__"), (UserType, "__init__"), (UserType.BOT, "__class__")])
def test_no_other_attribute_is_read(tmp_path: Path, words: tuple[object, str]) -> None:
    (tmp_path / "state").write_bytes(pickle.dumps((Store(tmp_path), Reduced(*words), {}, {})))
    with pytest.raises(StateError, match=r"asks for an attribute|KeyError"):
        SavedForge(tmp_path).read()


def test_a_torn_file_is_said_to_be_one(portable: Portable) -> None:
    saved = SavedForge(portable.root)
    saved.write(portable.store, portable.world, {})
    whole = (portable.root / "state").read_bytes()
    (portable.root / "state").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StateError):
        saved.read()
    assert git(portable.ours, "rev-parse", "main")


def test_what_an_older_cardinal_wrote_gets_the_fields_that_have_come_since(portable: Portable) -> None:
    ann, repo = portable.store.users.get("ann"), portable.store.repos.get("local", "shop")
    del ann.public_email, repo.required_checks
    del portable.store.links, vars(portable.store.repos)["_former"]
    SavedForge(portable.root).write(portable.store, portable.world, {})
    opened = SavedForge(portable.root).read()
    assert opened is not None
    store = opened[0]
    assert (store.users.get("ann").public_email, store.repos.get("local", "shop").required_checks) == ("", {})
    assert (store.links.store, store.repos.formerly("local", "other")) == (store, None)


def test_a_field_that_nobody_can_guess_is_said(portable: Portable) -> None:
    del portable.store.users.get("ann").name
    SavedForge(portable.root).write(portable.store, portable.world, {})
    with pytest.raises(StateError, match="User has no name: another version wrote it"):
        SavedForge(portable.root).read()
