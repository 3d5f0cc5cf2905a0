"""The demo's story in a browser: the documentation's pictures are taken, and their pages are not broken."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from docs._make import pictures
from tests.browser.conftest import looking
from tests.browser.test_accessible import BY_COLOUR, LOOKS, PHONE, broken
from tests.browser.test_accessible import axe as axe  # a fixture


@pytest.mark.timeout(600)
@pytest.mark.soak(instead="tests/browser/test_accessible.py::test_no_page_breaks_a_rule")
def test_the_pictures_are_taken_on_the_way_and_no_page_breaks_a_rule(
    browser: Browser, axe: bytes, tmp_path: Path
) -> None:
    checked: list[str] = []

    def check(page: Page) -> None:
        before = page.viewport_size
        assert broken(page) == [], page.url
        for scheme, size in LOOKS:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size(size)
            assert broken(page, BY_COLOUR) == [], (page.url, scheme, size)
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(before or PHONE)
        checked.append(page.url)

    with looking(browser) as page:
        page.add_init_script(axe.decode())
        taken = pictures.take(page, tmp_path, check)
    assert {file.name for file in taken} == {file.name for file in pictures.FOLDER.iterdir()}
    assert all(file.stat().st_size for file in taken)
    assert len({url.partition("?")[0] for url in checked}) >= 7
