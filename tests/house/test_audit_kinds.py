"""Every event kind of a run is in an audit document's summary, or named as one that is only in its events."""

from bot.admin.audit.summary import ONLY_IN_EVENTS, TAKEN
from bot.admin.audit.trail import OF_CARD
from ledger import codec
from ledger.events.run import RunEvent

OF_POLICY = "PolicyLoaded"
TOLD = {kind.__name__ for kind in TAKEN}


def exported() -> set[str]:
    """Return the kinds that a document can hold."""
    of_runs = {name for name, kind in codec.kinds().items() if issubclass(kind, RunEvent)}
    return {*of_runs, *OF_CARD, OF_POLICY}


def test_every_kind_of_a_run_is_summed_up_or_left_to_the_events_on_purpose() -> None:
    assert exported() - TOLD - ONLY_IN_EVENTS == set()


def test_no_kind_is_on_the_list_that_the_summary_has_or_that_is_never_exported() -> None:
    assert set() == ONLY_IN_EVENTS & TOLD
    assert ONLY_IN_EVENTS - exported() == set()
    assert TOLD - exported() == set()
