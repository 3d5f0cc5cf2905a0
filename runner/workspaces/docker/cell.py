"""Description of one container: mounts, environment, limits and lockdown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import docker.types

from ledger.model.policy_settings import Resources
from runner.workspaces.bubblewrap import INSIDE, Bind

MB = 1 << 20
_TMP_MB, _TMP_FILES = 512, 100_000
_SHM_MB = 64
_FILES_PER_MB = 160
_LOG = {"max-size": "1m", "max-file": "1"}
_HEALTH_S = 1_000_000_000
_MIN_CPUS = 0.01
_OOM_SCORE = 800  # the kernel kills it before anything of the host


@dataclass(frozen=True, slots=True)
class Cell:
    """A container to create. `volumes` are writable folders of the image; `sealed`: a read-only root.

    Without `argv` the image's own program runs, with `command` behind it. `network` is none, or that of a
    container; `hosts` are names with their addresses. `health` is a shell line that the engine asks. An empty
    `runtime` is the engine's own.
    """

    name: str
    image: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    user: str
    folder: str
    binds: tuple[Bind, ...]
    labels: Mapping[str, str]
    resources: Resources
    volumes: tuple[str, ...] = field(default=())
    sealed: bool = True
    command: tuple[str, ...] = ()
    volume_mb: int = 64
    network: str = "none"
    hosts: Mapping[str, str] = field(default_factory=dict)
    health: str = ""
    logs: bool = False
    runtime: str = ""


def lock_argv(*argv: str) -> tuple[str, ...]:
    """Return the command behind Cardinal's own filter of system calls."""
    return ("python3", "-I", "-S", "-B", f"{INSIDE.player}/lock.py", *argv)


def container_config(cell: Cell) -> dict[str, Any]:
    """Return the docker-py arguments of `create_container`, without the host's part."""
    own = () if cell.network != "none" else (("hostname", "cardinal"),)  # else it has the other's
    return dict(own) | {
        "image": cell.image,
        "name": cell.name,
        # Both, and never the image's own: an entry point would run before the command, or instead of it.
        "entrypoint": list(cell.argv[:1]) or None,
        "command": [*cell.argv[1:], *cell.command] or None,
        "environment": dict(cell.env),
        "user": cell.user,
        "working_dir": cell.folder or None,
        "labels": dict(cell.labels),
        "stdin_open": True,
        "healthcheck": _health(cell.health),
    }


def _health(line: str) -> dict[str, Any]:
    """Return the engine's check of a container: an image's own would be a second program inside."""
    if not line:
        return {"test": ["NONE"]}
    return {"test": ["CMD-SHELL", line], "interval": _HEALTH_S, "timeout": 5 * _HEALTH_S, "retries": 1000}


def lockdown(cell: Cell, machine_cpus: int) -> dict[str, Any]:
    """Return the docker-py arguments of `create_host_config`: the limits and the lockdown.

    An engine refuses more CPUs than its machine has.
    """
    allowed = cell.resources
    memory_bytes = allowed.memory_mb * MB
    file_bytes = allowed.disk_mb * MB
    tmp_mb = max(1, min(_TMP_MB, allowed.memory_mb // 2))
    sizes = f"size={tmp_mb}m,nr_inodes={_TMP_FILES},mode=1777"
    scratch = {"/tmp": f"rw,exec,nosuid,nodev,{sizes}"}  # noqa: S108 - the container's own
    uid, _, gid = cell.user.partition(":")
    files = cell.volume_mb * _FILES_PER_MB
    volume = f"size={cell.volume_mb}m,nr_inodes={files},uid={uid},gid={gid}"
    # A volume that an image declares is a folder on the engine's disk that no limit here counts.
    scratch |= {path: f"rw,noexec,nosuid,nodev,{volume},mode=1777" for path in cell.volumes}
    return {
        "network_mode": cell.network,
        "extra_hosts": dict(cell.hosts) or None,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "privileged": False,
        "runtime": cell.runtime or None,
        "read_only": cell.sealed,
        "init": True,
        "ipc_mode": "private",
        "mem_limit": memory_bytes,
        "memswap_limit": memory_bytes,
        "nano_cpus": int(max(_MIN_CPUS, min(allowed.cpus, machine_cpus)) * 1e9),
        "pids_limit": allowed.processes,
        "oom_score_adj": _OOM_SCORE,
        "shm_size": _SHM_MB * MB,
        "tmpfs": scratch,
        "log_config": docker.types.LogConfig(type="json-file", config=_LOG)
        if cell.logs
        else docker.types.LogConfig(type="none"),
        "ulimits": [
            docker.types.Ulimit(name=name, soft=most, hard=most)
            for name, most in (("nofile", allowed.open_files), ("fsize", file_bytes), ("core", 0))
        ],
        "mounts": [
            docker.types.Mount(
                target=bind.inside, source=str(bind.outside), type="bind", read_only=not bind.writable
            )
            for bind in cell.binds
        ],
    }
