"""The world of `cardinal try`: one person, a copy of one branch of their repository, a board."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from forge.seed.world import World
from forge.store import Store
from forge.store.board import Option
from forge.store.models import Role

OWNER, HOME = "local", "board"
POLICY = ".github/cardinal.yml"
GATE = "cardinal/gate"
FIRST_CARD = ("Say hello", "Add a file `hello.txt` that greets whoever opens it.")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What `cardinal try` was told, as it is in `try.json`.

    `git` is the folder of git in the person's repository, `into` the branch that *Done* merges into.
    """

    git: str
    name: str
    into: str
    login: str
    person: str
    email: str
    columns: tuple[str, ...]
    port: int = 0

    @classmethod
    def of(cls, text: str) -> "Wanted":
        given: dict[str, Any] = json.loads(text)
        known = {field.name: given[field.name] for field in fields(cls) if field.name in given}
        return cls(**{**known, "columns": tuple(given["columns"])})


def build(store: Store, wanted: Wanted) -> World:
    """Fill the store with the person, a copy of their branch, the policy's home and a board with one card."""
    person = store.users.add(wanted.login, name=wanted.person)
    person.public_email = wanted.email
    owner = store.users.add_organization(OWNER, [person])
    app, private_key = store.apps.register(owner, "Cardinal", "cardinal")
    repo = store.repos.copy(owner, wanted.name, Path(wanted.git), wanted.into)
    home = store.repos.create(owner, HOME, description="The home of the board's policy", private=True)
    for each in (repo, home):
        store.repos.set_role(each, person, Role.ADMIN)
    store.repos.protect(repo, wanted.into, reviews=1)
    repo.required_checks[wanted.into] = (GATE,)
    repo.auto_merge_allowed = True  # a merge that comes before the gate's result waits for it
    project = store.projects.create(owner, wanted.name, wanted.columns, actor=person)
    issue = store.issues.create(repo, *FIRST_CARD, actor=person)
    store.projects.drag(store.projects.add(project, issue, actor=person), wanted.columns[0], actor=person)
    return World(app, store.apps.install(app, owner, actor=person), private_key, project)


def add_columns(store: Store, world: World, names: Sequence[str]) -> None:
    """Give the board these columns, in this order; others that it has stay, behind them."""
    status = world.project.field_named("Status")
    assert status is not None
    left = {option.name.casefold(): option for option in status.options}
    wanted = [
        left.pop(key) if (key := name.casefold()) in left else Option("", name, "GRAY", "") for name in names
    ]
    if (options := [*wanted, *left.values()]) != status.options:
        store.projects.update_field(status, options=options)


def write_policy(store: Store, world: World, text: str) -> None:
    """Commit the policy file to its home, unless it is there as it is."""
    home = store.repos.get(OWNER, HOME)
    git = store.repos.git(home)
    if git.resolve("main") is None or git.read("main", POLICY) != text.encode():
        person = world.project.creator
        store.repos.write_files(home, "main", {POLICY: text.encode()}, "Write the policy", actor=person)
