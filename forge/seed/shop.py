"""The files of the demo's repositories: a small shop in Python whose tests need nothing installed."""

README = """\
# shop

Prices, carts and receipts of a small shop.

    python3 -m unittest discover -s tests -t .
"""

PRICES = '''\
"""Prices in cents, with value-added tax."""

VAT_PERCENT = 19


def with_tax(net_cents: int) -> int:
    """Return the price with tax, in cents."""
    return net_cents + net_cents * VAT_PERCENT // 100


def formatted(cents: int) -> str:
    """Return the price as people read it."""
    return f"{cents // 100}.{cents % 100:02d} EUR"
'''

CART = '''\
"""A cart: what somebody wants to buy."""

from dataclasses import dataclass, field

from shop.prices import with_tax


@dataclass
class Line:
    """So many of one article."""

    name: str
    net_cents: int
    count: int = 1


@dataclass
class Cart:
    """The lines that somebody put in."""

    lines: list[Line] = field(default_factory=list)

    def add(self, name: str, net_cents: int, count: int = 1) -> None:
        """Put an article in; raises ValueError for fewer than one."""
        if count < 1:
            raise ValueError(f"count must be at least 1, not {count}")
        self.lines.append(Line(name, net_cents, count))

    def total_cents(self) -> int:
        """Return what the cart costs with tax."""
        return sum(with_tax(line.net_cents) * line.count for line in self.lines)
'''

RECEIPT = '''\
"""The receipt of a cart."""

from shop.cart import Cart
from shop.prices import formatted, with_tax


def receipt(cart: Cart) -> str:
    """Return the receipt as text, one line per article and the total."""
    lines = [f"{line.count} x {line.name}: {formatted(with_tax(line.net_cents))}" for line in cart.lines]
    return "\\n".join([*lines, f"Total: {formatted(cart.total_cents())}"])
'''

TEST_PRICES = """\
import unittest

from shop.prices import formatted, with_tax


class Prices(unittest.TestCase):
    def test_tax_is_added(self):
        self.assertEqual(with_tax(1000), 1190)

    def test_a_price_has_two_digits_of_cents(self):
        self.assertEqual(formatted(1205), "12.05 EUR")


if __name__ == "__main__":
    unittest.main()
"""

TEST_CART = """\
import unittest

from shop.cart import Cart
from shop.receipt import receipt


class Carts(unittest.TestCase):
    def test_the_total_counts_every_piece(self):
        cart = Cart()
        cart.add("pen", 100, count=3)
        self.assertEqual(cart.total_cents(), 357)

    def test_a_count_below_one_is_refused(self):
        with self.assertRaises(ValueError):
            Cart().add("pen", 100, count=0)

    def test_the_receipt_ends_with_the_total(self):
        cart = Cart()
        cart.add("pen", 100)
        self.assertEqual(receipt(cart).splitlines()[-1], "Total: 1.19 EUR")


if __name__ == "__main__":
    unittest.main()
"""

SHOP: dict[str, bytes | None] = {
    "README.md": README.encode(),
    ".gitignore": b"__pycache__/\n",
    "shop/__init__.py": b'"""A small shop."""\n',
    "shop/prices.py": PRICES.encode(),
    "shop/cart.py": CART.encode(),
    "shop/receipt.py": RECEIPT.encode(),
    "tests/__init__.py": b"",
    "tests/test_prices.py": TEST_PRICES.encode(),
    "tests/test_cart.py": TEST_CART.encode(),
    ".github/cardinal.yml": b"""\
version: 1
repository:
  validation:
    fast: ["python3 -m compileall -q shop"]
    full: ["python3 -m unittest discover -s tests -t ."]
""",
}

_POLICY = """\
# Each column of the board is a policy. See docs/policy.md in Cardinal's repository.
version: 1
board:
  home: acme/board
  columns:
    Tasks: {archetype: inbox}
    Planning:
      archetype: planning
      agent: AGENT
      model: SMALL
      instructions: Drive to clear acceptance criteria and a bounded scope.
    In Progress:
      archetype: execution
      agent: AGENT
      model: MODEL
      instructions: Follow the style that is there. Write tests for every change.
      plan_approval: required
      concurrency: 2
      budget_usd: 2.00
      timeout_minutes: 30
    Review: {archetype: review}
    QA: {archetype: review, on_entry: [{action: ready}]}
    Done: {archetype: terminal, on_entry: [{action: merge, method: squash}, {action: delete_branch}]}
"""


def policy(agent: str) -> str:
    """Return the board's policy file; the scripted agent's models are the names of scenarios."""
    model, small = ("shop", "shop") if agent == "scripted" else ("default", "small")
    return _POLICY.replace("AGENT", agent).replace("MODEL", model).replace("SMALL", small)
