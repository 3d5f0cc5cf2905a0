"""A log line is one line and holds no secret."""

import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from bot.system import logs
from bot.system.config import Config
from bot.system.current_work import working_on
from bot.system.logs import scrub
from bot.system.secret import Secret


def as_json(
    text: str, *values: object, secrets: tuple[str, ...] = (), exc_info: Any = None
) -> dict[str, Any]:
    record = logging.LogRecord("bot.web.webhook", logging.INFO, __file__, 1, text, values, exc_info)
    line = logs.JsonLines(secrets).format(record)
    assert line.isascii()
    assert line.isprintable()
    entry: dict[str, Any] = json.loads(line)
    return entry


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
    pem = f"-----BEGIN PRIVATE {'KEY'}-----\n{'MIIEvQ' * 9}\n{'x9Kd+/' * 9}\n-----END PRIVATE {'KEY'}-----\n"
    account = json.dumps({"type": "service_account", "private_key": pem, "private_key_id": "0a1b2c3d4e5f"})
    names = ("openai_key", "compatible_key", "bedrock_secret_key", "subscription_token", "store_secret_key")
    given: dict[str, Any] = {name: Secret(f"sesame of {name}") for name in names}
    logs.set_up_logs(replace(config, vertex_credentials=Secret(account), **given))
    said = " ".join((*(secret.reveal() for secret in given.values()), *pem.splitlines(), "0a1b2c3d4e5f"))
    record = logging.LogRecord("bot", logging.ERROR, __file__, 1, said, None, None)
    line = logging.getLogger().handlers[0].format(record)
    assert not {part for part in ("sesame", "MIIEvQ", "x9Kd", "0a1b2c") if part in line}


def test_setting_up_keeps_the_level_and_quiets_libraries(config: Config) -> None:
    logs.set_up_logs(replace(config, log_level="debug", log_format="json", webhook_secret=Secret("s" * 20)))
    assert isinstance(logging.getLogger().handlers[0].formatter, logs.JsonLines)
    assert logging.getLogger("bot.x").isEnabledFor(logging.DEBUG)
    assert not logging.getLogger("urllib3.connectionpool").isEnabledFor(logging.INFO)


def test_a_line_of_json_has_the_values_of_the_fixed_wording_by_name_and_no_others() -> None:
    entry = as_json(
        "100%% failed %s run=%s for_s=%.1f reason=%s", "now", "r4", 2.0, "x card=c9 level=z\nlevel=y"
    )
    del entry["time"], entry["process"]
    assert entry == {
        "level": "info",
        "logger": "bot.web.webhook",
        "message": "100% failed now run=r4 for_s=2.0 reason=x card=c9 level=z\\nlevel=y",
        "run": "r4",
        "for_s": "2.0",
        "reason": "x card=c9 level=z\\nlevel=y",
    }
    assert as_json("gone level=%s", "fine")["level"] == "info"  # no value takes the place of the line's own


def test_a_line_of_json_says_what_the_process_works_on() -> None:
    with working_on("delivery:d1", "delivery:d2", "entry:note:r1"):
        entry = as_json("tick failed")
    assert (entry["delivery"], "entry" in entry) == ("d1 d2", False)
    with working_on("run:r4"):
        assert as_json("pushed run=%s", "r4")["run"] == "r4"
    assert "run" not in as_json("tick failed")


def test_a_line_of_json_holds_no_secret_in_any_part() -> None:
    try:
        raise ValueError("hunter22 at redis://me:hunter3@host\nnext")
    except ValueError as error:
        exc_info = (type(error), error, error.__traceback__)
    with working_on("card:hunter22"):
        entry = as_json(
            "token=%s url=%s", "hunter4", "https://a/?code=hunter5", secrets=("hunter22",), exc_info=exc_info
        )
    assert "hunter" not in json.dumps(entry)
    assert "ValueError" in entry["traceback"]
    assert len(json.dumps(as_json("text=%s", "x" * 100_000))) < 10_000


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
