"""Cardinal started in a folder that somebody else prepared obeys nothing in it."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine

from bot.system.config import ConfigError, read
from bot.system.git_exclude import hide
from bot.web.app import make_app
from ledger.lifecycle.open import open_ledger

OWNED = "{{ 7 * 7 }} owned"


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, which has a page for every template that Cardinal or Flask may look for."""
    folder = tmp_path / "trap"
    for name in ("page.html", "run.html", "index.html"):
        for place in ("templates", "static", "instance", "."):
            (folder / place).mkdir(parents=True, exist_ok=True)
            (folder / place / name).write_text(OWNED)
    monkeypatch.chdir(folder)
    return folder


def test_pages_are_made_of_the_packages_templates_only(trap: Path, tmp_path: Path, engine: Engine) -> None:
    given = {"PUBLIC_URL": "http://127.0.0.1", "CLIENT_ID": "i", "CLIENT_SECRET": "s"}
    environ = {
        "CARDINAL_HOME": str(tmp_path / "home"),
        **{f"CARDINAL_{n}": text for n, text in given.items()},
    }
    app = make_app(read(environ, trap), engine, lambda: datetime.now(UTC))
    for path in ("/", "/artifacts/r1", "/page.html", "/static/page.html"):
        assert "owned" not in app.test_client().get(path).text
    assert "Sign in" in app.test_client().get("/").text


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701])
def test_a_home_that_came_with_the_folder_is_not_obeyed(trap: Path, mode: int) -> None:
    home = trap / ".cardinal"
    home.mkdir()
    (home / "env").write_text("CARDINAL_GITHUB_URL=http://evil.example\nCARDINAL_ALLOW_UNSANDBOXED=1\n")
    home.chmod(mode)
    with pytest.raises(ConfigError, match="not used") as caught:
        read({}, trap)
    assert f"chmod 700 {home}" in str(caught.value)
    home.chmod(0o700)  # its user looked through it
    assert read({}, trap).github_url == "http://evil.example"


def test_a_home_that_the_ledger_makes_is_obeyed_the_next_time(tmp_path: Path) -> None:
    open_ledger(read({}, tmp_path).database_url).dispose()
    assert read({}, tmp_path).home == tmp_path / ".cardinal"


def test_what_the_env_file_names_lies_beside_it(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", tmp_path / "folder"
    for place, key in ((home, "-----BEGIN ours"), (folder, "-----BEGIN theirs")):
        place.mkdir()
        (place / "app.pem").write_text(key)
    (home / "env").write_text("CARDINAL_PRIVATE_KEY=app.pem\nCARDINAL_SKILLS=skills\n")
    config = read({"CARDINAL_HOME": str(home)}, folder)
    assert (config.private_key.reveal(), config.skills) == ("-----BEGIN ours", home / "skills")
    named = read({"CARDINAL_HOME": str(home), "CARDINAL_SKILLS": "skills"}, folder)
    assert named.skills == folder / "skills"


def test_hiding_the_home_writes_into_no_other_file(trap: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "authorized_keys"
    elsewhere.write_text("")
    (trap / ".git" / "info").mkdir(parents=True)
    (trap / ".git" / "info" / "exclude").symlink_to(elsewhere)
    assert hide(trap / ".cardinal") is None
    assert elsewhere.read_text() == ""


def test_modules_beside_the_caller_are_not_imported(trap: Path) -> None:
    (trap / "sitecustomize.py").write_text("print('owned')")
    for name in ("bot", "flask", "sqlalchemy", "gunicorn", "uvicorn"):
        (trap / f"{name}.py").write_text("print('owned')")
    (trap / "gunicorn.conf.py").write_text("print('owned')")
    command = [str(Path(sys.executable).with_name("cardinal")), "doctor"]
    environ = {"PATH": os.environ["PATH"], "CARDINAL_HOME": str(trap / "none")}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120)
    assert "settings" in done.stdout
    assert "owned" not in done.stdout + done.stderr
