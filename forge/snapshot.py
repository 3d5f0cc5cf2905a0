"""Everything that can be seen on the forge as plain JSON, for tests and the demo."""

from typing import Any

from forge.clock import rfc3339
from forge.store import Store
from forge.store.board import DraftIssue, FieldType, Item, Project
from forge.store.models import Comment, Issue, Pull, Repo

Json = dict[str, Any]


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
        "owner": project.owner.login,
        "number": project.number,
        "id": project.node_id,
        "title": project.title,
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
        "status_updates": [{"body": one.body, "status": one.status} for one in project.status_updates],
    }


def _column(item: Item) -> str | None:
    column = item.column()
    return column.name if column else None


def _card(item: Item) -> Json:
    content = item.content
    fields: Json = {}
    for value in item.values.values():
        chosen = value.field.data_type is FieldType.SINGLE_SELECT
        option = value.field.option_with_id(str(value.content)) if chosen else None
        fields[value.field.name] = option.name if option else value.content
    card: Json = {
        "item": item.node_id,
        "type": item.content_type,
        "title": item.title,
        "fields": fields,
        "updated_at": rfc3339(item.updated_at),
    }
    if not isinstance(content, DraftIssue):
        card |= {"repository": content.repo.full_name, "number": content.number}
    return card


def _repository(store: Store, repo: Repo) -> Json:
    refs = store.repos.git(repo).refs()
    heads = {
        ref.removeprefix("refs/heads/"): sha for ref, sha in refs.items() if ref.startswith("refs/heads/")
    }
    return {
        "default_branch": repo.default_branch,
        "branches": heads,
        "issues": {str(one.number): _issue(one) for one in repo.issues.values() if one.pull is None},
        "pulls": {
            str(one.number): {**_issue(one), **_pull(store, one.pull)}
            for one in repo.issues.values()
            if one.pull is not None
        },
    }


def _issue(one: Issue) -> Json:
    return {
        "id": one.node_id,
        "title": one.title,
        "body": one.body or "",
        "state": one.state,
        "state_reason": one.state_reason,
        "author": one.author.login,
        "labels": [label.name for label in one.labels],
        "reactions": [f"{reaction.user.login} {reaction.content}" for reaction in one.reactions],
        "comments": [_comment(comment) for comment in one.comments],
    }


def _comment(one: Comment) -> Json:
    return {
        "id": one.id,
        "author": one.author.login,
        "body": one.body,
        "reactions": [f"{reaction.user.login} {reaction.content}" for reaction in one.reactions],
        "minimized": one.minimized_reason,
    }


def _pull(store: Store, one: Pull) -> Json:
    return {
        "draft": one.draft,
        "merged": one.merged_at is not None,
        "merge_commit": one.merge_commit_sha,
        "mergeable_state": store.pulls.mergeable_state(one),
        "head": one.head_ref,
        "head_sha": one.head_sha,
        "base": one.base_ref,
        "reviews": [
            {"id": review.id, "author": review.author.login, "state": review.state, "body": review.body}
            for review in one.reviews
        ],
        "threads": [
            {
                "id": thread.node_id,
                "path": thread.path,
                "line": thread.line,
                "resolved": thread.resolved_by is not None,
                "outdated": thread.outdated,
                "comments": [
                    {"id": each.id, "author": each.author.login, "body": each.body}
                    for each in thread.comments
                ],
            }
            for thread in one.threads
        ],
        "checks": [
            {"name": run.name, "status": run.status, "conclusion": run.conclusion}
            for run in store.checks.on_commit(one.repo, one.head_sha)
        ],
    }
