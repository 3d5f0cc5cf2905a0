"""`cardinal tokens` lists what lives, and revokes one of them."""

import json
import subprocess
import sys
from datetime import timedelta

from bot.system.clock import utc_now
from bot.system.config import Config
from ledger.log import event_store
from ledger.queue import api_tokens
from tests.bot.cli.conftest import Cardinal
from tests.house.source import ROOT
from tests.ledgers import new_ledger


def test_a_token_is_listed_without_its_text_until_it_is_revoked(cardinal: Cardinal, config: Config) -> None:
    engine = new_ledger(config.database_url)
    with event_store.writing(engine) as db:
        text, row = api_tokens.make(
            db, "ci", login="bob", user_id=7, scopes=("read",), now=utc_now(), lives=timedelta(days=1)
        )
    engine.dispose()
    shown = cardinal("tokens", "list").output
    assert "bob" in shown
    assert text not in shown
    (listed,) = json.loads(cardinal("tokens", "list", "--json").stdout)["tokens"]
    assert (listed["token_id"], listed["name"]) == (row.token_id, "ci")
    assert cardinal("tokens", "revoke", row.token_id).exit_code == 0
    assert cardinal("tokens", "list").output == "no valid tokens\n"
    refused = cardinal("tokens", "revoke", row.token_id)
    assert (refused.exit_code, "cardinal tokens list" in refused.output) == (2, True)


def test_the_help_of_the_apis_commands_does_not_load_the_api() -> None:
    show = "import sys, bot.cli.job, bot.cli.mcp, bot.cli.tokens; print(*sys.modules)"
    done = subprocess.run(
        (sys.executable, "-c", show), cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    loaded = {it for it in done.stdout.split() if it.startswith("bot.web.api")}
    assert loaded <= {"bot.web.api", "bot.web.api.sending"}  # that sends, and knows no operation
