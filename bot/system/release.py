"""Which Cardinal this is: its version, and the commit that it was built from."""

import pkgutil
import re
from importlib.metadata import version as installed

DISTRIBUTION = "cardinal-board"


def version() -> str:
    """Return the version that is installed."""
    return installed(DISTRIBUTION)


def commit() -> str:
    """Return the commit's hash; empty in a checkout, whose files may be changed.

    `git archive` writes it into the file, see .gitattributes.
    """
    text = (pkgutil.get_data(__package__, "commit.txt") or b"").decode("ascii").strip()
    return text if re.fullmatch(r"[0-9a-f]{40}", text) else ""
