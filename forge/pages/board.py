"""The board: columns, cards, drafts, and the drop of a card."""

from flask import render_template, request
from flask.typing import ResponseReturnValue

from forge.errors import ForbiddenError, NotFoundError
from forge.pages.faces import columns_of
from forge.pages.looks import address
from forge.pages.site import came_from, done, may_arrange, pages, person, reaches, repo_named
from forge.rest.context import store
from forge.store.board import DraftIssue, Item, Project
from forge.store.models import Role

DRAFT = "draft"
BOARD = "/orgs/<org>/projects/<int:number>"


def project_at(org: str, number: int) -> Project:
    """Return the project; raises NotFoundError."""
    return store().projects.get(store().users.get(org), number)


def arrangeable(org: str, number: int) -> Project:
    """Return the project; raises ForbiddenError when the visitor may not change it."""
    project = project_at(org, number)
    if not may_arrange(project):
        raise ForbiddenError(f"Only members of {project.owner.login} can change this board.")
    return project


def card_on(project: Project, item_id: str) -> Item:
    """Return the card; raises NotFoundError when it is not on this board."""
    item = store().nodes.get(item_id)
    if not isinstance(item, Item) or item.project is not project:
        raise NotFoundError("That card is no longer on the board.")
    return item


def draft_on(project: Project, item_id: str) -> tuple[Item, DraftIssue]:
    """Return a draft card and its content; raises NotFoundError when it was converted."""
    item = card_on(project, item_id)
    if not isinstance(item.content, DraftIssue):
        raise NotFoundError("That card is an issue by now.")
    return item, item.content


def drop(item: Item, column: str | None, before: Item | None) -> None:
    """Put a card where it was dropped: above `before`, or last in the column."""
    projects, project, me = store().projects, item.project, person()
    option = item.column()
    if (option.name if option else None) != column:
        projects.drag(item, column, actor=me, before=before)
        if before is not None:
            return
    others = [card for card in project.items if card is not item]
    if before is not None:
        place = others.index(before)
        projects.move(item, others[place - 1] if place else None, actor=me)
        return
    mates = [card for card in others if card.column() is item.column()]
    if mates and project.items.index(mates[-1]) > project.items.index(item):
        projects.move(item, mates[-1], actor=me)


@pages.on(BOARD)
def board(org: str, number: int) -> ResponseReturnValue:
    project = project_at(org, number)
    repos = [repo for repo in store().repos.all() if repo.owner is project.owner and reaches(repo, Role.READ)]
    return render_template(
        "board.html",
        project=project,
        columns=columns_of(project),
        may_arrange=may_arrange(project),
        repos=repos,
        update=project.status_updates[0] if project.status_updates else None,
    )


@pages.on(f"{BOARD}/drops", post=True)
def drop_card(org: str, number: int) -> ResponseReturnValue:
    project = arrangeable(org, number)
    item = card_on(project, request.form.get("item", ""))
    wanted = request.form.get("before", "")
    before = card_on(project, wanted) if wanted else None
    drop(item, request.form.get("column") or None, before if before is not item else None)
    return done(address(project))


@pages.on(f"{BOARD}/cards", post=True)
def add_card(org: str, number: int) -> ResponseReturnValue:
    project = arrangeable(org, number)
    title, body = request.form.get("title", "").strip(), request.form.get("body", "")
    where, column = request.form.get("where", DRAFT), request.form.get("column") or None
    if where == DRAFT:
        item = store().projects.add_draft(project, title, body, actor=person())
    else:
        issue = store().issues.create(repo_named(where), title, body, actor=person())
        item = store().projects.add(project, issue, actor=person())
    drop(item, column, None)
    return done(address(project))


@pages.on(f"{BOARD}/drafts/<item_id>")
def draft(org: str, number: int, item_id: str) -> ResponseReturnValue:
    item, content = draft_on(project_at(org, number), item_id)
    repos = [repo for repo in store().repos.all() if repo.owner is item.project.owner]
    allowed = may_arrange(item.project)
    return render_template("draft.html", item=item, draft=content, repos=repos, may_arrange=allowed)


@pages.on(f"{BOARD}/drafts/<item_id>/issue", post=True)
def convert_draft(org: str, number: int, item_id: str) -> ResponseReturnValue:
    item, _ = draft_on(arrangeable(org, number), item_id)
    repo = repo_named(request.form.get("where", ""))
    return done(address(store().projects.convert_draft(item, repo, actor=person())))


@pages.on(f"{BOARD}/cards/<item_id>/archive", post=True)
def archive_card(org: str, number: int, item_id: str) -> ResponseReturnValue:
    project = arrangeable(org, number)
    store().projects.set_archived(card_on(project, item_id), True, actor=person())
    return done(came_from(address(project)))
