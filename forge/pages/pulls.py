"""Pull requests: the conversation with the merge box, and the acts on the whole."""

from flask import redirect, render_template, request
from flask.typing import ResponseReturnValue

from forge.errors import UnprocessableError
from forge.pages.changes import commits_of, files_of
from forge.pages.conversation import may_close, repo_at
from forge.pages.looks import address
from forge.pages.site import Site, done
from forge.pages.timeline import conversation
from forge.store.models import Pull, Role
from forge.store.pulls import MergeMethod


def pull_at(site: Site, owner: str, name: str, number: int) -> Pull:
    """Return the pull request if the visitor may see it; raises NotFoundError."""
    return site.store.pulls.get(repo_at(site, owner, name), number)


def shown(site: Site, pull: Pull, tab: str, template: str) -> ResponseReturnValue:
    """Render one tab of a pull request."""
    store, me = site.store, site.person()
    refs = store.repos.git(pull.repo).refs()
    return render_template(
        template,
        tab=tab,
        pull=pull,
        issue=pull.issue,
        repo=pull.repo,
        entries=conversation(store, pull.issue) if tab == "conversation" else [],
        commits=commits_of(store, pull),
        files=files_of(store, pull),
        cards=store.projects.items_of(pull),
        checks=store.checks.on_commit(pull.repo, pull.head_sha),
        verdicts=store.reviews.verdicts(pull),
        merge_state=store.pulls.mergeable_state(pull),
        rule=store.pulls.rule_against(pull),
        branch_exists=f"refs/heads/{pull.head_ref}" in refs,
        may_close=may_close(site, pull.issue),
        may_write=site.reaches(pull.repo, Role.WRITE),
        is_author=pull.issue.author is me,
    )


def mount(site: Site) -> None:
    """Mount pull requests."""

    @site.route("/<owner>/<name>/pull/<int:number>")
    def pull(owner: str, name: str, number: int) -> ResponseReturnValue:
        issue = site.store.issues.get(repo_at(site, owner, name), number)
        if issue.pull is None:
            return redirect(address(issue))
        return shown(site, issue.pull, "conversation", "pull.html")

    @site.route("/<owner>/<name>/pull/<int:number>/commits")
    def pull_commits(owner: str, name: str, number: int) -> ResponseReturnValue:
        return shown(site, pull_at(site, owner, name, number), "commits", "pull_commits.html")

    @site.route("/<owner>/<name>/pull/<int:number>/files")
    def pull_files(owner: str, name: str, number: int) -> ResponseReturnValue:
        return shown(site, pull_at(site, owner, name, number), "files", "pull_files.html")

    @site.route("/<owner>/<name>/pulls")
    def pull_list(owner: str, name: str) -> ResponseReturnValue:
        repo = repo_at(site, owner, name)
        listed = [one.issue for one in site.store.pulls.all(repo)]
        return render_template("list.html", repo=repo, listed=listed, tab="pulls")

    mount_acts(site)


def mount_acts(site: Site) -> None:
    """Mount what is done to a whole pull request."""

    @site.route("/<owner>/<name>/pull/<int:number>/merge", post=True)
    def merge(owner: str, name: str, number: int) -> ResponseReturnValue:
        found = pull_at(site, owner, name, number)
        site.require(found.repo, Role.WRITE, "merge")
        method, head = request.form.get("method", "squash"), request.form.get("head") or None
        if method not in set(MergeMethod):
            raise UnprocessableError("There is no such way to merge.")
        site.store.pulls.merge(found, actor=site.person(), method=MergeMethod(method), sha=head)
        return done(address(found))

    @site.route("/<owner>/<name>/pull/<int:number>/draft", post=True)
    def set_draft(owner: str, name: str, number: int) -> ResponseReturnValue:
        found = pull_at(site, owner, name, number)
        if found.issue.author is not site.person():
            site.require(found.repo, Role.WRITE, "change whether this is a draft")
        site.store.pulls.set_draft(found, request.form.get("draft") == "1", actor=site.person())
        return done(address(found))

    @site.route("/<owner>/<name>/pull/<int:number>/branch", post=True)
    def delete_branch(owner: str, name: str, number: int) -> ResponseReturnValue:
        found = pull_at(site, owner, name, number)
        site.require(found.repo, Role.WRITE, "delete the branch")
        site.store.repos.delete_ref(found.repo, f"refs/heads/{found.head_ref}", actor=site.person())
        return done(address(found))

    @site.route("/<owner>/<name>/checks/<int:check_id>/actions", post=True)
    def press(owner: str, name: str, check_id: int) -> ResponseReturnValue:
        repo = repo_at(site, owner, name)
        site.require(repo, Role.WRITE, "press a check's button")
        run = site.store.checks.get(repo, check_id)
        site.store.checks.request(run, request.form.get("identifier", ""), actor=site.person())
        return done(f"/{repo.full_name}")
