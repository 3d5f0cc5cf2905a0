"""The repository of somebody's own is that of the tests of clones."""

from tests.bot.admin.clone.conftest import clone, made, on_disk, origin

__all__ = ["clone", "made", "on_disk", "origin"]
