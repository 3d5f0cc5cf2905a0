"""Issues and the conversation under them, which pull requests share."""

from flask import render_template, request
from flask.typing import ResponseReturnValue

from forge.errors import ConflictError, NotFoundError, UnprocessableError
from forge.pages.cards import repo_named
from forge.pages.looks import address
from forge.pages.markdown import ChangedMeanwhileError, with_tick
from forge.pages.site import Site, done, local_path
from forge.pages.texts import TextKind, require_editing, require_ticking, text_at
from forge.pages.timeline import conversation
from forge.store.models import Issue, Repo, Role

REASONS = ("completed", "not_planned")


def repo_at(site: Site, owner: str, name: str) -> Repo:
    """Return the repository if the visitor may see it; raises NotFoundError."""
    return repo_named(site, f"{owner}/{name}")


def read_body() -> str:
    """Return the text of the form with the line ends that GitHub stores."""
    return request.form.get("body", "").replace("\r\n", "\n")


def may_close(site: Site, issue: Issue) -> bool:
    """Return whether the visitor may close and reopen: its author, and people who triage."""
    return issue.author is site.person() or site.reaches(issue.repo, Role.TRIAGE)


def mount(site: Site) -> None:
    """Mount issues and comments."""

    @site.route("/<owner>/<name>/issues/<int:number>")
    def issue(owner: str, name: str, number: int) -> ResponseReturnValue:
        found = site.store.issues.get(repo_at(site, owner, name), number)
        if found.pull is not None:
            return done(address(found))
        return render_template(
            "issue.html",
            issue=found,
            repo=found.repo,
            entries=conversation(site.store, found),
            cards=site.store.projects.items_of(found),
            may_close=may_close(site, found),
            may_write=site.reaches(found.repo, Role.WRITE),
        )

    @site.route("/<owner>/<name>/issues")
    def issues(owner: str, name: str) -> ResponseReturnValue:
        repo = repo_at(site, owner, name)
        listed = [one for one in reversed(repo.issues.values()) if one.pull is None]
        return render_template("list.html", repo=repo, listed=listed, tab="issues")

    @site.route("/<owner>/<name>/issues/<int:number>/comments", post=True)
    def comment(owner: str, name: str, number: int) -> ResponseReturnValue:
        found = site.store.issues.get(repo_at(site, owner, name), number)
        site.store.issues.comment(found, read_body(), actor=site.person())
        return done(f"{address(found)}#latest")

    @site.route("/<owner>/<name>/issues/<int:number>/state", post=True)
    def set_issue_state(owner: str, name: str, number: int) -> ResponseReturnValue:
        found = site.store.issues.get(repo_at(site, owner, name), number)
        if not may_close(site, found):
            site.require(found.repo, Role.TRIAGE, "close or reopen this")
        state, reason = request.form.get("state", ""), request.form.get("reason") or None
        if reason not in (None, *REASONS):
            raise UnprocessableError("There is no such reason to close an issue.")
        site.store.issues.set_state(found, state, reason, actor=site.person())
        return done(address(found))

    mount_texts(site)


def mount_texts(site: Site) -> None:
    """Mount what edits a text that is already there."""

    def kind_of(word: str) -> TextKind:
        if word not in set(TextKind):
            raise NotFoundError
        return TextKind(word)

    @site.route("/<owner>/<name>/texts/<kind>/<int:number>", post=True)
    def edit_text(owner: str, name: str, kind: str, number: int) -> ResponseReturnValue:
        text = text_at(site, repo_at(site, owner, name), kind_of(kind), number)
        require_editing(site, text)
        text.write(site, read_body())
        return done(local_path(request.form.get("next", f"/{owner}/{name}")))

    @site.route("/<owner>/<name>/texts/<kind>/<int:number>/ticks", post=True)
    def tick(owner: str, name: str, kind: str, number: int) -> ResponseReturnValue:
        text = text_at(site, repo_at(site, owner, name), kind_of(kind), number)
        require_ticking(site, text)
        form = request.form
        try:
            line, label = int(form.get("line", "")), form.get("label", "")
            body = with_tick(text.body, line, label, form.get("checked") == "1")
        except ValueError as error:
            raise UnprocessableError("The line of a task is a number.") from error
        except ChangedMeanwhileError as error:
            raise ConflictError("That task was changed meanwhile. Look again.") from error
        text.write(site, body)
        return done(f"/{owner}/{name}")
