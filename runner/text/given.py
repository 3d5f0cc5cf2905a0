"""Text that a program sends about its work: without tokens, hidden characters and codes of a terminal."""

from typing import Annotated

from pydantic import AfterValidator

from runner.text.plain import redact, without_terminal_codes
from runner.text.untrusted import without_invisible


def clean_text(text: str) -> str:
    """Return the text as it may be kept."""
    return redact(without_invisible(without_terminal_codes(text)))


GivenText = Annotated[str, AfterValidator(clean_text)]
