"""Every event kind reads back what it wrote, and what was ever written stays readable."""

import gc
import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import codec
from ledger.errors import RepeatedKindError, UnfitEventError, UnknownEventError
from ledger.event import Event
from ledger.events.conversation import PersonSaid
from ledger.events.run import Progressed, RunEvent, UsageMetered
from ledger.states import CardState
from tests.ledger.samples import CARD, RUN, any_event

GOLDEN = Path(__file__).parent / "golden"
FAMILIES = codec.families()


@pytest.mark.parametrize("family", FAMILIES)
def test_what_was_ever_written_stays_readable_and_is_written_the_same(family: str) -> None:
    samples = json.loads((GOLDEN / f"{family}.json").read_text())
    assert {sample["kind"] for sample in samples} == {kind.__name__ for kind in FAMILIES[family]}
    for sample in samples:
        event: Any = codec.decode(sample["kind"], codec.canonical(sample["body"]))
        kind, body = codec.encode(event)
        written = json.loads(body)
        assert (kind, {name: written[name] for name in sample["body"]}) == (sample["kind"], sample["body"])
        assert written.keys() - sample["body"].keys() <= {  # added since
            field.name
            for field in fields(event)
            if field.default is not MISSING or field.default_factory is not MISSING
        }
        assert event.stream == sample["stream"]
        assert event.describe()  # its line has no field that it has not


@given(st.data())
def test_any_event_survives_writing_and_reading(data: st.DataObject) -> None:
    event = any_event(lambda options: data.draw(st.sampled_from(options)))
    kind, body = codec.encode(event)
    read = codec.decode(kind, body)
    assert type(read) is type(event)
    assert codec.encode(read) == (kind, body)
    assert codec.encode_event(event) == (kind, body, read)
    body.encode("utf-8")


def test_a_kind_of_a_newer_version_is_named() -> None:
    with pytest.raises(UnknownEventError, match="RunTeleported"):
        codec.decode("RunTeleported", "{}")


def test_a_body_that_is_not_its_kind_is_refused() -> None:
    for body in ("{}", "[]", "{", '{"run_id":"r1","text":5}'):
        with pytest.raises(UnfitEventError):
            codec.decode("Progressed", body)


@pytest.mark.parametrize(
    ("meant", "read"),
    [
        (Progressed(RUN, CardState.DONE), Progressed(RUN, "done")),
        (PersonSaid(CARD, True, "issue", "ann", 1, "hi"), PersonSaid(CARD, 1, "issue", "ann", True, "hi")),  # type: ignore[arg-type]
        (UsageMetered(RUN, 1, 0, 0, 0, 0), UsageMetered(RUN, 1.0, 0, 0, 0, 0.0)),
    ],
)
def test_a_value_of_another_type_is_what_a_replay_will_see(meant: Event, read: Event) -> None:
    again = codec.encode_event(meant)[2]
    assert again == read
    for field in fields(again):  # type: ignore[arg-type]
        assert type(getattr(again, field.name)) is type(getattr(read, field.name)), field.name


def test_a_class_outside_the_folder_is_no_kind() -> None:
    class Whispered(Progressed):
        """Not in ledger/events."""

    with pytest.raises(UnknownEventError):
        codec.encode(Whispered(RUN, "psst"))
    assert Event.__name__ not in codec.kinds()


def test_two_kinds_of_one_name_are_refused_with_the_files_of_both() -> None:
    second = type("Progressed", (RunEvent,), {"__module__": "ledger.events.weather"})
    in_both = r"Progressed is in ledger\.events\.run and in ledger\.events\.weather: rename"
    with pytest.raises(RepeatedKindError, match=in_both):
        codec.sort_by_name([Progressed, UsageMetered, second])
    del second
    gc.collect()  # it is a subclass as long as anybody has it
