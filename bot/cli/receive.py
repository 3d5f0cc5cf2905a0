"""`cardinal receive`: a message that came through a front-end outside GitHub."""

import os
import sys
from pathlib import Path

import click
from sqlalchemy.exc import DBAPIError

from bot.bootstrap import open_services
from bot.cli import _home
from bot.cli._show import clean
from bot.frontends import FRONT_ENDS, UnreadMessageError
from bot.outbox import subscribers
from bot.web.acting.reply import take_reply
from ledger.errors import CardinalError

TRY_AGAIN = 75  # EX_TEMPFAIL of sysexits.h, as mail servers read it
CHUNK = 64 * 1024


@click.command("receive")
@click.argument("front_end", type=click.Choice([name for name, part in FRONT_ENDS.all() if part.read]))
def command(front_end: str) -> None:
    """Take one message from standard input, as a reply to a notice.

    A mail server calls it for each mail to the address of CARDINAL_MAIL_REPLIES. A message that no person
    wrote, or that is no reply to a notice, is ignored.

    Exit codes: 0 taken or ignored; 75 try again later.

    \b
    Example:
      cardinal receive mail < message.eml
    """
    part = FRONT_ENDS.load(front_end)
    raw = sys.stdin.buffer.read(part.MAX_BYTES + 1)
    while sys.stdin.buffer.read(CHUNK):  # whoever writes waits for that
        pass
    assert part.read is not None  # as each choice has one
    try:
        with _home.ledger_opened(), open_services(os.environ, Path.cwd()) as services:
            people = subscribers.read_admitted(services.config)
            reply = part.read(services.config, people, raw, services.now())
            said = take_reply(services, reply, front_end)
    except UnreadMessageError as error:
        click.echo(str(error), err=True)
    except (CardinalError, DBAPIError, OSError) as error:
        because = error.orig if isinstance(error, DBAPIError) else error
        click.echo(f"try again later: {clean(str(because))}", err=True)
        raise click.exceptions.Exit(TRY_AGAIN) from error
    else:
        click.echo(clean(f"{reply.login}: {said or 'done'}"))
