"""The visible state of the forge as plain JSON, for tests and the demo."""

from forge.payloads.view import Json, attributes
from forge.store import Store
from forge.store.board import DraftIssue, Item, Project
from forge.store.models import Comment, Issue, Pull, Repo, Review, ReviewComment


def snapshot(store: Store) -> Json:
    """Return boards with columns and cards, repositories with issues, pull requests and branches."""
    with store.lock:
        return {
            "boards": [_board(project) for project in store.projects.all()],
            "repositories": {repo.full_name: _repository(store, repo) for repo in store.repos.all()},
        }


def _board(project: Project) -> Json:
    live = [item for item in project.items if item.archived_at is None]
    columns: list[tuple[str | None, str]] = [(None, "")]
    columns += [(option.name, option.description) for option in project.status.options]
    return {
        **attributes(project, "number", "title"),
        "owner": project.owner.login,
        "id": project.node_id,
        "fields": [field.name for field in project.fields],
        "columns": [
            {
                "name": name,
                "description": description,
                "cards": [_card(item) for item in live if _column(item) == name],
            }
            for name, description in columns
            if name is not None or any(_column(item) is None for item in live)
        ],
        "archived": [_card(item) for item in project.items if item.archived_at is not None],
        "status_updates": [attributes(update, "body", "status") for update in project.status_updates],
    }


def _column(item: Item) -> str | None:
    column = item.column()
    return column.name if column else None


def _card(item: Item) -> Json:
    content = item.content
    values = item.values.values()
    card: Json = {
        "item": item.node_id,
        "type": item.content_type,
        **attributes(item, "title", "updated_at"),
        "fields": {
            value.field.name: value.option.name if value.option else value.content for value in values
        },
    }
    if not isinstance(content, DraftIssue):
        card |= {"repository": content.repo.full_name, "number": content.number}
    return card


def _repository(store: Store, repo: Repo) -> Json:
    return {
        "default_branch": repo.default_branch,
        "branches": store.repos.git(repo).branches(),
        "issues": {str(issue.number): _issue(issue) for issue in repo.issues.values() if issue.pull is None},
        "pulls": {
            str(issue.number): {**_issue(issue), **_pull(store, issue.pull)}
            for issue in repo.issues.values()
            if issue.pull is not None
        },
    }


def _issue(issue: Issue) -> Json:
    return {
        **attributes(issue, "title", "state", "state_reason"),
        "id": issue.node_id,
        "body": issue.body or "",
        "author": issue.author.login,
        "labels": [label.name for label in issue.labels],
        "reactions": _reactions(issue),
        "comments": [_comment(comment) for comment in issue.comments],
    }


def _reactions(subject: Issue | Comment) -> list[str]:
    return [f"{reaction.user.login} {reaction.content}" for reaction in subject.reactions]


def _comment(comment: Comment) -> Json:
    return {**_text(comment), "reactions": _reactions(comment), "minimized": comment.minimized_reason}


def _text(subject: Comment | Review | ReviewComment) -> Json:
    return {**attributes(subject, "id", "body"), "author": subject.author.login}


def _pull(store: Store, pull: Pull) -> Json:
    return {
        **attributes(pull, "draft", "head_sha"),
        "merged": pull.merged_at is not None,
        "merge_commit": pull.merge_commit_sha,
        "mergeable_state": store.pulls.mergeable_state(pull),
        "head": pull.head_ref,
        "base": pull.base_ref,
        "reviews": [{**_text(review), "state": review.state} for review in pull.reviews],
        "threads": [
            {
                **attributes(thread, "path", "line", "outdated"),
                "id": thread.node_id,
                "resolved": thread.resolved_by is not None,
                "comments": [_text(comment) for comment in thread.comments],
            }
            for thread in pull.threads
        ],
        "checks": [
            attributes(run, "name", "status", "conclusion")
            for run in store.checks.on_commit(pull.repo, pull.head_sha)
        ],
    }
