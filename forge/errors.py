"""Errors that the forge answers with, each with GitHub's status and body."""

from typing import Any, Self

DOCUMENTATION_URL = "https://docs.github.com/rest"


class ForgeError(Exception):
    """A request that is refused, with its HTTP status and JSON body."""

    status = 500
    graphql_type = "INTERNAL"
    usual_message = ""

    def __init__(self, message: str = "", errors: list[Any] | None = None) -> None:
        self.message = message or self.usual_message
        self.errors = errors or []
        super().__init__(self.message)

    @property
    def reasons(self) -> str:
        """Return the messages of the single errors as one text; without any, the message."""
        return "; ".join(error["message"] for error in self.errors if "message" in error) or self.message

    def in_words(self) -> Self:
        """Return the same refusal with sentences for its errors, as some endpoints have them."""
        sentences = [
            error.get("message") or f"{error['field'].capitalize()} is {error['code']}"
            for error in self.errors
        ]
        return type(self)("Unprocessable Entity", sentences or [self.message])

    def body(self) -> dict[str, Any]:
        """Return the JSON body as in docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api."""
        answer: dict[str, Any] = {"message": self.message}
        if self.errors:
            answer["errors"] = self.errors
        answer["documentation_url"] = DOCUMENTATION_URL
        answer["status"] = str(self.status)
        return answer


class BadRequestError(ForgeError):
    """The request cannot be read."""

    status = 400
    graphql_type = "BAD_REQUEST"


class UnauthorizedError(ForgeError):
    """No credentials, or credentials that are unknown or have expired."""

    status = 401
    graphql_type = "UNAUTHORIZED"
    usual_message = "Bad credentials"


class ForbiddenError(ForgeError):
    """The caller is known and may not do this."""

    status = 403
    graphql_type = "FORBIDDEN"
    usual_message = "Resource not accessible by integration"


class NotFoundError(ForgeError):
    """The thing does not exist, or the caller may not see it."""

    status = 404
    graphql_type = "NOT_FOUND"
    usual_message = "Not Found"


class NotAllowedError(ForgeError):
    """The state does not allow this, such as a merge with conflicts."""

    status = 405
    graphql_type = "UNPROCESSABLE"


class ConflictError(ForgeError):
    """The caller's knowledge is older than the state."""

    status = 409
    graphql_type = "UNPROCESSABLE"


class UnprocessableError(ForgeError):
    """The request was read and its content is refused."""

    status = 422
    graphql_type = "UNPROCESSABLE"

    @classmethod
    def on_field(
        cls, resource: str, field: str, code: str, message: str | None = None
    ) -> "UnprocessableError":
        """Return the error that names one field, as GitHub's validation errors do."""
        fault = {"resource": resource, "field": field, "code": code}
        if message is not None:
            fault["message"] = message
        return cls("Validation Failed", [fault])
