"""What looks like a secret stays out of the debug log and of every text that is redacted."""

import json
from pathlib import Path

import pytest

from runner.session.records import Transcript
from runner.text.plain import REDACTED, redact
from tests.secrets.planted import ALL, KEY_FILE, TRACES, found_in


def test_every_planted_secret_is_taken_out_and_the_words_around_it_stay() -> None:
    clean = redact(f"before {ALL} between {KEY_FILE} after")
    assert found_in([("text", clean.encode())], TRACES) == {}
    assert clean.startswith("before ")
    assert f"https://{REDACTED}@example.org/x" in clean
    assert clean.endswith(" after")


@pytest.mark.parametrize(
    "text", ["https://example.org:8080/a@b", "see http://127.0.0.1:4000/x and a@b.org", "a://b: c@d"]
)
def test_an_address_without_a_password_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


def test_a_private_key_line_by_line_stays_out_of_the_log_and_what_follows_is_kept(tmp_path: Path) -> None:
    log = Transcript(tmp_path, "r1")
    for line in ("so it is:", *KEY_FILE.splitlines(), '{"next": 1}'):
        log.write("!", line)
    log.write(">", KEY_FILE.replace("\n", "\\n"))
    log.write(">", "and on")
    log.close()
    text = (tmp_path / "r1.log").read_text()
    assert found_in([("log", text.encode())], TRACES) == {}
    assert '! {"next": 1}' in text
    assert "> and on" in text


def test_words_that_come_in_pieces_are_not_in_the_log(tmp_path: Path) -> None:
    log = Transcript(tmp_path, "r1")
    for piece in ("ghp", "_Ab1", 'x\\" y'):
        log.write(">", f'{{"method":"item/delta","params":{{"delta":"{piece}"}},"at":1}}')
    log.close()
    assert set((tmp_path / "r1.log").read_text().splitlines()) == {
        '> {"method":"item/delta","params":{"delta":"…"},"at":1}'
    }


def test_a_private_key_without_an_end_does_not_swallow_the_log(tmp_path: Path) -> None:
    log = Transcript(tmp_path, "r1")
    for line in (KEY_FILE.splitlines()[0], '{"next": 1}', "words"):
        log.write(">", line)
    log.close()
    assert (tmp_path / "r1.log").read_text().splitlines()[1:] == ['> {"next": 1}', "> words"]


@pytest.mark.parametrize(
    "update",
    [
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": 'MIIE "x" \\'}},
        {"content": {"text": "MIIE", "type": "text"}, "sessionUpdate": "agent_thought_chunk"},
    ],
)
def test_a_message_in_pieces_is_in_no_log_of_lines(tmp_path: Path, update: dict[str, object]) -> None:
    log = Transcript(tmp_path, "r1")
    log.write(">", json.dumps({"method": "session/update", "params": {"update": update}}))
    log.write(">", json.dumps({"text": "whole"}))
    log.close()
    said, whole = (tmp_path / "r1.log").read_text(encoding="utf-8").splitlines()
    assert "MIIE" not in said
    assert "_chunk" in said
    assert "whole" in whole
