"""Where the forge still does otherwise than GitHub; docs/reference/github.md is made of it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """One behaviour: of GitHub by its documentation or by other projects' reports, and of the forge."""

    about: str
    github: str
    forge: str


DIFFERENCES = (
    Difference(
        "converting a draft by an App",
        "may be refused; nobody has reported it either way",
        "works, unless a test switches it off",
    ),
    Difference("an organisation with a list of allowed addresses", "refuses other addresses", "has none"),
    Difference(
        "a query that is too dear", "ends after 10 seconds", "is carried out, unless a test sets a fault"
    ),
    Difference(
        "the cards on a board's page", "show the fields of the chosen view", "show all fields, in any view"
    ),
    Difference(
        "a file of Actions in a push",
        "may be one that another branch has in the same words",
        "is judged by its commit: only one that the repository has already is taken",
    ),
    Difference("dates and iterations on a board", "are kinds of fields", "are refused"),
)
