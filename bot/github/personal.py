"""GitHub as a person, by a token of theirs: for commands that they start on their own machine."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from bot.github.client import READ_S, Hub
from bot.github.errors import RateLimitedError
from bot.github.transport import Answer, ApiCall, CallSlots, Wire
from bot.system.clock import Clock
from bot.system.config import Config
from bot.system.secret import Secret

MAX_WAIT_S = 900.0


class PersonalHub(Hub):
    """GitHub with a person's rights. A call that a limit holds back is sent again when that allows it."""

    def __init__(self, config: Config, token: Secret, clock: Clock, say: Callable[[str], None]) -> None:
        super().__init__(config, clock, owner="person")
        self._token, self._say = token, say
        slots = CallSlots(config.home / "run" / "calls")
        url = config.github_url
        self._installed = Wire(url, lambda _: token.reveal(), clock, self.budget, READ_S, places=slots)

    def _send(self, call: ApiCall) -> Answer:
        until = time.monotonic() + MAX_WAIT_S
        while True:
            try:
                return self._installed.send(replace(call, reach=None))
            except RateLimitedError as error:
                if time.monotonic() + error.retry_after_s > until:
                    raise
                self._say(f"GitHub wants fewer calls: it goes on in {error.retry_after_s:.0f} s")
                time.sleep(error.retry_after_s)

    def git_environment(
        self,
        repository: str,
        *,
        workflows: bool = False,  # noqa: ARG002 -- a person's token has the rights that it has
        writes: bool = True,  # noqa: ARG002
    ) -> Mapping[str, str]:
        """Return the variables that let git read and push as the person; no command line shows the token."""
        return self.credentials(repository, self._token.reveal())
