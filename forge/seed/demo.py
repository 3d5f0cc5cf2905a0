"""The world of the demo: a team, a shop with real tests, a board with six columns."""

from forge.seed.world import World
from forge.store import Store
from forge.store.models import Repo, Role, User

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


COLUMNS = ("Tasks", "Planning", "In Progress", "Review", "QA", "Done")
TEAM = {"alice": Role.ADMIN, "bob": Role.WRITE, "carol": Role.WRITE}
FIRST_CARD = (
    "Baskets over 100 get a discount",
    "Marketing wants big baskets to be cheaper. Nobody has said yet how much, or what counts.",
    "Tasks",
)
IDLE_CARDS = (
    ("Show prices in the customer's currency", "Everybody sees euros today.", "Tasks"),
    ("Empty carts should say so", "An empty cart prints nothing at all.", "Tasks"),
    ("Write down how releases are made", "So far it is in one head.", "Done"),
)
LABELS = {"bug": "d73a4a", "documentation": "0075ca", "enhancement": "a2eeef"}


def build(store: Store, agent: str = "scripted") -> World:
    """Fill the store and return its world, in which that agent works on the board's cards."""
    people = {login: store.users.add(login, name=login.title()) for login in (*TEAM, "mallory")}
    alice = people["alice"]
    acme = store.users.add_organization("acme", [people[login] for login in TEAM])
    app, private_key = store.apps.register(acme, "Cardinal", "cardinal")
    shop = _repository(store, acme, "shop", "A small shop: prices, carts, receipts", people)
    home = _repository(store, acme, "board", "The home of the board's policy", people)
    store.repos.write_files(shop, "main", SHOP, "Start the shop", actor=alice)
    files = {".github/cardinal.yml": policy(agent).encode(), "README.md": b"# The board of acme\n"}
    store.repos.write_files(home, "main", files, "Describe the board", actor=alice)
    for name, color in LABELS.items():
        store.repos.label(shop, name, color=color)
    project = store.projects.create(acme, "Shop board", COLUMNS, actor=alice)
    for title, text, column in (*IDLE_CARDS, FIRST_CARD):
        issue = store.issues.create(shop, title, text, actor=alice)
        item = store.projects.add(project, issue, actor=alice)
        store.projects.drag(item, column, actor=alice)
    store.projects.move(item, None, actor=alice)
    store.projects.add_draft(project, "Gift cards?", "An idea, not thought through.", actor=people["carol"])
    installation = store.apps.install(app, acme, actor=alice)
    return World(app, installation, private_key, project)


def _repository(store: Store, owner: User, name: str, description: str, people: dict[str, User]) -> Repo:
    repo = store.repos.create(owner, name, description=description)
    for login, role in TEAM.items():
        store.repos.set_role(repo, people[login], role)
    return repo
