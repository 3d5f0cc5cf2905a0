"""Errors that stop a set-up; each sentence ends with the next step."""

from ledger.errors import CardinalError


class InitError(CardinalError):
    """The base of errors that stop a set-up."""


class MissingWishError(InitError):
    """An option is missing, or contradicts another."""


class AnotherAppError(InitError):
    """The settings belong to another App."""

    def __init__(self, app_id: int, wanted: str) -> None:
        self.app_id = app_id
        super().__init__(
            f"the settings here belong to the App {app_id}, not to {wanted}: add --replace to replace "
            "it, or set CARDINAL_HOME to another folder"
        )


class OverriddenError(InitError):
    """A variable of the environment would win over the file."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f"{name} is set in the environment and would override the file: unset it, then run "
            "`cardinal init` again"
        )


class LostCodeError(InitError):
    """GitHub knows nothing of the code: it was used, or is older than an hour."""

    def __init__(self, page: str) -> None:
        super().__init__(
            "GitHub rejected the code, which works once and for an hour. If the App is listed at "
            f"{page} anyway, its key is lost: delete it there. Then run `cardinal init` again"
        )


class NotRegisteredError(InitError):
    """Nobody registered the App in time."""

    def __init__(self, address: str, waited_s: float) -> None:
        super().__init__(
            f"no App was registered at {address} within {waited_s / 60:.0f} min: run `cardinal init` "
            "again to continue"
        )


class NotInstalledError(InitError):
    """The App is registered, and in no organisation yet."""

    def __init__(self, owner: str, page: str, waited_s: float) -> None:
        super().__init__(
            f"the App was not installed on {owner} within {waited_s / 60:.0f} min: install it at {page}, "
            "then run `cardinal init` again"
        )


class SuspendedError(InitError):
    """The App is installed, and switched off there."""

    def __init__(self, owner: str, page: str) -> None:
        super().__init__(
            f"the App is suspended on {owner}: have an owner unsuspend it at {page}, then run `cardinal "
            "init` again"
        )


class KeyRefusedError(InitError):
    """The private key is not the App's."""

    def __init__(self, app_id: int) -> None:
        super().__init__(
            f"GitHub rejects this key for the App {app_id}: create another on the App's page, under "
            "Private keys, and check the id there"
        )


class NoBoardError(InitError):
    """There is no board to serve, or more than one."""


class PersonalBoardError(InitError):
    """The owner is a person: no App sees the projects of one."""

    def __init__(self, owner: str) -> None:
        super().__init__(
            f"{owner} is a personal account, and GitHub does not give Apps access to personal boards: "
            "create an organisation on GitHub, copy the board there (the board's menu, Make a copy), "
            "and name it with --org"
        )


class UnwritableError(InitError):
    """A file of the home cannot be read or written."""

    def __init__(self, error: OSError) -> None:
        where = error.filename or "the home"
        super().__init__(
            f"{where}: {error.strerror or error}: fix that, then run `cardinal init` again to continue"
        )
