"""The board: columns, cards, and where a card is dropped."""

from flask import render_template, request
from flask.typing import ResponseReturnValue

from forge.errors import ForbiddenError, NotFoundError
from forge.pages.faces import columns_of
from forge.pages.looks import address
from forge.pages.site import Site, done
from forge.store.board import Item, Project
from forge.store.models import Role


def require_arranging(site: Site, project: Project) -> None:
    """Raise ForbiddenError when the visitor may not change the board."""
    if not site.may_arrange(project):
        raise ForbiddenError(f"Only members of {project.owner.login} can change this board.")


def project_at(site: Site, org: str, number: int) -> Project:
    """Return the project; raises NotFoundError."""
    return site.store.projects.get(site.store.users.get(org), number)


def card_on(site: Site, project: Project, item_id: str) -> Item:
    """Return the card; raises NotFoundError when it is not on this board."""
    item = site.store.nodes.get(item_id)
    if not isinstance(item, Item) or item.project is not project:
        raise NotFoundError("That card is no longer on the board.")
    return item


def drop(site: Site, item: Item, column: str | None, before: Item | None) -> None:
    """Put a card where it was dropped: above `before`, or last in the column."""
    projects, project, me = site.store.projects, item.project, site.person()
    option = item.column()
    if (option.name if option else None) != column:
        projects.drag(item, column, actor=me, before=before)
        if before is not None:
            return
    others = [one for one in project.items if one is not item]
    if before is not None:
        place = others.index(before)
        projects.move(item, others[place - 1] if place else None, actor=me)
        return
    mates = [one for one in others if one.column() is item.column()]
    if mates and project.items.index(mates[-1]) > project.items.index(item):
        projects.move(item, mates[-1], actor=me)


def mount(site: Site) -> None:
    """Mount the board."""

    @site.route("/orgs/<org>/projects/<int:number>")
    def board(org: str, number: int) -> ResponseReturnValue:
        project = project_at(site, org, number)
        repos = [
            repo
            for repo in site.store.repos.all()
            if repo.owner is project.owner and site.reaches(repo, Role.READ)
        ]
        return render_template(
            "board.html",
            project=project,
            columns=columns_of(project),
            may_arrange=site.may_arrange(project),
            repos=repos,
            update=project.status_updates[0] if project.status_updates else None,
        )

    @site.route("/orgs/<org>/projects/<int:number>/drops", post=True)
    def drop_card(org: str, number: int) -> ResponseReturnValue:
        project = project_at(site, org, number)
        require_arranging(site, project)
        item = card_on(site, project, request.form.get("item", ""))
        wanted = request.form.get("before", "")
        before = card_on(site, project, wanted) if wanted else None
        drop(site, item, request.form.get("column") or None, before if before is not item else None)
        return done(address(project))
