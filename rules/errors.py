"""Errors of the rules: bad policy files, personas and names."""

from ledger.errors import CardinalError


class RulesError(CardinalError):
    """The rules refused their input."""


class PolicyError(RulesError):
    """A policy file has problems; each is one sentence with the line, the key and the remedy."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__(
            "the policy file is not valid:\n" + "\n".join(f"- {problem}" for problem in problems)
        )


class UnreadPartError(RulesError):
    """A rule used a part of the snapshot that is not read for its event."""

    def __init__(self, part: str) -> None:
        self.part = part
        super().__init__(
            f"`{part}` of the snapshot is not read for this event: name it in `reads` of its rule"
        )


class PersonaError(PolicyError):
    """The personas of a column's stages cannot be used; each problem is one sentence."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(problems)
        self.args = ("the stages cannot start:\n" + "\n".join(f"- {problem}" for problem in problems),)


class BranchRulesError(RulesError):
    """Rules of its branch would refuse a run's push; each of `refusals` names one and the setting."""

    def __init__(self, refusals: tuple[str, ...]) -> None:
        self.refusals = refusals
        super().__init__(f"its push would be refused: {'; '.join(refusals)}. No agent was started")


class TwoRulesError(RulesError):
    """Two functions claim to be the rule about the same kind of event."""

    def __init__(self, kind: str, first: str, second: str) -> None:
        self.kind, self.first, self.second = kind, first, second
        super().__init__(f"{first} and {second} both answer {kind}: take it out of the `@answers` of one")
