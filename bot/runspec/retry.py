"""Retries of a claimed run's specification: waits with the claim in hand while GitHub is away."""

import logging
import time

from bot.bootstrap import Services
from bot.github.errors import RateLimitedError, UnavailableError
from bot.runspec import builder
from ledger.ids import RunId
from ledger.queue.leases import Lease
from runner.run.log import RunLog
from runner.run.run_spec import RunSpec

log = logging.getLogger(__name__)

FIRST_WAIT_S, MAX_WAIT_S = 1.0, 60.0
NAP_S = 5.0
CLAIM_S = 90.0  # a worker that dies meanwhile is noticed all the same; its log takes the time back
SILENT_S = 300.0  # for all of GitHub's answers that one specification needs
MAX_DOUBLINGS = 2  # of a lease: another host waits no longer than that for a dead one
MAX_S = 900.0  # in all; after it the run fails with GitHub's reason, and a person retries


def claim_s(services: Services) -> float:
    """Return the seconds of a claim while its specification is made."""
    return max(CLAIM_S, services.config.lease_s)


def lease_s(services: Services, reclaims: int) -> float:
    """Return the length of the lease of a claim at work: twice as long after each claim that ran out.

    On a machine where a claim was lost for time, the next one would be lost for the same.
    """
    return services.config.lease_s * float(2 ** min(reclaims, MAX_DOUBLINGS))


def make_spec(
    services: Services, run_id: RunId, lease: Lease, run_log: RunLog
) -> tuple[RunSpec, builder.HubRemote]:
    """Return the result of `builder.build_spec`; retry while GitHub is away or wants fewer calls.

    Raises the GithubError that waiting does not help, or that lasted; a RulesError; StaleClaimError.
    """
    waited_s, pause_s = 0.0, FIRST_WAIT_S
    while True:
        try:
            with run_log.holding(SILENT_S):
                return builder.build_spec(services, run_id, lease)
        except (UnavailableError, RateLimitedError) as error:
            wait_s = error.retry_after_s if isinstance(error, RateLimitedError) else pause_s
            if waited_s + wait_s > MAX_S:
                raise
            log.warning("run waits for GitHub run=%s for_s=%.0f reason=%s", run_id, wait_s, error)
        _wait(run_log, wait_s)
        waited_s, pause_s = waited_s + wait_s, min(pause_s * 2, MAX_WAIT_S)


def _wait(run_log: RunLog, wait_s: float) -> None:
    """Let the time go by without losing the claim; raises StaleClaimError when it was lost."""
    left_s = wait_s
    while left_s > 0:
        nap_s = min(left_s, NAP_S)
        time.sleep(nap_s)
        left_s -= nap_s
        run_log.beat()
