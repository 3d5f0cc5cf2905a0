"""Secrets for hosts in a policy: what is refused, and the example of the page."""

import re
from pathlib import Path

import pytest

from rules.errors import PolicyError
from rules.policy.model import parse

PAGE = Path(__file__).parents[3] / "docs/sandbox.md"
TEXT = """version: 1
board:
  columns:
    Work:
      archetype: execution
      tools: {network: [a.example]}
      secrets: [%s]
"""


@pytest.mark.parametrize(
    ("secret", "problem"),
    [
        ("{name: token, host: a.example}", "secrets.0.name"),
        ("{name: T, host: 10.0.0.1}", "secrets.0.host"),
        ("{name: T, host: '*.example'}", "secrets.0.host"),
        ("{name: T, host: b.example}", "the column does not let `b.example` be reached"),
        ("{name: T, host: 'a.example:8443'}", "the column does not let `a.example:8443` be reached"),
        ("{name: T, host: a.example, header: Host}", "frames the request"),
        ("{name: T, host: a.example, header: 'X: y'}", "secrets.0.header"),
        ("{name: T, host: a.example, format: Bearer}", "secrets.0.format"),
        ("{name: T, host: a.example}, {name: U, host: 'a.example:443'}", "another secret in that header"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_its_place(secret: str, problem: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse(TEXT % secret, home="acme/board")
    assert problem in str(caught.value)
    assert "line 7" in str(caught.value)


def test_the_example_of_the_page_is_a_policy() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("### Secrets for hosts")[2]
    (example,) = re.findall(r"```yaml\n(.*?)```", section.partition("\n## ")[0], re.DOTALL)
    column = parse(example, home="acme/board").column("In Progress")
    assert column is not None
    sent = [(secret.name, secret.header, secret.format) for secret in column.secrets]
    assert sent == [("NPM_TOKEN", "Authorization", "Bearer {}"), ("PYPI_LOGIN", "Authorization", "Basic {}")]
