"""Files that a run leaves for people, in the store by the digests of their contents."""

from dataclasses import dataclass

from ledger.events.run import RunEvent

FILE, PAGE = "file", "page"
BRIEFING, TRANSCRIPT = "briefing", "transcript"
SET_ASIDE = "set-aside"  # a patch of files that no guard has seen
SET_ASIDE_NAME = "set-aside.patch"  # its name, also where its kind is still `patch`
OPERATORS = (BRIEFING, TRANSCRIPT, SET_ASIDE)  # the kinds for the operator alone
ATTACHED = (FILE, PAGE)  # the kinds of what an agent attached itself


@dataclass(frozen=True, slots=True)
class ArtifactKept(RunEvent, line="kept {name} ({kind}, {size_bytes} bytes)"):
    """A file is in the store. `kind`: log, patch, report, briefing, transcript or set-aside; trace,
    screenshot, video or console of a browser; file or page for an attachment of the agent's; more may come.
    `digest` is the SHA-256 of its bytes, from which secrets were taken before where it is text.
    """

    name: str
    kind: str
    digest: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class ArtifactDropped(RunEvent, line="does not keep {name}: {reason}"):
    """A file is not in the store, or no more. `reason`: age, space, share (the run had kept enough) or
    store (that could not be written).

    A browser's file may be dropped at once, without a digest: for its size, or for its shape, when its name
    belies its content. `kind` and `size_bytes` are told of one for which the run had no room.
    """

    name: str
    digest: str
    reason: str
    kind: str = ""
    size_bytes: int = 0
