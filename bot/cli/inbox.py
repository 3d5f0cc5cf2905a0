"""`cardinal inbox`: the cards on their way, in lanes."""

from collections.abc import Iterable

import click

from bot.cli import _home
from bot.cli._show import answer_rows, filter_options, json_option, show
from bot.web.api.operations import list_inbox
from rules.text import count

READS = True


@click.command("inbox")
@filter_options
@click.option(
    "--mine", "login", metavar="LOGIN", default="", help="Show this person's cards first in each lane."
)
@click.option("--all", "everything", is_flag=True, help="Also list cards that are not waiting for anyone.")
@json_option
def command(login: str, *, everything: bool, as_json: bool, **given: str | None) -> None:
    """Print the cards that need a person, in the page's lanes.

    These are *Needs input*, *Failed*, *To review* and *Ready to merge*; with --all also
    *Working*, *Queued* and *Blocked*.

    \b
    Examples:
      cardinal inbox
      cardinal inbox --mine alice --all
      cardinal inbox --repository acme/shop
    """
    wanted = {**given, "mine": login, "every": everything, "limit": list_inbox.MAX_LISTED}
    answer = _home.run_operation(list_inbox, wanted)
    empty = "nothing is waiting for anyone"
    if answer["others"]:
        left_out = count(answer["others"], "card")
        empty = f"not waiting for anyone: {left_out}; `cardinal inbox --all` lists them"

    def text() -> Iterable[str]:
        yield from answer_rows(answer["jobs"], list_inbox.COLUMNS, empty=empty)
        if more := answer["total"] - len(answer["jobs"]):
            yield f"{count(more, 'more card')}: use a filter, such as --repository"

    show(answer, as_json=as_json, text=text)
