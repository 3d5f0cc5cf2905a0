"""The world of the demo: a team, a shop with real tests, a board with six columns."""

from forge.seed.shop import SHOP, policy
from forge.seed.world import World
from forge.store import Store
from forge.store.models import Repo, Role, User

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
