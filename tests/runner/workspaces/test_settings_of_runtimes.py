"""Runtimes of the system find their own settings in a sandbox; nothing else of `/etc` is there."""

import os
import subprocess
from pathlib import Path

from runner.workspaces import bubblewrap
from runner.workspaces.bubblewrap import INSIDE, Bind

THERE, NOT_THERE = "/etc/perl/Net/libnet.cfg", "/etc/hostname"  # git brings Perl


def test_commands_see_the_settings_of_runtimes_and_not_those_of_the_host(tmp_path: Path) -> None:
    bubblewrap.write_identity(tmp_path / "identity")
    looks = ("/bin/sh", "-c", f"test -f {THERE} && ! test -e {NOT_THERE}")
    command, descriptors = bubblewrap.lock_command(
        looks, [Bind(tmp_path, INSIDE.repo)], tmp_path / "identity"
    )
    try:
        assert all(map(os.path.isfile, (THERE, NOT_THERE)))
        assert subprocess.run(command, pass_fds=descriptors, check=False).returncode == 0
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
