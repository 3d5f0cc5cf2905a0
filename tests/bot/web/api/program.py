"""A program with a token, at the API of Cardinal over a real ledger."""

from datetime import timedelta
from typing import Any

from werkzeug.test import TestResponse

from forge.store.board import Item
from ledger.log import event_store
from ledger.queue import api_tokens
from ledger.queue.api_tokens import Scope
from tests.bot.web.pages.world import PUBLIC, Pages

LIVES = timedelta(days=30)
CLAIMING = ("claim_job", "heartbeat_run", "hand_in_run")  # in the order in which a worker calls them


def lying(pages: Pages, title: str = "Measure") -> Item:
    """Return a card in the execution column whose run was cancelled, so that nobody works on it."""
    item = pages.cardinal.new(title, column="In Progress")
    pages.cardinal.catch_up()
    pages.cardinal.say(item, "/cardinal cancel")
    pages.cardinal.catch_up()
    return item


class Program:
    """Requests with one token, to the processes of `pages`."""

    def __init__(self, pages: Pages, login: str, *scopes: Scope, name: str = "ci") -> None:
        self.pages = pages
        services, account = pages.cardinal.services, pages.cardinal.person(login)
        with event_store.writing(services.engine) as db:
            self.token, self.row = api_tokens.make(
                db,
                name,
                login=login,
                user_id=account.id,
                scopes=tuple(scopes or Scope),
                now=services.now(),
                lives=LIVES,
            )

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> TestResponse:
        """Send one request, and return its answer."""
        named = {"Authorization": f"Bearer {self.token}"}
        named |= {name.replace("_", "-"): text for name, text in headers.items()}
        where = f"/api/v1{path}"
        return self.pages.app.test_client().open(
            where, method=method, base_url=PUBLIC, json=body, headers=named, buffered=True
        )

    def get(self, path: str) -> Any:
        """Return the document at that path."""
        answer = self.send("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.get_json()

    def command(self, path: str, command: str, text: str = "", **headers: str) -> TestResponse:
        """Give a command on a job."""
        return self.send("POST", f"{path}/commands", {"command": command, "text": text}, **headers)


def path_of(pages: Pages, item: Item) -> str:
    """Return the path of a card's job."""
    card = pages.cardinal.card(item)
    return f"/jobs/{card.repository}/{card.number}"
