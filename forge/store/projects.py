"""Projects: cards, columns, fields; every change has an actor."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from forge.errors import NotFoundError, UnprocessableError
from forge.store.base import Part, check_body, check_title, first
from forge.store.board import (
    DraftIssue,
    Field,
    FieldType,
    Item,
    Option,
    Project,
    ProjectView,
    StatusChange,
    StatusUpdate,
    Value,
)
from forge.store.models import Issue, Pull, Repo, User, UserType
from forge.store.settings import DragShape

MAX_OPTIONS = 50
LAYOUTS = ("table", "board", "roadmap")
# The columns of GitHub's templates, as they are spelled there; a board without a template has the first's.
TEMPLATES = {
    "Board": ("Todo", "In Progress", "Done"),
    "Kanban": ("Backlog", "Ready", "In progress", "In review", "Done"),
}
BUILT_IN = (("Title", FieldType.TITLE), ("Assignees", FieldType.ASSIGNEES), ("Labels", FieldType.LABELS))
COLORS = ("GRAY", "BLUE", "GREEN", "YELLOW", "ORANGE", "RED", "PINK", "PURPLE")


@dataclass(eq=False)
class Projects(Part):
    """Every project by owner and number."""

    _projects: list[Project] = field(default_factory=list)
    _drags: int = 0

    def all(self) -> list[Project]:
        """Return every project, oldest first."""
        return list(self._projects)

    def create(
        self, owner: User, title: str, columns: Sequence[str] = TEMPLATES["Board"], *, actor: User
    ) -> Project:
        """Return a new project with the built-in fields and a Status field with these columns."""
        now = self.store.clock.now()
        number = 1 + sum(project.owner is owner for project in self._projects)
        project = self._new("project", Project, owner, number, title, actor, now, now)
        self._projects.append(project)
        for name, data_type in BUILT_IN:
            self._new_field(project, name, data_type)
        status = self._new_field(project, "Status", FieldType.SINGLE_SELECT)
        status.options = [
            self._new_option(name, COLORS[i % len(COLORS)], "") for i, name in enumerate(columns)
        ]
        return project

    def get(self, owner: User, number: int) -> Project:
        """Return the project; raises NotFoundError."""
        projects = (
            project for project in self._projects if project.owner is owner and project.number == number
        )
        return first(projects, f"Could not resolve to a ProjectV2 with the number {number}.")

    def create_view(
        self,
        project: Project,
        name: str,
        layout: str,
        *,
        actor: User,
        query: str | None = None,
        visible: Sequence[int] | None = None,
        columns: Sequence[int] = (),
    ) -> ProjectView:
        """Return a new view; without `visible` it shows the fields that GitHub's own views show.

        Source: docs.github.com/rest/projects/views#create-a-view-for-an-organization-owned-project.
        """
        if layout not in LAYOUTS or not name.strip():
            raise UnprocessableError.on_field(
                "ProjectV2View", "layout" if name.strip() else "name", "invalid"
            )
        known = [field.id for field in project.fields]
        if {*(visible or ()), *columns} - {*known}:
            raise UnprocessableError.on_field("ProjectV2View", "visible_fields", "invalid")
        shown = list(known[: len(BUILT_IN) + 1] if visible is None else visible)
        now = self.store.clock.now()
        place = (project, len(project.views) + 1, name, layout, actor, now, now, query)
        view = self._new("view", ProjectView, *place, shown, list(columns))
        project.views.append(view)
        return view

    def create_field(
        self, project: Project, name: str, data_type: FieldType, options: Sequence[Option] = ()
    ) -> Field:
        """Return a new field; raises UnprocessableError when the name is taken."""
        check_title("ProjectV2Field", name)
        if project.field_named(name) is not None:
            raise UnprocessableError("Name has already been taken")
        if data_type is FieldType.SINGLE_SELECT and not options:
            raise UnprocessableError("Single select options can't be blank")
        field = self._new_field(project, name, data_type)
        field.options = self._with_ids(options)
        return field

    def update_field(
        self, field: Field, *, name: str | None = None, options: Sequence[Option] | None = None
    ) -> None:
        """Rename a field or replace its options; an option that comes with its id keeps the cards' values."""
        if options is not None:
            if field.data_type is not FieldType.SINGLE_SELECT or not options:
                raise UnprocessableError("Single select options are not valid for this field")
            field.options = self._with_ids(options)
            kept = {option.id for option in field.options}
            for item in field.project.items:
                value = item.values.get(field.node_id)
                if value is not None and value.content not in kept:
                    del item.values[field.node_id]
        if name:
            field.name = name
        field.project.updated_at = self.store.clock.now()

    def _new_field(self, project: Project, name: str, data_type: FieldType) -> Field:
        kind = "single_select_field" if data_type is FieldType.SINGLE_SELECT else "field"
        project.fields.append(self._new(kind, Field, project, name, data_type))
        return project.fields[-1]

    def _new_option(self, name: str, color: str, description: str) -> Option:
        seed = str(self.store.identifiers.next_id()).encode()
        return Option(hashlib.sha256(seed).hexdigest()[:8], name, color, description)

    def _with_ids(self, options: Sequence[Option]) -> list[Option]:
        names = [option.name.casefold() for option in options]
        if len(set(names)) != len(names) or len(names) > MAX_OPTIONS or not all(names):
            raise UnprocessableError("Single select option names must be unique, present and at most 50")
        return [
            option if option.id else self._new_option(option.name, option.color, option.description)
            for option in options
        ]

    def add(self, project: Project, content: Issue | Pull, *, actor: User) -> Item:
        """Return the card of an issue or pull request, made when it is not on the board yet."""
        there = next((item for item in project.items if item.content is content), None)
        return there or self._new_item(project, content, actor)

    def add_draft(self, project: Project, title: str, body: str = "", *, actor: User) -> Item:
        check_title("DraftIssue", title)
        check_body("DraftIssue", body)
        now = self.store.clock.now()
        draft = self._new("draft_issue", DraftIssue, title, body, actor, now, now)
        return self._new_item(project, draft, actor)

    def _new_item(self, project: Project, content: Issue | Pull | DraftIssue, actor: User) -> Item:
        now = self.store.clock.now()
        item = self._new("item", Item, project, content, actor, now, now)
        project.items.append(item)
        self._announce(item, "created", actor)
        return item

    def convert_draft(self, item: Item, repo: Repo, *, actor: User) -> Issue:
        """Turn a draft card into an issue of `repo` and return it; the card keeps its id and values."""
        draft = _draft(item)
        issue = self.store.issues.create(repo, draft.title, draft.body, actor=actor)
        item.content = issue
        self.store.nodes.pop(draft.node_id, None)
        self._announce(item, "converted", actor, {"content_type": {"from": "DraftIssue", "to": "Issue"}})
        return issue

    def delete_item(self, item: Item, *, actor: User) -> None:
        """Take a card off the board."""
        item.project.items.remove(item)
        self.store.nodes.pop(item.node_id, None)
        self._announce(item, "deleted", actor)

    def set_archived(self, item: Item, archived: bool, *, actor: User) -> None:
        """Archive or restore a card; announces only a real change."""
        before = item.archived_at
        if (before is not None) is archived:
            return
        item.archived_at = self.store.clock.now() if archived else None
        changes = {"archived_at": {"from": _iso(before), "to": _iso(item.archived_at)}}
        self._announce(item, "archived" if archived else "restored", actor, changes)

    def move(self, item: Item, after: Item | None, *, actor: User) -> None:
        """Put a card behind another one, or first."""
        items = item.project.items
        before = _before_in(items, item)
        items.remove(item)
        items.insert(0 if after is None or after is item else items.index(after) + 1, item)
        now = _before_in(items, item)
        if before is not now:
            changes = {"from": before and before.node_id, "to": now and now.node_id}
            self._announce(item, "reordered", actor, {"previous_projects_v2_item_node_id": changes})

    def drag(self, item: Item, column: str | None, *, actor: User, before: Item | None = None) -> None:
        """Drag a card into a column (`None`: no status), above `before` if given; raises NotFoundError."""
        status = item.project.status
        option = status.option_named(column) if column is not None else None
        if column is not None and option is None:
            raise NotFoundError(f"Could not resolve to a column with the name {column}.")
        stays = item.values.get(status.node_id)
        same = (stays.content if stays else None) == (option.id if option else None)
        self.set_value(item, status, option.id if option else None, actor=actor)
        if before is None or before is item:
            return
        items = item.project.items
        if same:  # only the position changes, so `move` announces it
            self.move(item, _before_in([other for other in items if other is not item], before), actor=actor)
        else:
            items.remove(item)
            items.insert(items.index(before), item)

    def set_value(self, item: Item, field: Field, content: str | float | None, *, actor: User) -> None:
        """Set or clear (`None`) a card's value, an option by its id; raises UnprocessableError."""
        self._check_value(item, field, content)
        old = item.values.get(field.node_id)
        if (old.content if old else None) == content:
            return
        before, after = self._as_sent(field, old.content if old else None), self._as_sent(field, content)
        now = self.store.clock.now()
        if content is None:
            item.values.pop(field.node_id, None)
        else:
            ids = self.store.identifiers.pair("value")
            item.values[field.node_id] = Value(*ids, item, field, content)
        if field is field.project.status and isinstance(item.content, Issue) and self.store.settings.timeline:
            node_id = self.store.identifiers.pair("status_change")[1]
            column = after["name"] if after else ""
            item.status_changes.append(StatusChange(node_id, item.project, actor, column, now))
        change = {
            "field_node_id": field.node_id,
            "field_type": field.data_type.value.lower(),
            "field_name": field.name,
            "project_number": item.project.number,
            "from": before,
            "to": after,
        }
        for action, changes in self._shapes(field, actor, change):
            self._announce(item, action, actor, changes)

    def _check_value(self, item: Item, field: Field, content: str | float | None) -> None:
        if field.project is not item.project:
            raise UnprocessableError("The field does not belong to the item's project")
        fits = {
            FieldType.TEXT: isinstance(content, str),
            FieldType.NUMBER: isinstance(content, int | float),
            FieldType.SINGLE_SELECT: field.option_with_id(str(content)) is not None,
        }.get(field.data_type, False)
        if content is not None and not fits:
            raise UnprocessableError(f"The value is not valid for the field {field.name}")

    def _shapes(self, field: Field, actor: User, change: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """Return the actions that announce a change of value: a person's drag has more than one shape."""
        edited = ("edited", {"field_value": change})
        reordered = ("reordered", {"previous_projects_v2_item_node_id": {"from": None, "to": None}})
        if field is not field.project.status or actor.type is not UserType.USER:
            return [edited]
        self._drags += 1
        match self.store.settings.drag_shape:
            case DragShape.EDITED:
                return [edited]
            case DragShape.REORDERED:
                return [reordered]
            case DragShape.BOTH:
                return [edited, reordered]
            case DragShape.ALTERNATE:
                return [edited if self._drags % 2 else reordered]

    def _as_sent(self, field: Field, content: str | float | None) -> Any:
        option = field.option_with_id(str(content)) if field.data_type is FieldType.SINGLE_SELECT else None
        return content if option is None else asdict(option)

    def items_of(self, content: Issue | Pull | DraftIssue) -> list[Item]:
        """Return the cards of an issue or a pull request on every board."""
        return [item for project in self._projects for item in project.items if item.content is content]

    def items_of_repo(self, repo: Repo) -> list[Item]:
        """Return the cards of everything in a repository."""
        return [
            item
            for project in self._projects
            for item in project.items
            if isinstance(item.content, Issue | Pull) and item.content.repo is repo
        ]

    def after_close(self, issue: Issue) -> None:
        """Run the built-in workflow "Item closed" on the boards that have its column."""
        column = self.store.settings.closed_moves_to
        for item in self.items_of(issue.pull or issue) if column else []:
            if item.project.status.option_named(column) is not None:
                self.drag(item, column, actor=self.store.automation())

    def add_status_update(
        self,
        project: Project,
        body: str,
        status: str | None,
        *,
        actor: User,
    ) -> StatusUpdate:
        """Return a new status update of a project, the newest first in its list."""
        now = self.store.clock.now()
        update = self._new("status_update", StatusUpdate, project, body, status, actor, now, now)
        project.status_updates.insert(0, update)
        self._announce_update(update, "created", actor)
        return update

    def edit_status_update(
        self, update: StatusUpdate, *, actor: User, body: str | None = None, status: str | None = None
    ) -> None:
        """Change the text or the status of a status update (`None` keeps it)."""
        update.body = update.body if body is None else body
        update.status = update.status if status is None else status
        update.updated_at = self.store.clock.now()
        self._announce_update(update, "edited", actor)

    def _announce_update(self, update: StatusUpdate, action: str, actor: User) -> None:
        event = "projects_v2_status_update"
        self._emit(event, action, actor, update.project, projects_v2_status_update=update)

    def _announce(self, item: Item, action: str, actor: User, changes: dict[str, Any] | None = None) -> None:
        item.updated_at = item.project.updated_at = self.store.clock.now()
        plain = {"changes": changes} if changes else {}
        self._emit("projects_v2_item", action, actor, item.project, plain=plain, projects_v2_item=item)

    def _emit(self, event: str, action: str, actor: User, project: Project, **subjects: Any) -> None:
        # A person's board has no webhooks: docs.github.com/webhooks/types-of-webhooks
        if project.owner.type is UserType.ORGANIZATION:
            self.store.emit(event, action, actor, organization=project.owner, **subjects)


def _draft(item: Item) -> DraftIssue:
    if not isinstance(item.content, DraftIssue):
        raise UnprocessableError("The item is not a draft issue")
    return item.content


def _before_in(items: list[Item], item: Item) -> Item | None:
    position = items.index(item)
    return items[position - 1] if position else None


def _iso(moment: Any) -> str | None:
    return None if moment is None else moment.isoformat(timespec="seconds")
