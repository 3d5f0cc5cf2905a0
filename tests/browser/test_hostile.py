"""Text by strangers, requests by other sites, small screens."""

import http.client
from urllib.parse import urlsplit

import pytest
import requests
from playwright.sync_api import Page, expect

from forge.pages.looks import address
from tests.browser.world import Town

TITLE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script> \u202eesrever"
BODY = """<script>document.title = 'owned'</script><img src=x onerror="document.title='owned'">
<a href="javascript:document.title='owned'">click</a> [me](javascript:document.title='owned')
<form action="/-/settings"><input name="drag_shape"></form><style>body { display: none }</style>
<svg onload="document.title='owned'"></svg><iframe src="/"></iframe><input type="checkbox" class="task">

<div title="

- [ ] real `"><img src=x onerror=document.title='owned'>`
"""
PHONE = {"width": 390, "height": 844}


def test_a_hostile_title_and_text_are_shown_and_run_nothing(page: Page, town: Town) -> None:
    item = town.new_card(TITLE, "Tasks", BODY)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    town.open(page, "/orgs/acme/projects/1")
    expect(page.locator(".card h3").filter(has_text="<script>")).to_have_text(TITLE)
    town.open(page, address(item))
    expect(page.locator(".title bdi")).to_have_text(TITLE)
    text = page.locator(".markdown").first
    expect(text.locator("script, form, iframe, style, svg, input:not(.task)")).to_have_count(0)
    expect(text.get_by_text("click")).not_to_have_attribute("href", "javascript:document.title='owned'")
    assert page.evaluate(
        "[...document.querySelectorAll('main *')].every(e => !e.getAttributeNames()"
        ".some(name => name.startsWith('on')))"
    )
    assert page.title().startswith("<img src=x")
    assert all(urlsplit(url).netloc == urlsplit(town.forge.url).netloc for url in asked)


def test_a_page_forbids_scripts_that_are_not_its_own(town: Town) -> None:
    answer = requests.get(f"{town.forge.url}/orgs/acme/projects/1", timeout=60)
    policy = answer.headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "<script>" not in answer.text
    assert "style=" not in answer.text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example"])
def test_a_page_answers_on_loopback_names_only(town: Town, host: str) -> None:
    for path in ("/", "/orgs/acme/projects/1", "/-/assets/live.js"):
        answer = requests.get(town.forge.url + path, headers={"Host": host}, timeout=60)
        assert answer.status_code == 403
        assert "Shop board" not in answer.text


@pytest.mark.parametrize(
    ("token", "origin"), [("", None), ("wrong", None), ("right", "http://evil.example"), ("right", "null")]
)
def test_a_change_needs_the_pages_own_word_and_origin(town: Town, token: str, origin: str | None) -> None:
    visit = requests.Session()
    page = visit.get(town.forge.url, timeout=60).text
    right = page.split('name="forge-token" content="', 1)[1].split('"', 1)[0]
    fields = {"token": right if token == "right" else token, "drag_shape": "both"}
    headers = {"Origin": origin} if origin else {}
    path = f"{town.forge.url}/-/settings"
    answer = visit.post(path, fields, headers=headers, timeout=60, allow_redirects=False)
    assert answer.status_code == 403
    assert town.forge.store.settings.drag_shape == "edited"
    fields["token"] = right
    assert visit.post(path, fields, timeout=60, allow_redirects=False).status_code == 303


def test_a_change_never_leads_away_from_the_forge(town: Town) -> None:
    visit = requests.Session()
    page = visit.get(town.forge.url, timeout=60).text
    right = page.split('name="forge-token" content="', 1)[1].split('"', 1)[0]
    for wanted in ("//evil.example", "/\\evil.example", "http://evil.example", "/a\r\nX: y"):
        fields = {"token": right, "login": "bob", "next": wanted}
        answer = visit.post(f"{town.forge.url}/-/person", fields, timeout=60, allow_redirects=False)
        assert answer.headers["Location"] == "/"


def test_a_page_that_did_not_change_is_not_sent_again(town: Town) -> None:
    visit = requests.Session()
    visit.get(town.forge.url, timeout=60)
    first = visit.get(f"{town.forge.url}/orgs/acme/projects/1", timeout=60)
    headers = {"If-None-Match": first.headers["ETag"]}
    again = visit.get(f"{town.forge.url}/orgs/acme/projects/1", headers=headers, timeout=60)
    assert (again.status_code, again.content) == (304, b"")


def test_a_program_that_asks_for_what_is_not_there_gets_json(town: Town) -> None:
    answer = requests.get(f"{town.forge.url}/nobody/nothing", timeout=60)
    assert (answer.status_code, answer.json()["message"]) == (404, "Not Found")
    connection = http.client.HTTPConnection(urlsplit(town.forge.url).netloc, timeout=60)
    connection.request("GET", "/nobody/nothing", headers={"Accept": "text/html"})
    assert b"There is nothing here" in connection.getresponse().read()
    connection.close()


@pytest.mark.parametrize("width", [390, 1400])
def test_no_page_scrolls_sideways(page: Page, town: Town, width: int) -> None:
    wide = "x" * 240
    item = town.new_card(
        f"A title with {wide}", "In Progress", f"`{wide}`\n\n```\n{wide}\n```\n\n|{wide}|b|\n|-|-|\n|1|2|"
    )
    pull = town.pull()
    paths = ["/", "/orgs/acme/projects/1", address(item), address(pull), f"{address(pull)}/files"]
    paths += [
        f"{address(pull)}/commits",
        "/acme/shop",
        "/acme/shop/issues",
        "/acme/shop/pulls",
        "/-/deliveries",
    ]
    paths += [f"/acme/shop/commit/{pull.head_sha}", "/acme/shop/blob/refunds/shop/refunds.py"]
    page.set_viewport_size({"width": width, "height": PHONE["height"]})
    for path in paths:
        town.open(page, path)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
