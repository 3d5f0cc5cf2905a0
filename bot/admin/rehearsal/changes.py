"""Beliefs about commits, checks, pull requests and merges, tried by `cardinal rehearse` on its own."""

from urllib.parse import quote

from bot.admin.rehearsal.belief import Beliefs, Facts, NotTriedError
from bot.admin.rehearsal.stage import BRANCHES, FILE, TITLE, RehearsalStage
from bot.github.api import checks, contents, git_commits, merge_queue, pulls, repositories, reviews
from bot.github.client import repository_path
from bot.github.errors import ConflictError, NotFoundError, PermissionMissingError, RefusedError

beliefs = Beliefs[RehearsalStage]()
CHECK = "cardinal/rehearsal"
ZEROS = "0" * 40


@beliefs.about(
    "file at a commit",
    "A file is read at the commit that has it, in base64.",
    used="bot/github/api/contents.py",
    source="rest/repos/contents#get-repository-content",
)
def reads_file(stage: RehearsalStage) -> Facts:
    commit = str(stage.head_commit["sha"])
    text = contents.content(stage.hub, stage.repository, FILE, commit, most_bytes=1000)
    return {"same bytes": (True, text == b"1\n2\n3\n")}


@beliefs.about(
    "signed commit",
    "GitHub signs a commit that the App makes by the API without an author.",
    used="bot/github/api/git_commits.py",
    source="authentication/managing-commit-signature-verification/about-commit-signature-verification",
)
def signs_commit(stage: RehearsalStage) -> Facts:
    head = stage.head_commit
    parents = (str(head["sha"]),)
    commit = git_commits.make_commit(stage.hub, stage.repository, str(head["tree"]["sha"]), parents, TITLE)
    return {"verified": (True, commit.verified), "reason": ("valid", commit.why)}


@beliefs.about(
    "workflow file",
    "A token without the permission for workflows cannot change a file of CI.",
    used="bot/github/token_scope.py",
    source="rest/repos/contents#create-or-update-file-contents",
)
def guards_workflows(stage: RehearsalStage) -> Facts:
    try:
        stage.write(".github/workflows/rehearsal.yml", stage.head_branch)
    except (PermissionMissingError, NotFoundError, RefusedError) as error:
        return {"refused": (True, error.status in (403, 404, 422))}
    return {"refused": (True, False)}


@beliefs.about(
    "comparison",
    "A comparison tells by how many commits a branch is behind, also on a page without files.",
    used="bot/github/api/repositories.py",
    source="rest/commits/commits#compare-two-commits",
)
def compares(stage: RehearsalStage) -> Facts:
    base, head = stage.base_commit, str(stage.head_commit["sha"])
    hub, repository = stage.hub, stage.repository
    return {
        "head has base": (True, repositories.is_on(hub, repository, base, head)),
        "base has head": (False, repositories.is_on(hub, repository, head, base)),
    }


@beliefs.about(
    "rules of a branch",
    "The rules of a branch that does not exist yet are a list.",
    used="bot/github/api/rulesets.py",
    source="rest/repos/rules#get-rules-for-a-branch",
)
def lists_rules(stage: RehearsalStage) -> Facts:
    path = f"{repository_path(stage.repository)}/rules/branches/{quote(f'{BRANCHES}none', safe='')}"
    try:
        return {"a list": (True, isinstance(stage.hub.rest("GET", path).body, list))}
    except (NotFoundError, PermissionMissingError) as error:
        raise NotTriedError("this server, or its plan, has no rules") from error


@beliefs.about(
    "draft",
    "A pull request can be opened as a draft.",
    used="bot/github/api/pulls.py",
    source="rest/pulls/pulls#create-a-pull-request",
)
def opens_draft(stage: RehearsalStage) -> Facts:
    pull = stage.pull
    return {"draft": (True, pull["draft"]), "state": ("open", pull["state"])}


@beliefs.about(
    "second pull request",
    "A second pull request of the same branch is refused with 422 and the words: already exists.",
    used="bot/github/api/pulls.py",
    source="rest/pulls/pulls#create-a-pull-request",
)
def refuses_second(stage: RehearsalStage) -> Facts:
    draft = stage.pull["draft"]
    words = {"title": TITLE, "head": stage.head_branch, "base": stage.base_branch, "draft": draft}
    try:
        stage.hub.rest("POST", f"{repository_path(stage.repository)}/pulls", body=words)
    except RefusedError as error:
        return {"status": (422, error.status), "words": (True, "already exists" in error.because.lower())}
    return {"status": (422, 201)}


@beliefs.about(
    "pull request of a branch",
    "The open pull request of a branch is found by owner:branch.",
    used="bot/github/api/pulls.py",
    source="rest/pulls/pulls#list-pull-requests",
)
def finds_pull(stage: RehearsalStage) -> Facts:
    number = int(stage.pull["number"])
    pull = stage.until(lambda: pulls.find_open(stage.hub, stage.repository, stage.head_branch), bool)
    return {"is it": (True, pull is not None and pull.number == number)}


@beliefs.about(
    "merge of a draft",
    "A draft is not merged: 405.",
    used="bot/outbox/handlers/merge_pull.py",
    source="rest/pulls/pulls#merge-a-pull-request",
)
def refuses_draft(stage: RehearsalStage) -> Facts:
    pull = stage.look_at_pull()
    if not pull.draft:
        raise NotTriedError("it is no draft")
    return {"status": (405, _merge_status(stage, pull.head))}


def _merge_status(stage: RehearsalStage, head: str) -> int:
    path = f"{repository_path(stage.repository)}/pulls/{stage.pull['number']}/merge"
    try:
        return stage.hub.rest("PUT", path, body={"merge_method": "squash", "sha": head}).status
    except (RefusedError, ConflictError) as error:
        return error.status


@beliefs.about(
    "end of a draft",
    "GraphQL takes a pull request out of draft, and a second time is no error.",
    used="bot/github/api/reviews.py",
    source="graphql/reference/mutations#markpullrequestreadyforreview",
)
def ends_draft(stage: RehearsalStage) -> Facts:
    pull = stage.ready_pull
    reviews.mark_ready(stage.hub, stage.repository, pull.node_id, pull.head)
    return {"draft": (False, pull.draft), "state": ("open", pull.state)}


@beliefs.about(
    "mergeability",
    "GitHub knows within a minute whether a pull request can be merged.",
    used="bot/github/api/pulls.py",
    source="rest/pulls/pulls#get-a-pull-request",
)
def knows_mergeability(stage: RehearsalStage) -> Facts:
    return {"mergeable": (True, stage.ready_pull.mergeable is True)}


@beliefs.about(
    "check run",
    "A check run on a commit is listed there at once, with its name and result.",
    used="bot/outbox/gate_check.py",
    source="rest/checks/runs#create-a-check-run",
)
def writes_check(stage: RehearsalStage) -> Facts:
    head = str(stage.head_commit["sha"])
    body = {"name": CHECK, "head_sha": head, "status": "completed", "conclusion": "neutral"}
    made = stage.hub.rest("POST", f"{repository_path(stage.repository)}/check-runs", body=body).body
    path = f"{repository_path(stage.repository)}/commits/{head}/check-runs"
    listed = stage.hub.rest("GET", path, params={"filter": "latest"}).body["check_runs"]
    mine = [run for run in listed if run["id"] == made["id"] and run["name"] == CHECK]
    strange = [check for check in checks.of_commit(stage.hub, stage.repository, head) if check.name == CHECK]
    return {"listed": (1, len(mine)), "taken for somebody else's": (0, len(strange))}


@beliefs.about(
    "line comment",
    "A review's comment on a line is listed with its path and line.",
    used="bot/github/api/reviews.py",
    source="rest/pulls/comments#list-review-comments-on-a-pull-request",
)
def lists_lines(stage: RehearsalStage) -> Facts:
    number, review = int(stage.pull["number"]), int(stage.review["id"])
    threads = stage.until(
        lambda: reviews.threads_of_review(stage.hub, stage.repository, number, review), bool
    )
    path, line = (threads[0].path, threads[0].line) if threads else ("", 0)
    return {"threads": (1, len(threads)), "path": (True, path == FILE), "line": (2, line)}


@beliefs.about(
    "answer to a line comment",
    "An App answers a line comment by in_reply_to, and GraphQL resolves its thread.",
    used="bot/outbox/handlers/answer_thread.py",
    source="rest/pulls/comments#create-a-review-comment-for-a-pull-request",
)
def answers_line(stage: RehearsalStage) -> Facts:
    number, review = int(stage.pull["number"]), int(stage.review["id"])
    path = f"{repository_path(stage.repository)}/pulls/{number}/reviews/{review}/comments"
    root = stage.until(lambda: [*stage.hub.pages(path, most=1)], bool)[0]["id"]
    body = {"body": "An answer.", "in_reply_to": root}
    reply = stage.hub.rest(
        "POST", f"{repository_path(stage.repository)}/pulls/{number}/comments", body=body
    ).body
    thread = reviews.node_of_thread(stage.hub, stage.repository, number, str(root))
    reviews.resolve_thread(stage.hub, stage.repository, thread)
    return {"answers it": (True, reply["in_reply_to_id"] == root)}


@beliefs.about(
    "moved head",
    "A merge at a commit that is not the head is refused with 409.",
    used="bot/github/api/pulls.py",
    source="rest/pulls/pulls#merge-a-pull-request",
)
def guards_head(stage: RehearsalStage) -> Facts:
    _ = stage.ready_pull
    return {"status": (409, _merge_status(stage, ZEROS))}


@beliefs.about(
    "merge queue",
    "A pull request tells whether its branch has a merge queue, and whether it waits there.",
    used="bot/github/api/merge_queue.py",
    source="graphql/reference/objects#pullrequest",
)
def tells_queue(stage: RehearsalStage) -> Facts:
    merging = merge_queue.read(stage.hub, stage.ready_pull.node_id)
    return {"state": ("open", merging.state), "waits": (False, merging.queued), "auto": (False, merging.auto)}


@beliefs.about(
    "merge",
    "A squash is made by one call, which answers with the commit; the same merge again is refused as merged.",
    used="bot/github/api/pulls.py",
    source="rest/pulls/pulls#merge-a-pull-request",
)
def makes_merge(stage: RehearsalStage) -> Facts:
    commit, pull = stage.merged_commit, stage.look_at_pull()
    on_base = repositories.branch_head(stage.hub, stage.repository, stage.base_branch)
    return {
        "state": ("merged", pull.state),
        "same commit": (True, pull.merge_commit == commit),
        "is the branch's newest": (True, on_base == commit),
        "again": (405, _merge_status(stage, pull.head)),
    }


@beliefs.about(
    "deleted branch",
    "A branch is deleted once; a second time is refused in words that Cardinal knows.",
    used="bot/github/api/pulls.py",
    source="rest/git/refs#delete-a-reference",
)
def deletes_branch(stage: RehearsalStage) -> Facts:
    _ = stage.merged_commit
    for _ in range(2):
        pulls.delete_branch(stage.hub, stage.repository, stage.head_branch)
    try:
        repositories.branch_head(stage.hub, stage.repository, stage.head_branch)
    except NotFoundError:
        return {"is gone": (True, True)}
    return {"is gone": (True, False)}
