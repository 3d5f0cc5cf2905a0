"""The root of Cardinal's errors, and the ledger's: facts are attributes, the message is made of them."""


class CardinalError(Exception):
    """Every error that Cardinal raises on purpose; its text has the next step for a person."""


class LedgerError(CardinalError):
    """The ledger refused a request or could not carry it out."""


class LateWriterError(LedgerError):
    """Somebody else wrote to the stream first; read again and decide again."""

    def __init__(self, stream: str, expected: int, actual: int) -> None:
        self.stream, self.expected, self.actual = stream, expected, actual
        super().__init__(f"{stream} is at version {actual}, not {expected}: read it again, then decide again")


class StaleClaimError(LedgerError):
    """A writer's claim was taken over or given back (`current` 0); it must stop and write nothing more."""

    def __init__(self, name: str, generation: int, current: int) -> None:
        self.name, self.generation, self.current = name, generation, current
        held = f"held by generation {current}" if current else "held by nobody"
        super().__init__(f"{name} is {held}; generation {generation} must stop")


class IllegalStepError(LedgerError):
    """A state was asked to take a step that its table does not have."""

    def __init__(self, what: str, before: str, after: str) -> None:
        self.what, self.before, self.after = what, before, after
        super().__init__(f"{what} cannot go from {before} to {after}")


class UnknownEventError(LedgerError):
    """The log holds an event kind that this version does not know: a newer Cardinal wrote it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(
            f"unknown event kind {kind}: run the Cardinal version that wrote this ledger, or newer"
        )


class BrokenChainError(LedgerError):
    """An event's digest does not follow from the one before it."""

    def __init__(self, seq: int) -> None:
        self.seq = seq
        super().__init__(f"the hash chain breaks at event {seq}: restore a back-up made before it")


class RepeatedKindError(LedgerError):
    """Two classes of events have one name, by which the log would take one for the other."""

    def __init__(self, kind: str, *modules: str) -> None:
        self.kind, self.modules = kind, modules
        super().__init__(f"the event kind {kind} is in {' and in '.join(modules)}: rename the newer one")


class UnfitEventError(LedgerError):
    """An event's fields do not fit its kind."""

    def __init__(self, kind: str, why: str) -> None:
        self.kind, self.why = kind, why
        super().__init__(f"this is no {kind}: {why}")


class LedgerUrlError(LedgerError):
    """The ledger's address is of a kind that Cardinal has no code for."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        super().__init__(f"a ledger cannot be kept in {kind}: use sqlite:///path/to/file or postgresql://…")


class NewerLedgerError(LedgerError):
    """The ledger was written by a newer Cardinal, or is newer than the back-up that would replace it."""

    def __init__(self, actual: int, known: int, what: str = "migration") -> None:
        self.actual, self.known, self.what = actual, known, what
        step = (
            "; upgrade Cardinal on this host, or restore a back-up of before" if what == "migration" else ""
        )
        super().__init__(f"the ledger is at {what} {actual}, newer than {known}: nothing was changed{step}")


class OutdatedError(LedgerError):
    """Another version of Cardinal took the ledger over from this one; both are told by their editions."""

    def __init__(self, mine: str, live: str) -> None:
        self.mine, self.live = mine, live
        super().__init__(
            f"Cardinal of this host ({mine}) is older than the ledger ({live}): nothing was written; stop it,"
            " upgrade it and start it again"
        )


class OlderLedgerError(LedgerError):
    """The ledger has not been brought to the shape that this code knows."""

    def __init__(self, actual: int, known: int, progress: str = "", program: str = "") -> None:
        self.actual, self.known, self.progress = actual, known, progress
        because = progress or f"the ledger is at migration {actual} of {known}, or other code folded it"
        super().__init__(f"{because}: {f'run `{program}`' if program else 'start Cardinal'}")


class BackupError(LedgerError):
    """A back-up could not be made or restored; the text has the way out."""
