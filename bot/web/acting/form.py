"""A form of a page: its fields, and the token that lets it act once, in one sign-in, about one thing."""

import hashlib
import json
import secrets
from dataclasses import dataclass
from hmac import compare_digest, digest

from flask import Request
from werkzeug.exceptions import RequestEntityTooLarge

from bot.system.secret import Secret
from ledger.errors import CardinalError
from ledger.ids import CardId
from rules.chatops.parser import MAX_ARGUMENT

PATH = "/act"
MAX_BYTES = 128 * 1024  # the longest text, with each byte of each character written as three
NUMBER_BITS = 52  # JSON keeps it everywhere
FIELDS = frozenset({"card", "name", "back", "token"})
KIND = "application/x-www-form-urlencoded"


class UnfitFormError(CardinalError):
    """A request is no form of Cardinal's pages; the answer is `status`."""

    def __init__(self, because: str, status: int = 400) -> None:
        self.because, self.status = because, status
        super().__init__(because)


@dataclass(frozen=True, slots=True)
class ActForm:
    """A form that somebody sent. `name` is as in an offer, `back` the page that it stood on, `place` where on
    that page: a value for each further field. `agreed`: its sender lets Cardinal act on GitHub in their name.
    """

    card_id: CardId
    name: str
    text: str
    back: str
    token: str
    place: tuple[str, ...] = ()
    agreed: bool = False

    @property
    def number(self) -> int:
        """The form's own number; only of a token that fits."""
        return int(self.token.partition(".")[0])


def read(incoming: Request, *place: str) -> ActForm:
    """Return the form in the request's body, with these further fields. Raises UnfitFormError."""
    incoming.max_content_length = MAX_BYTES
    if incoming.mimetype != KIND:
        raise UnfitFormError("This is not a form from Cardinal's pages: reload the page and use its form")
    try:
        fields = incoming.form.to_dict(flat=False)
    except RequestEntityTooLarge as error:
        raise UnfitFormError(
            "This is larger than any form on Cardinal's pages: reload the page", 413
        ) from error
    named = FIELDS.union(place)
    known = named | {"text", "agreed"}
    if not named <= fields.keys() <= known or any(len(given) != 1 for given in fields.values()):
        raise UnfitFormError("The form has a missing or extra field: reload the page and try again")
    text = "".join(fields.get("text", ())).replace("\r\n", "\n")
    if len(text) > MAX_ARGUMENT:
        raise UnfitFormError(
            f"The text has {len(text):,} characters; the limit is {MAX_ARGUMENT:,}: shorten it"
        )
    (card_id,), (name,), (back,), (token,) = (fields[field] for field in ("card", "name", "back", "token"))
    places = tuple(fields[field][0] for field in place)
    return ActForm(CardId(card_id), name, text, back, token, place=places, agreed="agreed" in fields)


def new_token(secret: Secret, word: str, card_id: CardId, name: str) -> str:
    """Return a token for one form, in the sign-in of that word."""
    number = str(secrets.randbits(NUMBER_BITS) + 1)
    return f"{number}.{_seal(secret, word, card_id, name, number)}"


def fits_form(secret: Secret, word: str, form: ActForm) -> bool:
    """Tell whether the form was made for that sign-in and that subject."""
    number, _, seal = form.token.partition(".")
    # The form of all commands names none when it is made; its choice is about nothing but the card.
    names = (form.name, "") if ":" not in form.name else (form.name,)
    return any(
        compare_digest(seal.encode(), _seal(secret, word, form.card_id, name, number).encode())
        for name in names
    )


def _seal(secret: Secret, word: str, *about: str) -> str:
    key = hashlib.sha256(f"form {secret.reveal()}".encode()).digest()
    return digest(key, json.dumps((word, *about)).encode(), "sha256").hex()
