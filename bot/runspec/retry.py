"""Retries of a claimed run's specification: waits with the claim in hand while GitHub is away."""

import logging
import time

from bot.bootstrap import Services
from bot.github.errors import RateLimitedError, UnavailableError
from bot.runspec import builder
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queue import leases
from ledger.queue.leases import Lease
from runner.run.run_spec import RunSpec

log = logging.getLogger(__name__)

FIRST_WAIT_S, MAX_WAIT_S = 1.0, 60.0
# Nothing renews the claim during a call of GitHub. A worker that dies meanwhile is noticed all the same; the
# log of the run takes the time back to that of the configuration.
CLAIM_S = 90.0
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


def make_spec(services: Services, run_id: RunId, lease: Lease) -> tuple[RunSpec, builder.HubRemote]:
    """Return the result of `builder.build_spec`; retry while GitHub is away or wants fewer calls.

    Raises the GithubError that waiting does not help, or that lasted; a RulesError; StaleClaimError.
    """
    waited_s, pause_s = 0.0, FIRST_WAIT_S
    while True:
        try:
            return builder.build_spec(services, run_id, lease)
        except (UnavailableError, RateLimitedError) as error:
            wait_s = error.retry_after_s if isinstance(error, RateLimitedError) else pause_s
            if waited_s + wait_s > MAX_S:
                raise
            log.warning("run waits for GitHub run=%s for_s=%.0f reason=%s", run_id, wait_s, error)
        _wait(services, lease, wait_s)
        waited_s, pause_s = waited_s + wait_s, min(pause_s * 2, MAX_WAIT_S)


def _wait(services: Services, lease: Lease, wait_s: float) -> None:
    """Let the time go by without losing the claim; raises StaleClaimError when it was lost."""
    left_s = wait_s
    while left_s > 0:
        nap_s = min(left_s, claim_s(services) / 3)
        time.sleep(nap_s)
        left_s -= nap_s
        with event_store.writing(services.engine) as db:
            leases.renew(db, lease, ttl_s=claim_s(services))
