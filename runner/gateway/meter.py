"""One call's dollars, while its answer comes and when it ended."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

from runner.gateway.budget import Budget, Reservation
from runner.gateway.prices import Cost, Price, tokens_of
from runner.gateway.wire import Asked, Reading, Wire

_UNSAID_TOKENS = 16_000
_LEAST_SHARE = 0.02


@dataclass(slots=True)
class Experience:
    """How the true price of the input compares to its estimate, by model: most of it is usually cached."""

    _share: dict[str, float] = field(default_factory=dict)

    def share(self, model: str, *, alone: bool) -> float:
        """Return by what to multiply an estimate. Beside other calls the full one counts: together they could
        be wrong by many times the budget, one alone cannot.
        """
        return self._share.get(model, 1.0) if alone else 1.0

    def learn(self, model: str, estimated_usd: float, true_usd: float) -> None:
        """Remember the newest call of a model."""
        if estimated_usd > 0:
            self._share[model] = min(1.0, max(_LEAST_SHARE, true_usd / estimated_usd))


class Meter:
    """Watches one call. `reading` is filled while the answer comes."""

    def __init__(
        self, asked: Asked, wire: Wire, price: Price, budget: Budget, experience: Experience
    ) -> None:
        self._asked, self._wire, self._price = asked, wire, price
        self._budget, self._experience = budget, experience
        self._at = datetime.now(UTC)
        self._input_tokens = tokens_of(len(asked.body))
        in_usd, self._token_usd = price.rates(self._input_tokens, asked.context, self._at)
        self._input_usd = self._input_tokens * in_usd
        self._expected_usd = 0.0
        self._held: Reservation | None = None
        self.reading = Reading(context=dict(asked.context))

    def reserve(self) -> bool:
        """Hold what the call will cost at least; False: it does not fit. What is not streamed cannot be cut,
        so all that it may answer must fit.
        """
        share = self._experience.share(self._asked.model, alone=self._budget.idle)
        self._expected_usd = usd = self._input_usd * share
        if not self._asked.streamed:
            usd += (self._asked.output_tokens or _UNSAID_TOKENS) * self._token_usd
        self._held = self._budget.reserve(usd, sure=self._asked.streamed)
        return self._held is not None

    def grow(self) -> bool:
        """Hold what the answer cost so far; False: more than the budget, so that nothing more is spent."""
        self._hold()
        if self._budget.exceeded() and self._held is not None and self.reading.figures:
            exact = self._exact()  # late: it takes a millisecond
            if exact is not None:
                self._expected_usd = exact.usd - exact.output_tokens * self._token_usd
                self._held.usd = 0.0
                self._hold()
        if self._budget.exceeded():
            self._budget.close()
            return False
        return True

    def settle(self, *, asked_in_vain: bool) -> Cost | None:
        """Release what was held and return what the call cost; None for nothing. A second time it is None.

        `asked_in_vain`: the provider failed, so that its input is not billed unless it told figures.
        """
        held, self._held = self._held, None
        if held is None:
            return None
        cost = self._cost(asked_in_vain=asked_in_vain)
        self._budget.settle(held, cost.usd if cost else 0.0)
        return cost

    def _hold(self) -> None:
        if self._held is not None:
            written_usd = tokens_of(self.reading.text_bytes) * self._token_usd
            self._held.usd = max(self._held.usd, self._expected_usd + written_usd)

    def _exact(self) -> Cost | None:
        reading = self.reading
        return self._price.cost(reading.figures, self._wire.usage, reading.context, self._at)

    def _cost(self, *, asked_in_vain: bool) -> Cost | None:
        reading = self.reading
        written = tokens_of(reading.text_bytes)
        exact = self._exact()
        if exact is not None:
            output_usd = exact.output_tokens * self._token_usd
            self._experience.learn(self._asked.model, self._input_usd, exact.usd - output_usd)
            more = 0 if reading.ended else max(0, written - exact.output_tokens)
            usd = exact.usd + more * self._token_usd
            return Cost(usd, exact.input_tokens, exact.output_tokens + more)
        if asked_in_vain and not written:
            return None
        return Cost(self._input_usd + written * self._token_usd, self._input_tokens, written)
