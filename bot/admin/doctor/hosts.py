"""Checks of the hosts: those that are dead, their versions, the labels that columns demand."""

from collections.abc import Iterator

from bot.admin.doctor import CheckResult, DoctorContext, fail, ok, warn
from ledger.queries import hosts
from ledger.queries.hosts import HostState, HostStatus
from rules.text import brief, count


def dead(context: DoctorContext) -> Iterator[CheckResult]:
    """Is any listed host dead?"""
    listed = _join_names(context)
    silent = [host for host in listed if host.state is HostState.DEAD]
    for host in silent:
        message = f"the host {host.row.name} is dead: its last heartbeat was {brief(host.silence)} ago"
        step = f"start Cardinal there, or remove it with `cardinal hosts --remove {host.row.name}`"
        yield warn("hosts", message, step)
    if listed and not silent:
        yield ok("hosts", f"{count(len(listed), 'host')} listed, none is dead")


def versions(context: DoctorContext) -> Iterator[CheckResult]:
    """Do all live hosts run the same version?"""
    by_version: dict[str, list[str]] = {}
    for host in _join_names(context):
        if host.state is not HostState.DEAD:
            by_version.setdefault(host.row.version, []).append(host.row.name)
    if len(by_version) > 1:
        listed = "; ".join(f"{version} on {', '.join(names)}" for version, names in by_version.items())
        message = f"the hosts run different versions: {listed}"
        yield warn("versions", message, "stop the older ones, upgrade them, and start them again")
    elif by_version:
        yield ok("versions", f"all live hosts run {next(iter(by_version))}")


def labels(context: DoctorContext) -> Iterator[CheckResult]:
    """Does some host have the labels each column's `runs_on` requires?

    Where no host takes runs at all, labels are not the problem.
    """
    offered = [host.row for host in _join_names(context) if host.state is HostState.ALIVE]
    for board, policy in context.policies() if offered else ():
        for name, column in policy.board.columns.items():
            if any({*column.runs_on} <= {*host.labels} for host in offered):
                continue
            wanted = ",".join(column.runs_on)
            message = (
                f"{board.address}: no live, undrained host has the labels {wanted} of the column "
                f"{name}, so its runs cannot start"
            )
            step = f"start one with CARDINAL_LABELS={wanted}, or change the column's `runs_on`"
            yield fail("labels", message, step)


def _join_names(context: DoctorContext) -> tuple[HostStatus, ...]:
    return context.read(hosts.statuses, ())


ORDER = 2
CHECKS = (dead, versions, labels)
