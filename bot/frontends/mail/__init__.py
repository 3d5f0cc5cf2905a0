"""Mail: notices through the operator's server, and replies that answer and give commands.

Its address is mail:alice@example.com. Each reply goes to an address with a token, made for that person.
"""

from bot.frontends.mail.reading import MAX_BYTES, read
from bot.frontends.mail.sending import examine, knows_repeats, send_notice
from bot.frontends.mail.tokens import SCHEME

SCHEMES = (SCHEME,)
__all__ = ["MAX_BYTES", "SCHEMES", "examine", "knows_repeats", "read", "send_notice"]
