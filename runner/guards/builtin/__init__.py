"""The guards: one file each, found by its name, which is also its key in the policy."""

from threading import Thread
from typing import TYPE_CHECKING

from ledger.parts import Registry
from runner.guards.contract import Guard

if TYPE_CHECKING:
    from runner.run.run_spec import Guards

GUARDS = Registry[Guard]("guard", __name__, Guard)
names, load = GUARDS.names, GUARDS.load


def load_ahead(rules: "Guards") -> Thread:
    """Let the guards in force get ready while an agent works; return the thread. Who judges sooner waits."""

    def load_all() -> None:
        for name, guard in GUARDS.all():
            if guard.LOAD is not None and rules.action(name) != "allow":
                guard.LOAD()

    thread = Thread(target=load_all, name="guards", daemon=True)
    thread.start()
    return thread
