"""A disk that a power cut can strike: what was not synced is not there afterwards, as on a real machine.

A file system on an image. Whatever the kernel has not yet handed to the device is lost, and it hands over
nothing by itself within a story: a copy of the image is what the next start of the machine finds.
"""

import os
import subprocess
from pathlib import Path

import pytest

LIMIT_S = 30
SIZE = "96M"
# No file is written out because it is renamed or closed, and the journal only at a sync: ext4(5).
KEEPS_NOTHING = "loop,noauto_da_alloc,commit=600"


class Disk:
    """A disk that is mounted at `place` until it is `detached`; its images lie in `images`."""

    def __init__(self, place: Path, images: Path) -> None:
        self.place, self._images, self._cuts = place, images, 0
        self.boot_id = images / "boot_id"  # another one after each start of the machine
        place.mkdir(parents=True, exist_ok=True)
        image = self._image()
        _run("truncate", "--size", SIZE, image)
        _run("mkfs.ext4", "-q", "-F", "-m", "0", image)
        self._attach()
        (place / "lost+found").rmdir()

    def sync(self, folder: Path | None = None) -> None:
        """Let all be on the disk that is written so far, or the files of this folder."""
        files = [*folder.glob("*")] if folder else ["--file-system", self.place]
        if files:
            _run("sync", *files)

    def cut(self) -> None:
        """Keep what the disk has at this moment; what is written from now on is lost, too."""
        there = self._image()
        self._cuts += 1
        _run("cp", "--sparse=always", there, self._image())

    def restart(self) -> None:
        """Let the machine start again with what the disk had at the last cut."""
        self.detach()
        self._attach()

    def detach(self) -> None:
        """Take the disk off, whoever has files of it open."""
        _run("umount", "--lazy", self.place)

    def _attach(self) -> None:
        _run("mount", "-t", "ext4", "-o", KEEPS_NOTHING, self._image(), self.place)

    def _image(self) -> Path:
        return self._images / f"disk-{self._cuts}.img"


def require_disks() -> None:
    """Skip the test where this machine lets nobody mount."""
    if os.geteuid() != 0 or not Path("/dev/loop-control").exists():
        pytest.skip("needs root and a loop device, to mount a disk of its own")


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=LIMIT_S)
