"""Cursors: where the next page of a list begins, as a word for programs."""

import base64
import binascii
import json
from datetime import UTC, datetime
from http import HTTPStatus

from bot.web.api.operation import ApiError
from ledger.ids import CardId


def write(at: datetime, card_id: CardId) -> str:
    """Return the word for the place behind that card."""
    return base64.urlsafe_b64encode(json.dumps((at.isoformat(), card_id)).encode()).decode()


def read(word: str) -> tuple[datetime, CardId]:
    """Return the place that a word is for. Raises ApiError."""
    try:
        at, card_id = json.loads(base64.urlsafe_b64decode(word.encode()))
        moment = datetime.fromisoformat(at)
        if moment.tzinfo is None or not card_id.isascii() or not card_id.isprintable():
            raise ValueError(word)
        moment = moment.astimezone(UTC)
    except (ValueError, TypeError, AttributeError, OverflowError, binascii.Error):
        because = "`after` is no place in a list"
        raise ApiError(
            HTTPStatus.BAD_REQUEST, "unfit_cursor", because, "send `next` of the page before"
        ) from None
    return moment, CardId(card_id)
