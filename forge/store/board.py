"""State of projects: fields, items in their order, values, status updates."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from forge.store.models import Issue, Node, Pull, User


class FieldType(StrEnum):
    """The field types that the forge's boards have; names as in GitHub's ProjectV2FieldType."""

    TITLE = "TITLE"
    ASSIGNEES = "ASSIGNEES"
    LABELS = "LABELS"
    TEXT = "TEXT"
    NUMBER = "NUMBER"
    SINGLE_SELECT = "SINGLE_SELECT"


@dataclass(slots=True, eq=False)
class Option:
    """One choice of a single-select field; of the Status field: a column."""

    id: str
    name: str
    color: str
    description: str


@dataclass(slots=True, eq=False)
class Field(Node):
    project: "Project"
    name: str
    data_type: FieldType
    options: list[Option] = field(default_factory=list)

    def option_named(self, name: str) -> Option | None:
        """Return the option called `name` in any letter case; `None` when there is none."""
        wanted = name.casefold()
        return next((option for option in self.options if option.name.casefold() == wanted), None)

    def option_with_id(self, option_id: str) -> Option | None:
        """Return the option with this id; `None` when it was removed."""
        return next((option for option in self.options if option.id == option_id), None)


@dataclass(slots=True, eq=False)
class DraftIssue(Node):
    """A card that is no issue yet."""

    title: str
    body: str
    creator: User
    created_at: datetime
    updated_at: datetime


@dataclass(slots=True, eq=False)
class Value(Node):
    """The value of an item in one field: a text, a number or the id of an option."""

    item: "Item"
    field: Field
    content: str | float

    @property
    def option(self) -> Option | None:
        """Return the chosen option; `None` for a value of another type of field."""
        return self.field.option_with_id(str(self.content))


@dataclass(frozen=True, slots=True, eq=False)
class StatusChange:
    """A move of an issue's card in its timeline; the name of the column is empty where there is none."""

    node_id: str
    project: "Project"
    actor: User
    status: str
    created_at: datetime


@dataclass(slots=True, eq=False)
class Item(Node):
    """A card on a project."""

    project: "Project"
    content: Issue | Pull | DraftIssue
    creator: User
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None = None
    values: dict[str, Value] = field(default_factory=dict)
    status_changes: list[StatusChange] = field(default_factory=list)  # oldest first; none of a draft

    @property
    def content_type(self) -> str:
        """Return the content's type as webhook payloads name it."""
        match self.content:
            case Issue():
                return "Issue"
            case Pull():
                return "PullRequest"
            case DraftIssue():
                return "DraftIssue"

    @property
    def title(self) -> str:
        return self.content.issue.title if isinstance(self.content, Pull) else self.content.title

    def column(self) -> Option | None:
        """Return the option of the Status field that the card is in; `None` without one."""
        value = self.values.get(self.project.status.node_id)
        return value.option if value else None


@dataclass(slots=True, eq=False)
class StatusUpdate(Node):
    project: "Project"
    body: str
    status: str | None
    creator: User
    created_at: datetime
    updated_at: datetime


@dataclass(slots=True, eq=False)
class ProjectView(Node):
    """A view of a project; `layout` is table, board or roadmap, `visible_fields` are numbers of fields."""

    project: "Project"
    number: int
    name: str
    layout: str
    creator: User
    created_at: datetime
    updated_at: datetime
    filter: str | None
    visible_fields: list[int]
    vertical_group_by: list[int]


@dataclass(slots=True, eq=False)
class Project(Node):
    """A project; `items` are in the order of the board."""

    owner: User
    number: int
    title: str
    creator: User
    created_at: datetime
    updated_at: datetime
    closed: bool = False
    fields: list[Field] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    status_updates: list[StatusUpdate] = field(default_factory=list)
    views: list[ProjectView] = field(default_factory=list)

    @property
    def status(self) -> Field:
        """Return the field whose options are the columns, whatever somebody calls it by now."""
        return next(field for field in self.fields if field.data_type is FieldType.SINGLE_SELECT)

    def field_named(self, name: str) -> Field | None:
        """Return the field called `name` in any letter case; `None` when there is none."""
        wanted = name.casefold()
        return next((field for field in self.fields if field.name.casefold() == wanted), None)
