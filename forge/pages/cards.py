"""New cards and draft cards."""

from flask import render_template, request
from flask.typing import ResponseReturnValue

from forge.errors import NotFoundError
from forge.pages.board import card_on, drop, project_at, require_arranging
from forge.pages.looks import address
from forge.pages.site import Site, done
from forge.store.board import DraftIssue, Item
from forge.store.models import Repo, Role

DRAFT = "draft"


def repo_named(site: Site, full_name: str) -> Repo:
    """Return the repository if the visitor may see it; raises NotFoundError."""
    repo = site.store.repos.get(*(full_name.split("/", 1) if "/" in full_name else ("", "")))
    if not site.reaches(repo, Role.READ):
        raise NotFoundError
    return repo


def mount(site: Site) -> None:
    """Mount what makes and shows cards that are not issues yet."""

    def draft_card(org: str, number: int, item_id: str) -> tuple[Item, DraftIssue]:
        item = card_on(site, project_at(site, org, number), item_id)
        if not isinstance(item.content, DraftIssue):
            raise NotFoundError("That card is an issue by now.")
        return item, item.content

    @site.route("/orgs/<org>/projects/<int:number>/cards", post=True)
    def add_card(org: str, number: int) -> ResponseReturnValue:
        project = project_at(site, org, number)
        require_arranging(site, project)
        title, body = request.form.get("title", "").strip(), request.form.get("body", "")
        where, column = request.form.get("where", DRAFT), request.form.get("column") or None
        if where == DRAFT:
            item = site.store.projects.add_draft(project, title, body, actor=site.person())
        else:
            issue = site.store.issues.create(repo_named(site, where), title, body, actor=site.person())
            item = site.store.projects.add(project, issue, actor=site.person())
        drop(site, item, column, None)
        return done(address(project))

    @site.route("/orgs/<org>/projects/<int:number>/drafts/<item_id>")
    def draft(org: str, number: int, item_id: str) -> ResponseReturnValue:
        item, content = draft_card(org, number, item_id)
        repos = [repo for repo in site.store.repos.all() if repo.owner is item.project.owner]
        allowed = site.may_arrange(item.project)
        return render_template("draft.html", item=item, draft=content, repos=repos, may_arrange=allowed)

    @site.route("/orgs/<org>/projects/<int:number>/drafts/<item_id>/issue", post=True)
    def convert_draft(org: str, number: int, item_id: str) -> ResponseReturnValue:
        item, _ = draft_card(org, number, item_id)
        require_arranging(site, item.project)
        repo = repo_named(site, request.form.get("where", ""))
        return done(address(site.store.projects.convert_draft(item, repo, actor=site.person())))

    @site.route("/orgs/<org>/projects/<int:number>/cards/<item_id>/archive", post=True)
    def archive_card(org: str, number: int, item_id: str) -> ResponseReturnValue:
        project = project_at(site, org, number)
        require_arranging(site, project)
        site.store.projects.set_archived(card_on(site, project, item_id), True, actor=site.person())
        return done(address(project))
