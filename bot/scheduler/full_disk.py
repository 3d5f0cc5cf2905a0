"""A disk that is full: logged meanwhile, and said on the board once there is room to say it."""

import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from bot.admin.doctor.host import FULL_BYTES, free_bytes
from bot.bootstrap import Services
from bot.reactor import reactor
from bot.sync import board
from ledger.events.board import DiskWasFull
from ledger.log import event_store

MARK = "run/disk.full"  # an empty file: its time is when the disk was found full. It outlives this process
log = logging.getLogger(__name__)


def watch(services: Services, free_in: Callable[[Path], int] = free_bytes) -> None:
    """Log that the home's disk is as good as full; record it once there is room again."""
    home = services.config.home
    mark, free = home / MARK, free_in(home)
    if free < FULL_BYTES:
        log.error("disk full home=%s free_mb=%d step=make_room", home, free // 10**6)
        _remember(mark, services.now())
    elif mark.exists():
        _record(services, datetime.fromtimestamp(mark.stat().st_mtime, UTC))
        mark.unlink()


def _remember(mark: Path, now: datetime) -> None:
    if mark.exists():
        return
    try:
        mark.parent.mkdir(mode=0o700, exist_ok=True)
        mark.touch(mode=0o600)
        os.utime(mark, (now.timestamp(), now.timestamp()))
    except OSError as error:  # not even an empty file: the next look tries again
        log.error("disk full mark=%s error=%s", mark, error)


def _record(services: Services, since: datetime) -> None:
    board_id = board.served(services)
    if board_id is None:
        return  # no board was ever seen, so there is none to say it on
    with event_store.writing(services.engine) as db:
        event_store.append(db, DiskWasFull(board_id, since), at=services.now())
        reactor.advance(db, now=services.now())
