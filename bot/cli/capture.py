"""`cardinal capture`: keep real deliveries for a while, without personal data."""

from datetime import timedelta

import click

from bot.cli import _home
from bot.cli._show import ago, answer_rows, json_option, show
from bot.system.clock import utc_now
from bot.web import capture


@click.command("capture")
@click.option("--for", "minutes", type=click.IntRange(1, 1440), help="Keep the deliveries of these minutes.")
@click.option(
    "--most",
    type=click.IntRange(1, capture.MAX),
    default=capture.DEFAULT_MOST,
    show_default=True,
    help="Stop after this many deliveries.",
)
@click.option("--off", is_flag=True, help="Stop keeping deliveries. Those already kept stay.")
@json_option
def command(minutes: int | None, most: int, off: bool, as_json: bool) -> None:
    """Keep deliveries, or list those that are kept.

    They are kept in the home's folder `captured`.

    \b
    Examples:
      cardinal capture --for 30
      cardinal capture
    """
    config, now = _home.settings(), utc_now()
    if off:
        capture.end_capture(config.home)
    elif minutes is not None:
        capture.begin_capture(config.home, now, lasting=timedelta(minutes=minutes), most=most)
    request = capture.current_capture(config.home, now)
    files = capture.list_deliveries(config.home)
    state = (
        "off"
        if request is None
        else f"on, ends {ago(request.until, utc_now())}, at most {request.most} deliveries"
    )
    kept = [{"file": file.name, "size_bytes": file.stat().st_size} for file in files]
    show(
        {"capture": state, "folder": config.home / capture.FOLDER, "kept": [it["file"] for it in kept]},
        as_json=as_json,
        text=lambda: (f"capture is {state}", *answer_rows(kept, empty="nothing kept yet")),
    )
