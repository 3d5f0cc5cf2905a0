"""What the API answers where GitHub refuses: status and words. Nothing goes over a socket."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from werkzeug.test import Client, TestResponse

from forge.store.models import User
from tests.forge.conftest import Town
from tests.forge.test_apps import signed

INACCESSIBLE = "Resource not accessible by integration"
Names = dict[str, object]  # what stands in the addresses and the bodies of a topic


@dataclass(frozen=True, slots=True)
class Ask:
    """A request that GitHub refuses; `who` is a person, the name of a token, or nobody."""

    who: str
    line: str
    status: int
    says: str
    body: Any = None


@dataclass(frozen=True, slots=True)
class Topic:
    """Requests that are refused for related reasons, in a world that `given` prepares and names parts of."""

    asks: list[Ask]
    given: Callable[[Town], Names] = lambda _: {}


def send(town: Town, ask: Ask, names: Names) -> TestResponse:
    secret = names.get(ask.who, f"forge-user-{ask.who}")
    headers = {"Authorization": f"Bearer {secret}"} if ask.who else {}
    method, path = ask.line.format_map(names).split(" ", 1)
    content = {"data": ask.body} if isinstance(ask.body, str) else {"json": ask.body}
    return Client(town.forge.answer).open(path, method=method, headers=headers, **content)


def token(town: Town, *repositories: str, **permissions: str) -> str:
    repos = frozenset(town.store.repos.get("acme", name).id for name in repositories) or None
    made = town.store.apps.issue_token(town.world.installation, permissions=permissions, repo_ids=repos)
    return str(made.value)


def shop(town: Town, **changes: object) -> Names:
    for name, value in changes.items():
        setattr(town.store.repos.get("acme", "shop"), name, value)
    return {}


def signed_in(town: Town, who: User) -> str:
    app, store = town.world.app, town.store.authorizations
    return str(store.exchange(app.client_id, app.client_secret, store.grant(app, who, "", ""), "", ""))


def give_tokens(town: Town) -> Names:
    mallory = town.store.users.get("mallory")
    town.store.apps.install(town.world.app, mallory, actor=mallory)
    return {"stranger": signed_in(town, mallory)}


def suspend(town: Town) -> Names:
    owner = town.store.users.get("alice")
    town.store.access.suspend(town.world.installation, actor=owner)
    return {}


def hide(town: Town) -> Names:
    return {"elsewhere": token(town, "board"), **shop(town, private=True)}


def narrow(town: Town) -> Names:
    made = town.store.repos.write_files
    bob, path = town.store.users.get("bob"), ".github/workflows/old.yml"
    made(town.store.repos.get("acme", "shop"), "main", {path: b"on: push\n"}, "CI", actor=bob)
    return {"narrow": token(town, contents="write")}


def check(town: Town) -> Names:
    repo, bob = town.store.repos.get("acme", "shop"), town.store.users.get("bob")
    sha = town.store.repos.commit_of(repo)
    return {"run": town.store.checks.create(repo, "ci", sha, {}, app_slug="other", actor=bob).id}


def branches(town: Town) -> Names:
    store, bob = town.store, town.store.users.get("bob")
    repo = store.repos.get("acme", "shop")
    store.repos.create(store.users.get("acme"), "empty")
    main = store.repos.commit_of(repo)
    tree = store.repos.git(repo).commit(main).tree
    store.repos.create_ref(
        repo,
        "refs/heads/alone",
        store.repos.make_commit(repo, tree, [], "Alone", actor=bob, signed=False),
        actor=bob,
    )
    store.repos.create_ref(repo, "refs/heads/more", main, actor=bob)
    store.repos.write_files(repo, "more", {"a": b"a"}, "More", actor=bob)
    return {"pull": store.pulls.create(repo, "More", "", "more", "main", actor=bob).number}


def be_a_server(town: Town) -> Names:
    town.store.settings.server_version = "3.20.1"
    return {}


VIEW = {"name": "V", "layout": "board"}
TOPICS = {
    # Source: docs.github.com/rest/authentication/authenticating-to-the-rest-api; graphql/guides/
    # forming-calls-with-graphql; rest/apps/installations
    "callers": Topic(
        [
            Ask("", "GET /user", 401, "Requires authentication"),
            Ask("", "PUT {shop}/issues/1/lock", 401, "Requires authentication"),
            Ask("", "POST /graphql", 401, "requires you to be authenticated", {"query": "{ __typename }"}),
            Ask("", "GET /orgs/acme/projectsV2/1/fields", 401, "Requires authentication"),
            Ask("", "GET /installation/repositories", 401, "Requires authentication"),
            Ask("bob", "GET /app", 401, "A JSON web token could not be decoded"),
            Ask("bob", "GET /user/installations", 403, "authorized to a GitHub App"),
            Ask("bob", "GET /user/installations/{number}/repositories", 404, "Not Found"),
            Ask("stranger", "GET /user/installations/{number}/repositories", 404, "Not Found"),
            Ask("key", "GET /orgs/mallory/installation", 404, "Not Found"),
            Ask(
                "key",
                "POST /app/installations/{number}/access_tokens",
                422,
                "at least one repository that does not exist",
                {"repositories": ["nowhere"]},
            ),
        ],
        give_tokens,
    ),
    # Source: docs.github.com/apps/maintaining-github-apps/suspending-a-github-app-installation
    "a suspended installation": Topic(
        [
            Ask("app", "GET {shop}", 403, "This installation has been suspended"),
            Ask(
                "key",
                "POST /app/installations/{number}/access_tokens",
                403,
                "This installation has been suspended",
            ),
        ],
        suspend,
    ),
    # Source: docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api: 404 instead of 403
    "a private repository": Topic(
        [
            Ask("mallory", "GET {shop}", 404, "Not Found"),
            Ask("elsewhere", "GET {shop}", 404, "Not Found"),
        ],
        hide,
    ),
    # Source: docs.github.com/repositories/archiving-a-github-repository/archiving-repositories
    "an archived repository": Topic(
        [Ask("app", "PUT {shop}/issues/1/lock", 403, "archived so is read-only")],
        lambda town: shop(town, archived=True),
    ),
    # Source: docs.github.com/rest/repos/contents (workflows); rest/projects/views
    "permissions": Topic(
        [
            Ask(
                "narrow",
                "PUT {shop}/contents/.github/workflows/ci.yml",
                403,
                INACCESSIBLE,
                {"message": "CI", "content": ""},
            ),
            Ask(
                "narrow",
                "DELETE {shop}/contents/.github/workflows/old.yml",
                403,
                INACCESSIBLE,
                {"message": "CI"},
            ),
            Ask("mallory", "POST /orgs/acme/projectsV2/1/views", 403, "does not have permission", VIEW),
        ],
        narrow,
    ),
    # Source: docs.github.com/rest/checks/runs#update-a-check-run; rest/actions/workflow-jobs
    "checks": Topic(
        [
            Ask("app", "PATCH {shop}/check-runs/{run}", 403, "not owned by this App", {"name": "x"}),
            Ask("app", "GET {shop}/actions/jobs/{run}/logs", 404, "Not Found"),
        ],
        check,
    ),
    # Source: docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api#validation-failed
    "bodies": Topic(
        [
            Ask("bob", "POST {shop}/issues", 400, "Problems parsing JSON", "{"),
            Ask("bob", "POST {shop}/issues", 400, "Body should be a JSON object", [1]),
            Ask("bob", "POST {shop}/issues", 422, "invalid", {"title": 5}),
            Ask("bob", "GET {shop}/issues?since=yesterday", 400, "since"),
            Ask("bob", "POST {shop}/issues/1/labels", 422, "labels", {}),
            Ask("bob", "POST {shop}/labels", 422, "already_exists", {"name": "Bug"}),
            Ask("bob", "POST {shop}/pizzas/1/reactions", 404, "Not Found", {"content": "eyes"}),
            Ask(
                "alice",
                "POST /orgs/acme/projectsV2/1/views",
                422,
                "vertical_group_by",
                {**VIEW, "vertical_group_by": ["Status"]},
            ),
        ],
    ),
    # Source: docs.github.com/rest/commits/commits; rest/repos/contents; rest/pulls
    "commits": Topic(
        [
            Ask("bob", "GET /repos/acme/empty/commits", 409, "Git Repository is empty."),
            Ask("bob", "GET {shop}/commits/nowhere", 422, "No commit found for SHA: nowhere"),
            Ask("bob", "GET {shop}/compare/main...nowhere", 404, "Not Found"),
            Ask("bob", "GET {shop}/compare/main...alone", 404, "No common ancestor"),
            Ask("bob", "PUT {shop}/contents/a", 422, "Base64", {"message": "A", "content": "a"}),
            Ask("bob", "PUT {shop}/contents/README.md", 422, "sha", {"message": "A", "content": ""}),
            Ask(
                "bob",
                "PUT {shop}/contents/a",
                404,
                "Branch nowhere not found",
                {"message": "A", "content": "", "branch": "nowhere"},
            ),
            Ask("bob", "DELETE {shop}/contents/a", 404, "Not Found", {"message": "A", "sha": "0" * 40}),
            Ask("bob", "PUT {shop}/pulls/{pull}/merge", 422, "merge_method", {"merge_method": "octopus"}),
            Ask(
                "bob",
                "POST {shop}/pulls/{pull}/reviews",
                422,
                "Comments",
                {"event": "COMMENT", "body": "Look.", "comments": ["Why?"]},
            ),
        ],
        branches,
    ),
    # Source: docs.github.com/enterprise-server@3.20/rest/rate-limit; it has no page of views
    "an Enterprise Server": Topic(
        [
            Ask("app", "GET /api/v3/rate_limit", 404, "Rate limiting is not enabled."),
            Ask("alice", "POST /api/v3/orgs/acme/projectsV2/1/views", 404, "Not Found", VIEW),
        ],
        be_a_server,
    ),
    # Source: git-scm.com/docs/http-protocol: a smart server's services, and no files of its repositories
    "git": Topic([Ask("bob", "GET /acme/shop.git/objects/info/packs", 404, "Not Found")]),
}


@pytest.mark.parametrize("topic", TOPICS.values(), ids=TOPICS)
def test_it_is_refused_with_githubs_status_and_words(town: Town, topic: Topic) -> None:
    names = {
        "shop": "/repos/acme/shop",
        "number": town.world.installation.id,
        "app": token(town),
        "key": signed(town, 300),
        **topic.given(town),
    }
    answers = [(ask, send(town, ask, names)) for ask in topic.asks]
    assert [(ask.line, answer.status_code) for ask, answer in answers] == [
        (ask.line, ask.status) for ask in topic.asks
    ]
    assert [ask.line for ask, answer in answers if ask.says not in answer.get_data(as_text=True)] == []


def boards(town: Town) -> Names:
    store, alice = town.store, town.store.users.get("alice")
    other = store.projects.create(acme := store.users.get("acme"), "Other", actor=alice)
    issue = store.repos.get(acme.login, "shop").issues[1]
    return {
        "board": town.world.project.node_id,
        "item": town.world.project.items[0].node_id,
        "status": town.world.project.status.node_id,
        "other": other.node_id,
        "stranger": store.projects.add(other, issue, actor=alice).node_id,
    }


def of_shop(part: str) -> str:
    return f'{{ repository(owner: "acme", name: "shop") {{ {part} {{ id }} }} }}'


def of_acme(bounds: str) -> str:
    return f'{{ organization(login: "acme") {{ projectsV2({bounds}) {{ totalCount }} }} }}'


def change(name: str, given: str, part: str) -> str:
    return f"mutation {{ {name}(input: {{{given}}}) {{ {part} }} }}"


def set_value(project: str, value: str) -> str:
    place = f'projectId: "%({project})s", itemId: "%(item)s", fieldId: "%(status)s"'
    return change("updateProjectV2ItemFieldValue", f"{place}, value: {{{value}}}", "clientMutationId")


NOBODY = "Could not resolve to an Organization with the login of"
UNKNOWN = '[{id: "nothing", name: "A", color: GRAY, description: ""}]'
FIELD = "projectV2Field { __typename }"
# Source: docs.github.com/graphql/reference/mutations, and graphql/overview/
# rate-limits-and-query-limits-for-the-graphql-api.
FAULTS = [
    ("NOT_FOUND", f"{NOBODY} 'nowhere'", '{ organization(login: "nowhere") { id } }'),
    ("NOT_FOUND", f"{NOBODY} 'alice'", '{ organization(login: "alice") { id } }'),
    ("NOT_FOUND", "the name 'acme/nowhere'", '{ repository(owner: "acme", name: "nowhere") { id } }'),
    ("NOT_FOUND", "an Issue with the number of 999", of_shop("issue(number: 999)")),
    ("NOT_FOUND", "a PullRequest with the number of 1", of_shop("pullRequest(number: 1)")),
    ("EXCESSIVE_PAGINATION", "exceeds the `first` limit of 100 records", of_acme("first: 101")),
    ("INVALID_CURSOR_ARGUMENTS", "valid cursor", of_acme('first: 1, after: "!"')),
    ("NOT_FOUND", "does not exist in the project", set_value("other", 'text: "x"')),
    ("UNPROCESSABLE", "one value", set_value("board", 'text: "x", number: 1')),
    (
        "UNPROCESSABLE",
        "does not exist on this field",
        change("updateProjectV2Field", f'fieldId: "%(status)s", singleSelectOptions: {UNKNOWN}', FIELD),
    ),
    (
        "NOT_FOUND",
        "a node with the global id of",
        change("addProjectV2ItemById", 'projectId: "%(board)s", contentId: "%(status)s"', "item { id }"),
    ),
    (
        "NOT_FOUND",
        "does not exist in the project",
        change(
            "updateProjectV2ItemPosition",
            'projectId: "%(board)s", itemId: "%(item)s", afterId: "%(stranger)s"',
            "items(first: 1) { totalCount }",
        ),
    ),
]


def test_a_document_is_answered_with_githubs_type_and_words(town: Town) -> None:
    names = boards(town)
    asks = [Ask("alice", "POST /graphql", 200, "", {"query": document % names}) for _, _, document in FAULTS]
    answers = [send(town, ask, names) for ask in asks]
    errors = [answer.get_json().get("errors", [{}])[0] for answer in answers]
    assert [error.get("type") for error in errors] == [kind for kind, _, _ in FAULTS]
    assert [
        words for (_, words, _), error in zip(FAULTS, errors, strict=True) if words not in error["message"]
    ] == []
