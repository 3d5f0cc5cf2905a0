"""What the rules refuse: a policy file that is not a policy."""

from ledger.errors import CardinalError


class RulesError(CardinalError):
    """The rules refused what they were given."""


class PolicyError(RulesError):
    """A policy file has problems; each is one sentence with the line, the key and what would be right."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__(
            "the policy file is not valid:\n" + "\n".join(f"- {problem}" for problem in problems)
        )


class PersonaError(PolicyError):
    """The personas of a column's stages cannot be used; each problem is one sentence."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(problems)
        self.args = ("the stages cannot begin:\n" + "\n".join(f"- {problem}" for problem in problems),)


class UnregisteredNameError(RulesError):
    """A name was looked up that no file of the registry folder has."""

    def __init__(self, folder: str, name: str) -> None:
        self.folder, self.name = folder, name
        super().__init__(f"{folder} has no part named {name!r}")
