"""The recipes' pages, and the policy that stands on each."""

import re

from tests.house.source import ROOT

PAGES = {page.stem: page.read_text() for page in sorted((ROOT / "docs/recipes").glob("*.md"))}
INDEX = PAGES.pop("README")


def policy_of(name: str) -> str:
    """Return the text of the policy on that page."""
    (text,) = re.findall(r"^```yaml\n(version: .*?)^```$", PAGES[name], re.DOTALL | re.MULTILINE)
    return str(text)
