"""What people do on GitHub from a card's page: as themselves, once, and not over what others wrote."""

import re

import pytest

from bot.reactor import reactor
from bot.web.acting.on_github import LEAVE_S
from bot.web.authorization import KEPT_S
from forge.store.board import Item
from forge.store.models import Role
from ledger.events.conversation import AssistantReplied
from ledger.events.run import PlanRedirected
from ledger.ids import RunId
from ledger.log import event_store
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.web.pages.forms import forms, page_of, send
from tests.bot.web.pages.test_runs import happens
from tests.bot.web.pages.world import Browser, Pages

AGREED = {"agreed": "yes"}


def in_review(cardinal: Cardinal) -> Item:
    """Return a card in review with a pull request."""
    item = cardinal.new("Free shipping", "In Progress", "Over **50**.")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    cardinal.finish(run_id, files={"prices.py": b"1\n"})
    cardinal.catch_up()
    cardinal.drag(item, "Review")
    cardinal.catch_up()
    return item


def act_form(browser: Browser, path: str, act: str) -> dict[str, str]:
    """Return the one form for that act on GitHub."""
    (form,) = (form for name, form in forms(browser, path).items() if name.startswith(f"github:{act}:"))
    return form


def verdicts(pages: Pages, item: Item) -> list[tuple[str, str, str]]:
    reviews = pages.cardinal.pull_of(item).reviews
    return [(it.author.login, str(it.state).lower(), it.body) for it in reviews]


@pytest.mark.after(scene=in_review)
def test_a_review_is_the_persons_own_on_the_commit_they_saw_once_they_let_cardinal_do_it(
    pages: Pages,
) -> None:
    item = pages.cardinal.newest
    bob, path = pages.browser("bob"), page_of(pages, item)
    form = act_form(bob, path, "approve")
    assert "Let Cardinal do this on GitHub as bob" in bob.get(path).text
    refused = send(bob, form)
    assert (refused.status_code, verdicts(pages, item)) == (400, [])
    assert "Tick the box" in refused.text
    answer = send(bob, form | AGREED)
    where = f"{path}?acted=github:{pages.cardinal.card(item).card_id}"
    assert (answer.status_code, answer.headers["Location"]) == (303, where)
    assert "acted=before" in send(bob, form).headers["Location"]
    assert verdicts(pages, item) == [("bob", "approved", "")]
    pages.cardinal.catch_up()
    shown = bob.get(where).text
    assert "Done on GitHub." in shown
    assert "Let Cardinal do this" not in shown
    assert 'aria-label="met">✓</span><bdi>Approved on ' in shown
    assert "Move to Done" in shown
    pages.cardinal.clock.forward(LEAVE_S + 1)
    again = pages.browser("bob")
    assert "Let Cardinal do this on GitHub as bob" in again.get(path).text


@pytest.mark.after(scene=in_review)
def test_a_request_for_changes_needs_words_and_no_review_is_of_another_commit_than_was_shown(
    pages: Pages,
) -> None:
    item = pages.cardinal.newest
    bob, path = pages.browser("bob"), page_of(pages, item)
    form = act_form(bob, path, "request-changes") | AGREED
    assert send(bob, form | {"text": "  "}).status_code == 400
    late = act_form(bob, path, "approve") | AGREED
    assert send(bob, form | {"text": "Round **half up**."}).status_code == 303
    assert verdicts(pages, item) == [("bob", "changes_requested", "Round **half up**.")]
    pages.cardinal.push(pages.cardinal.run_of(item).run_id, {"prices.py": b"2\n"})
    assert (send(bob, late).status_code, len(verdicts(pages, item))) == (409, 1)  # the delivery is late
    pages.cardinal.catch_up()
    assert pages.cardinal.card(item).pull_head != late["name"].rpartition(":")[2]
    refused = send(bob, late)
    assert (refused.status_code, len(verdicts(pages, item))) == (409, 1)
    assert "The pull request changed" in refused.text
    assert "<strong>half up</strong>" in bob.get(path).text


@pytest.mark.after(scene=in_review)
def test_who_has_no_say_has_no_form_and_githubs_refusal_is_told(pages: Pages) -> None:
    item = pages.cardinal.newest
    path = page_of(pages, item)
    mallory, bob = pages.browser("mallory"), pages.browser("bob")
    assert not [name for name in forms(mallory, path) if name.startswith("github:")]
    assert re.search(r'href="[^"]+/pull/\d+/files">[^<]*(<[^>]+>)*Review on GitHub', mallory.get(path).text)
    form = act_form(bob, path, "title") | AGREED
    store = pages.cardinal.forge.store
    store.repos.set_role(store.repos.get("acme", "shop"), pages.cardinal.person("bob"), Role.READ)
    refused = send(bob, form | {"text": "Another"})
    assert (refused.status_code, issue_of(item).title) == (502, "Free shipping")
    assert "GitHub refused" in refused.text
    pages.cardinal.clock.forward(KEPT_S + 1)
    assert not [name for name in forms(bob, path) if name.startswith("github:")]
    gone = pages.browser("alice")
    gone.here.delete_cookie("__Host-cardinal-github", domain="cardinal.example.com")
    assert not [name for name in forms(gone, path) if name.startswith("github:")]


EDITS = [
    ("title", " Free   shipping over 50 ", "Free shipping over 50"),
    ("description", "Over **60**.\r\nNot below.", "Over **60**.\nNot below."),
    ("labels", "bug\n\nbug\n shop ", ["bug", "shop"]),
    ("assignees", "@bob\nalice", ["alice", "bob"]),
]


@pytest.mark.parametrize(("act", "text", "wanted"), EDITS, ids=[act for act, *_ in EDITS])
@pytest.mark.after(scene=in_review)
def test_an_edit_is_made_on_github_by_the_person_and_not_over_what_somebody_else_wrote(
    pages: Pages, act: str, text: str, wanted: object
) -> None:
    item = pages.cardinal.newest
    issue, store = issue_of(item), pages.cardinal.forge.store
    repo = store.repos.get("acme", "shop")
    for name in ("bug", "shop", "other"):
        if name not in repo.labels:
            store.repos.label(repo, name)

    def now() -> object:
        fields = {
            "title": issue.title,
            "description": issue.body,
            "labels": sorted(label.name for label in issue.labels),
            "assignees": sorted(user.login for user in issue.assignees),
        }
        return fields[act]

    bob, path = pages.browser("bob"), page_of(pages, item)
    late = act_form(bob, path, act) | AGREED
    assert send(bob, act_form(bob, path, act) | AGREED | {"text": text}).status_code == 303
    assert now() == wanted
    pages.cardinal.catch_up()
    refused = send(bob, late | {"text": "alice"})
    assert (refused.status_code, now()) == (409, wanted)
    assert f"Someone changed the {act} while you wrote" in refused.text
    assert send(bob, act_form(bob, path, act) | {"text": "x" * 300}).status_code == (
        303 if act == "description" else 400
    )


def test_a_question_of_the_assistant_is_answered_by_a_comment_of_the_person(pages: Pages) -> None:
    item = pages.cardinal.new("Search", "Planning", "Find plurals.")
    pages.cardinal.catch_up()
    bob, path = pages.browser("bob"), page_of(pages, item)
    assert act_form(bob, path, "comment")  # the assistant could not answer
    asked = AssistantReplied(pages.cardinal.card(item).card_id, "How **many**?", "", 0)
    happens(pages, asked)
    with event_store.writing(pages.cardinal.services.engine) as db:
        reactor.advance(db, now=pages.cardinal.clock())
    shown = bob.get(path).text
    panel = shown.partition('id="panel">')[2].partition("</section>")[0]
    assert "The assistant asks" in panel
    assert "answer it on the issue" not in panel  # bob can here
    assert shown.count("<p>How <strong>many</strong>?</p>") == 2  # on top, and in the conversation
    form = act_form(bob, path, "comment") | AGREED | {"text": "From 50 on."}
    assert send(bob, form).status_code == 303
    comment = issue_of(item).comments[-1]
    assert (comment.author.login, comment.body) == ("bob", "From 50 on.")


@pytest.mark.after(scene=Cardinal.at_work)
def test_words_of_people_are_rendered_and_a_runs_own_lines_are_its_chapter(pages: Pages) -> None:
    item = pages.cardinal.newest
    run_id: RunId = pages.cardinal.run_of(item).run_id
    happens(pages, PlanRedirected(run_id, 1, "bob", "Use **less**.\n\n<img src=x>[here](/act)"))
    shown = pages.browser("alice").get(page_of(pages, item)).text
    (chapter,) = re.findall(rf"<summary>Run {run_id} .*?</details>", shown, re.DOTALL)
    assert "queued in In Progress" in chapter
    assert "<strong>less</strong>" not in chapter
    assert "<bdi>bob</bdi>" in shown
    assert "<strong>less</strong>" in shown
    assert not [word for word in ("<img", 'href="/act"') if word in shown]
