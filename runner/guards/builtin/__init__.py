"""The guards: one file each, found by its name, which is also its key in the policy."""

from ledger.parts import Registry
from runner.guards.contract import Guard

GUARDS = Registry[Guard]("guard", __name__, Guard)
names, load = GUARDS.names, GUARDS.load
