"""Subscribers to notices: the operator's file `notices.json` in the home, and people's choices."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection

from bot.system import people, private_file
from bot.system.config import Config
from bot.system.people import PeopleListError
from ledger.errors import CardinalError
from ledger.views import notice_choices
from ledger.views.notice_choices import NoticeChoiceRow
from rules.chatops.notices import NoticeChoice, Subscriber, narrow_subscriber

FILE = "notices.json"
_READER = TypeAdapter(dict[str, Subscriber])


class SubscribersError(CardinalError):
    """Who gets notices cannot be read; `because` names the next step."""

    def __init__(self, because: str) -> None:
        self.because = because
        super().__init__(because)


def read(home: Path) -> dict[str, Subscriber]:
    """Return the file's subscribers by name, for the operator; others call `read_admitted`.

    There are none without a file. Raises SubscribersError, without an address.
    """
    path = home / FILE
    try:
        return _READER.validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable(path, error.strerror or type(error).__name__) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise _unreadable(path, ": ".join(filter(None, (where, first["msg"])))) from None


def _unreadable(path: Path, problem: str) -> SubscribersError:
    remedy = "Correct it, or move it away and add its subscribers again with `cardinal notify add`"
    return SubscribersError(f"{path} cannot be read: {problem}. {remedy}")


def read_admitted(config: Config) -> dict[str, Subscriber]:
    """Return the subscribers but the people who are not on the operator's list. Raises SubscribersError."""
    known = read(config.home)
    try:
        return {name: it for name, it in known.items() if it.channel or people.is_admitted(config, name)}
    except PeopleListError as error:
        raise SubscribersError(str(error)) from error


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
