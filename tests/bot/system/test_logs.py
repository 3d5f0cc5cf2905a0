"""A log line is one line and holds no secret."""

import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from bot.system import logs
from bot.system.config import Config
from bot.system.logs import scrub
from bot.system.secret import Secret


def formatted(text: str, *secrets: str) -> str:
    record = logging.LogRecord("bot.web.webhook", logging.INFO, __file__, 1, text, None, None)
    return logs.Lines(secrets).format(record)


def test_known_secrets_and_what_looks_like_one_are_taken_out() -> None:
    token = "ghs_" + "a" * 20 + "." + "B-_9" * 10
    line = formatted(
        f"token={token} secret=it is signed with this url=redis://me:hunter2@host/0", "it is signed with this"
    )
    assert not {part for part in ("ghs_a", "B-_9", "signed", "hunter2") if part in line}
    assert "redis://" in line
    assert "@host/0" in line


def test_a_record_is_one_line_even_with_a_traceback() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        record = logging.LogRecord(
            "bot", logging.ERROR, __file__, 1, "failed text=%s", ("a\nb\rc",), (type(error), error, None)
        )
    line = logs.Lines(()).format(record)
    assert "\n" not in line
    assert "a\\nb\\rc" in line
    assert "two" in line


def test_a_long_record_is_cut_and_says_so() -> None:
    line = formatted("x" * 1_000_000)
    assert len(line) < 5000
    assert "cut=" in line


def test_no_secret_of_the_settings_is_in_a_line_nor_a_line_of_a_key(config: Config) -> None:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    pem = f"-----BEGIN PRIVATE {'KEY'}-----\n{'MIIEvQ' * 9}\n{'x9Kd+/' * 9}\n-----END PRIVATE {'KEY'}-----\n"
    account = json.dumps({"type": "service_account", "private_key": pem, "private_key_id": "0a1b2c3d4e5f"})
    names = ("openai_key", "compatible_key", "bedrock_secret_key", "subscription_token", "store_secret_key")
    given: dict[str, Any] = {name: Secret(f"sesame of {name}") for name in names}
    try:
        logs.set_up_logs(replace(config, vertex_credentials=Secret(account), **given))
        said = " ".join((*(secret.reveal() for secret in given.values()), *pem.splitlines(), "0a1b2c3d4e5f"))
        record = logging.LogRecord("bot", logging.ERROR, __file__, 1, said, None, None)
        line = root.handlers[0].format(record)
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
    assert not {part for part in ("sesame", "MIIEvQ", "x9Kd", "0a1b2c") if part in line}


def test_setting_up_keeps_the_level_and_quiets_libraries(config: Config) -> None:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        logs.set_up_logs(replace(config, log_level="debug", webhook_secret=Secret("s" * 20)))
        assert logging.getLogger("bot.x").isEnabledFor(logging.DEBUG)
        assert not logging.getLogger("urllib3.connectionpool").isEnabledFor(logging.INFO)
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def test_nothing_in_a_record_moves_a_terminal() -> None:
    line = formatted("title=\x1b[2J\x9b31m\x07\u202etxt\u2028end tab=\t.")
    assert "\\x1b[2J\\x9b31m\\x07\\x202etxt\\x2028end tab=\t." in line


@pytest.mark.parametrize(
    "text",
    [
        "GET https://a.b/c?token={} failed",
        "GET /sign-in/back?code={}&state=x",
        "https://a.b/c?page=2&access_token={}#top",
        "https://a.b/c#id_token={}",
        "redis://:{}@redis:6379/0",
        "https://{}@a.b/c",
        "postgresql://me:{}@db/x?sslpassword={}",
        "Authorization: Basic {}",
        "{{'authorization': 'Bearer {}'}}",
        '{{"X-Api-Key": "{}"}}',
        "Cookie: cardinal={}; other=1",
        "X-Hub-Signature-256: {}",
        "client_secret={} is wrong",
        '{{"password": "{}"}}',
        "OPENAI_API_KEY={}",
        "GET https://a.b/c?token=x,{}&y=1",
        "https://bob:pa@{}@a.b/c",
        '{{"token": "x y,{}"}}',
        "{{'password': b'{}'}}",
        "passphrase: {}",
        'Authorization: Digest username="bob", response="{}"',
        "SIGNING_KEY={}",
    ],
)
def test_what_stands_where_secrets_stand_is_taken_out(text: str) -> None:
    assert "hush4711" not in scrub(text.replace("{}", "hush4711"), ())


def test_a_secret_of_digits_is_one_and_a_number_of_tokens_is_none() -> None:
    assert scrub("password=4711471147 input_tokens=120") == "password=[redacted] input_tokens=120"


def test_where_an_address_leads_and_plain_values_stay() -> None:
    text = "GET https://a.b/c/d?page=[redacted] status=404 tokens=120 run=r12 delivery=72d3162e-cc78"
    assert scrub(text, ()) == text
