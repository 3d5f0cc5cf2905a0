"""Accounts, organisations and repositories as GitHub writes them."""

from urllib.parse import quote

from forge.clock import rfc3339
from forge.payloads.view import Json, View, attributes
from forge.store.models import Label, Reaction, Repo, Role, User, UserType
from forge.store.registration import Installation


def user(view: View, account: User) -> Json:
    """Return a `simple-user`."""
    url = view.api(f"/users/{account.login.replace('[', '%5B').replace(']', '%5D')}")
    return {
        **attributes(account, "login", "id", "node_id"),
        "avatar_url": view.html(f"/_forge/avatars/{account.id}"),
        "gravatar_id": "",
        "url": url,
        "html_url": view.user_html(account),
        "followers_url": f"{url}/followers",
        "following_url": f"{url}/following{{/other_user}}",
        "gists_url": f"{url}/gists{{/gist_id}}",
        "starred_url": f"{url}/starred{{/owner}}{{/repo}}",
        "subscriptions_url": f"{url}/subscriptions",
        "organizations_url": f"{url}/orgs",
        "repos_url": f"{url}/repos",
        "events_url": f"{url}/events{{/privacy}}",
        "received_events_url": f"{url}/received_events",
        "type": account.type.value,
        "user_view_type": "public",
        "site_admin": False,
    }


def user_or_none(view: View, account: User | None) -> Json | None:
    """Return a `simple-user`; `None` for nobody."""
    return None if account is None else user(view, account)


def public_user(view: View, account: User) -> Json:
    """Return a `public-user`."""
    return {
        **user(view, account),
        **attributes(account, "name", "created_at"),
        **dict.fromkeys(("company", "location", "email", "hireable", "bio", "twitter_username")),
        **dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0),
        "blog": "",
        "updated_at": rfc3339(account.created_at),
    }


def organization(view: View, account: User) -> Json:
    """Return an `organization-simple`."""
    url = view.api(f"/orgs/{account.login}")
    return {
        **attributes(account, "login", "id", "node_id"),
        "url": url,
        "repos_url": f"{url}/repos",
        "events_url": f"{url}/events",
        "hooks_url": f"{url}/hooks",
        "issues_url": f"{url}/issues",
        "members_url": f"{url}/members{{/member}}",
        "public_members_url": f"{url}/public_members{{/member}}",
        "avatar_url": view.html(f"/_forge/avatars/{account.id}"),
        "description": account.name,
    }


def owner_by_kind(view: View, account: User) -> Json:
    """Return the former owner of a repository, as in `repository.transferred`."""
    if account.type is UserType.ORGANIZATION:
        return {"organization": organization(view, account)}
    return {"user": user(view, account)}


REPOSITORY_URLS = {
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "statuses_url": "/statuses/{sha}",
    "trees_url": "/git/trees{/sha}",
}
REPOSITORY_URLS |= {
    f"{name}_url": f"/{name}"
    for name in (
        *("contributors", "deployments", "downloads", "events", "forks", "hooks", "languages", "merges"),
        *("stargazers", "subscribers", "subscription", "tags", "teams"),
    )
}
# The same for every repository of the forge.
REPOSITORY_CONSTANTS = {
    **dict.fromkeys(("size", "stargazers_count", "watchers_count", "forks_count", "forks", "watchers"), 0),
    **dict.fromkeys(("fork", "has_wiki", "has_pages", "has_discussions", "disabled", "is_template"), False),
    **dict.fromkeys(("has_issues", "has_projects", "has_downloads", "allow_forking"), True),
    **dict.fromkeys(("homepage", "language", "mirror_url", "license")),
    "web_commit_signoff_required": False,
}


def repository(view: View, repo: Repo) -> Json:
    """Return a repository as it is inside other answers and payloads."""
    still_open = sum(issue.state == "open" for issue in repo.issues.values())
    url = view.repo_api(repo)
    return {
        **REPOSITORY_CONSTANTS,
        **repository_stub(repo),
        **attributes(
            repo, "description", "created_at", "updated_at", "pushed_at", "archived", "default_branch"
        ),
        "owner": user(view, repo.owner),
        "html_url": view.repo_html(repo),
        "url": url,
        **{key: url + rest for key, rest in REPOSITORY_URLS.items()},
        "git_url": view.repo_html(repo, ".git"),
        "ssh_url": view.repo_html(repo, ".git"),
        "clone_url": view.repo_html(repo, ".git"),
        "svn_url": view.repo_html(repo),
        "open_issues_count": still_open,
        "topics": [],
        "visibility": "private" if repo.private else "public",
        "open_issues": still_open,
    }


def repository_stub(repo: Repo) -> Json:
    """Return a repository as an installation's payloads list it."""
    return attributes(repo, "id", "node_id", "name", "full_name", "private")


def repository_stubs(_view: View, repos: list[Repo]) -> list[Json]:
    """Return the stubs of several repositories."""
    return [repository_stub(repo) for repo in repos]


def full_repository(view: View, repo: Repo, role: Role) -> Json:
    """Return a `full-repository` as one with `role` sees it."""
    return {
        **repository(view, repo),
        "custom_properties": {},
        "permissions": permissions(role),
        **dict.fromkeys(("allow_squash_merge", "allow_merge_commit", "allow_rebase_merge"), True),
        "allow_auto_merge": repo.auto_merge_allowed,
        "delete_branch_on_merge": False,
        "network_count": 0,
        "subscribers_count": 0,
        **({"organization": user(view, repo.owner)} if repo.owner.type is UserType.ORGANIZATION else {}),
    }


def permissions(role: Role) -> dict[str, bool]:
    """Return the `permissions` of somebody with that role."""
    names = {"admin": Role.ADMIN, "maintain": Role.MAINTAIN, "push": Role.WRITE, "triage": Role.TRIAGE}
    return {name: role.reaches(needed) for name, needed in {**names, "pull": Role.READ}.items()}


def label(view: View, label: Label, repo: Repo) -> Json:
    """Return a `label`."""
    return {
        **attributes(label, "id", "node_id", "name", "color", "description"),
        "url": view.repo_api(repo, f"/labels/{quote(label.name, safe='/:')}"),
        "default": False,
    }


def reaction(view: View, reaction: Reaction) -> Json:
    """Return a `reaction`."""
    return {
        **attributes(reaction, "id", "node_id", "content", "created_at"),
        "user": user(view, reaction.user),
    }


def reaction_rollup(url: str, reactions: list[Reaction]) -> Json:
    """Return the counts of reactions of something at `url`."""
    kinds = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
    counts = {kind: sum(reaction.content == kind for reaction in reactions) for kind in kinds}
    return {"url": f"{url}/reactions", "total_count": len(reactions), **counts}


def installation_stub(installation: Installation) -> Json:
    """Return the `installation` that every payload of an App's webhook carries."""
    return attributes(installation, "id", "node_id")
