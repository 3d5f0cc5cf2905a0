"""The App proves itself, gets tokens, and may do with each what was granted and no more."""

from pathlib import Path

import pytest

from bot.github.api import roles
from bot.github.client import Hub
from bot.github.errors import NotFoundError, PermissionMissingError, TokenError
from bot.github.transport import CREATE, ApiCall, CallSlots, Wire
from tests.peer.emulator import new_key
from tests.peer.side import ADMIN, ANSWER_S, BOT, ORG, SLUG, STRANGER, WRITER, Side, utc_now


def test_an_app_is_who_its_key_says(hub: Hub, side: Side) -> None:
    app = hub.as_app("GET", "/app").body
    assert (app["id"], app["slug"]) == (side.app_id, SLUG)
    installation = hub.as_app("GET", f"/orgs/{ORG}/installation").body
    assert (installation["app_id"], installation["account"]["login"]) == (side.app_id, ORG)
    assert installation["target_type"] == "Organization"


def test_a_jwt_of_another_key_is_refused(side: Side) -> None:
    assert side.ask("GET", "/app", token=side.jwt(key=new_key())).status == 401
    assert side.ask("GET", "/app", token=side.jwt(lasting_s=-5)).status == 401
    assert side.ask("GET", "/app", token="a.b.c").status == 401


def test_cardinal_says_what_to_check_when_its_key_is_not_the_apps(side: Side, tmp_path: Path) -> None:
    wrong = Side(
        side.name, side.url, side.app_id, new_key(), side.relay, side.person_token, side.make_repository
    )
    with pytest.raises(TokenError, match="CARDINAL_PRIVATE_KEY"):
        wrong.hub(tmp_path).as_app("GET", "/app")


def test_an_installation_token_opens_what_the_app_may_see(hub: Hub, repository: str) -> None:
    found = hub.rest("GET", f"/repos/{repository}").body
    assert (found["full_name"], found["default_branch"]) == (repository, "main")


def test_the_app_writes_as_its_bot(hub: Hub, side: Side, repository: str) -> None:
    number = side.issue(repository)
    written = hub.rest("POST", f"/repos/{repository}/issues/{number}/comments", body={"body": "hi"}).body
    assert hub.bot_login == written["user"]["login"] == BOT
    assert hub.bot_id == written["user"]["id"]
    assert written["user"]["type"] == "Bot"


def test_a_token_can_be_narrowed_to_one_repository_and_permission(side: Side) -> None:
    mine, other = side.repository(), side.repository()
    reply = side.narrow(repositories=[mine.split("/")[1]], permissions={"issues": "write"})
    assert reply.status == 201
    assert reply.body["repository_selection"] == "selected"
    assert [one["full_name"] for one in reply.body["repositories"]] == [mine]
    assert reply.body["permissions"]["issues"] == "write"
    assert "contents" not in reply.body["permissions"]
    token = reply.body["token"]
    assert side.ask("POST", f"/repos/{mine}/issues", {"title": "yes"}, token=token).status == 201
    assert side.ask("POST", f"/repos/{other}/issues", {"title": "no"}, token=token).status == 403
    ref = {"ref": "refs/heads/no", "sha": side.head(mine)}
    assert side.ask("POST", f"/repos/{mine}/git/refs", ref, token=token).status == 403


def test_what_was_not_granted_cannot_be_asked_for(side: Side, repository: str) -> None:
    assert side.narrow(permissions={"administration": "write"}).status == 422
    assert side.narrow(permissions={"metadata": "write"}).status == 422
    assert side.narrow(repositories=["no-such-repository"]).status == 422


def test_a_token_that_may_read_may_not_write(side: Side, repository: str) -> None:
    token, path = side.token(permissions={"issues": "read"}), f"/repos/{repository}/issues"
    assert side.ask("GET", path, token=token).status == 200
    reply = side.ask("POST", path, {"title": "no"}, token=token)
    assert reply.status == 403


def test_cardinals_token_for_pushing_reaches_one_repository(hub: Hub, side: Side, repository: str) -> None:
    token = hub._tokens.for_pushing(repository)
    made = {"ref": "refs/heads/pushed", "sha": side.head(repository)}
    assert side.ask("POST", f"/repos/{repository}/git/refs", made, token=token).status == 201
    assert side.ask("POST", f"/repos/{repository}/issues", {"title": "no"}, token=token).status == 403
    other = side.repository()
    made = {"ref": "refs/heads/pushed", "sha": side.head(other)}
    assert side.ask("POST", f"/repos/{other}/git/refs", made, token=token).status == 403


def test_cardinal_tells_a_missing_permission_from_a_missing_thing(
    hub: Hub, side: Side, repository: str, tmp_path: Path
) -> None:
    with pytest.raises(NotFoundError):
        hub.rest("GET", f"/repos/{ORG}/no-such-repository")
    with pytest.raises(NotFoundError):
        hub.rest("GET", f"/repos/{repository}/issues/999")
    token = side.token(permissions={"issues": "read"})
    reader = Wire(side.url, lambda _: token, utc_now, None, ANSWER_S, places=CallSlots(tmp_path / "calls"))
    with pytest.raises(PermissionMissingError, match=r"permissions of app\.yml"):
        reader.send(ApiCall("POST", f"/repos/{repository}/issues", CREATE, {"title": "no"}))


def test_cardinal_reads_each_persons_role(hub: Hub, repository: str) -> None:
    assert roles.role(hub, repository, ADMIN) == "admin"
    assert roles.role(hub, repository, WRITER) == "write"
    assert not roles.may_write(roles.role(hub, repository, STRANGER))
    assert roles.role(hub, repository, "nobody-at-all") == "none"


def test_the_rate_limit_stands_on_every_answer(hub: Hub, repository: str) -> None:
    hub.rest("GET", f"/repos/{repository}")
    before = hub.budget.read_usage()[0].windows["core"]
    hub.rest("GET", f"/repos/{repository}")
    after = hub.budget.read_usage()[0].windows["core"]
    assert after.limit >= 5000
    assert before.remaining - after.remaining == 1
