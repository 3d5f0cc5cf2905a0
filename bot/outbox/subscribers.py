"""Subscribers to notices: the operator's file `notices.json` in the home, and people's choices."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection

from bot.system import private_file
from ledger.errors import CardinalError
from ledger.views import notice_choices
from ledger.views.notice_choices import NoticeChoiceRow
from rules.chatops.notices import NoticeChoice, Subscriber, narrow_subscriber

FILE = "notices.json"
_READER = TypeAdapter(dict[str, Subscriber])


class SubscribersError(CardinalError):
    """The file of subscribers cannot be read."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        remedy = "Correct it, or move it away and add its subscribers again with `cardinal notify add`"
        super().__init__(f"{path} cannot be read: {problem}. {remedy}")


def read(home: Path) -> dict[str, Subscriber]:
    """Return the subscribers by name; none without a file. Raises SubscribersError, without an address."""
    path = home / FILE
    try:
        return _READER.validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SubscribersError(path, error.strerror or type(error).__name__) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise SubscribersError(path, ": ".join(filter(None, (where, first["msg"])))) from None


def of_login(known: Mapping[str, Subscriber], login: str) -> Subscriber | None:
    """Return the person among the subscribers; a channel of their name is not they."""
    people = (it for name, it in known.items() if not it.channel and name.casefold() == login.casefold())
    return next(people, None)


def of_people(db: Connection, known: Mapping[str, Subscriber]) -> dict[str, Subscriber]:
    """Return the subscribers with their own choices; a channel chooses nothing."""
    choices = notice_choices.every(db)
    return {
        name: subscriber
        if subscriber.channel or (row := choices.get(name.casefold())) is None
        else narrow_subscriber(subscriber, choice_of(row))
        for name, subscriber in known.items()
    }


def choice_of(row: NoticeChoiceRow) -> NoticeChoice:
    return NoticeChoice.model_validate({name: getattr(row, name) for name in NoticeChoice.model_fields})


def write(home: Path, subscribers: Mapping[str, Subscriber]) -> None:
    private_file.write(home / FILE, _READER.dump_json(dict(subscribers), indent=1).decode() + "\n")
