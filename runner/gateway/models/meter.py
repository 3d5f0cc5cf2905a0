"""Cost of one call: estimated before it is sent, tracked during the answer, exact at its end."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from runner.gateway.models.limits import Reservation, RunBudget
from runner.gateway.models.prices import Cost, ModelPrice, tokens_of
from runner.gateway.models.protocol import ModelRequest, Reading, Wire
from runner.gateway.models.request_contents import UnknownCostError, Weight

_UNSAID_TOKENS = 16_000  # of an answer in one piece that has no limit of its own
_MAX_TOKENS = 128_000  # source: the models' pages of Anthropic and OpenAI
_MIN_TOKENS, _BESIDE_TOKENS = 2_500, 8_000  # an answer below is not worth its input
_AMPLE_TOKENS = 32_000
_PICTURE_TOKENS, _LARGEST_PICTURE_TOKENS = 2_000, 10_000
_UNSEEN_TOKENS = 1_000  # that a provider adds for its tools
_WRITES = (
    (b'"1h"', 2.0),
    (b'"cache_control"', 1.25),
    (b'"prompt_cache_options"', 1.25),
    (b"", 1.0),
)  # Anthropic's and OpenAI's factors for writing to a cache
_MIN_SHARE, _MAX_SHARE = 0.02, 4.0
# No model writes faster, thinking included. Sources: Anthropic's models are measured at 70 to 200, and fast
# mode multiplies by 2.5 (platform.claude.com/docs/en/build-with-claude/fast-mode); the fastest of Cerebras,
# whose hardware also serves OpenAI's models, does 3,000 (inference-docs.cerebras.ai/models/overview).
_TOKENS_PER_S: Mapping[str, float] = {
    "anthropic": 500.0, "openai": 3000.0, "compatible": 3000.0, "gemini": 3000.0,
}  # fmt: skip
_REMEMBERED = 20_000


@dataclass(slots=True)
class ObservedUsage:
    """Learned facts about paid calls: prefixes that providers cached, and true prices against estimates."""

    _share: dict[str, float] = field(default_factory=dict)
    _read: dict[bytes, None] = field(default_factory=dict)

    def share(self, model: str) -> float:
        """Return the factor on the estimate of cached input."""
        return self._share.get(model, 1.0)

    def knows(self, digest: bytes) -> bool:
        """Whether a provider was paid for this prefix before."""
        return digest in self._read

    def learn(self, model: str, estimated_usd: float, true_usd: float, digests: Iterable[bytes]) -> None:
        if estimated_usd > 0:
            self._share[model] = min(_MAX_SHARE, max(_MIN_SHARE, true_usd / estimated_usd))
        self._read |= dict.fromkeys(digests)
        while len(self._read) > _REMEMBERED:
            del self._read[next(iter(self._read))]


class Meter:
    """Meters one call; `reading` is filled during the answer."""

    def __init__(
        self,
        request: ModelRequest,
        wire: Wire,
        price: ModelPrice,
        budget: RunBudget,
        experience: ObservedUsage,
        *,
        parts: Iterable[tuple[bytes, Weight]],
    ) -> None:
        """Weigh a request. Raises UnknownCostError."""
        self.request = request
        self._wire, self._price = wire, price
        self._budget, self._experience = budget, experience
        self._at = datetime.now(UTC)
        known_weight = fresh = Weight()
        digests = []
        for digest, weight in parts:
            digests.append(digest)
            if experience.knows(digest):
                known_weight += weight
            else:
                fresh += weight
        self._digests = tuple(digests)
        self._estimate(known_weight, fresh)
        self._expected_usd = 0.0
        self._held: Reservation | None = None
        self._limit_tokens = 0
        searches = bool(request.given.get("web_search_options"))  # once; Chat Completions does not say so
        self.reading = Reading(context=dict(request.context), searches=int(searches))

    def _estimate(self, known_weight: Weight, fresh: Weight) -> None:
        """Set the input's usual and maximal cost; no token is less than a byte."""
        window = self._price.model.context_window or 0
        if (known_weight.files or fresh.files) and not window:
            raise UnknownCostError(
                f"a file or a search with {self.request.model}, whose context is not known,"
            )
        usual = [
            tokens_of(weight.text_bytes) + weight.pictures * _PICTURE_TOKENS + weight.files * window
            for weight in (known_weight, fresh)
        ]
        everything = known_weight + fresh
        most = (
            everything.text_bytes + everything.pictures * _LARGEST_PICTURE_TOKENS + everything.files * window
        )
        body = self.request.body
        if b"\\u00" in body:  # escaped characters mean the same
            body = json.dumps(self.request.given).encode()
        write = next(factor for mark, factor in _WRITES if mark in body)
        self._input_tokens = sum(usual)
        rate, self._token_usd = self._price.rates(self._input_tokens, self.request.context, self._at)
        dear, _ = self._price.rates(most + _UNSEEN_TOKENS, self.request.context, self._at)
        share = self._experience.share(self.request.model)
        self._plain_usd = self._input_tokens * rate
        self._usual_usd = usual[0] * rate * share + usual[1] * rate * max(write, share)
        self._most_usd = (most + _UNSEEN_TOKENS) * dear * write

    def reserve(self) -> bool:
        """Reserve the call's cost, limiting its answer if needed; False: it does not fit.

        A call alone counts with its usual cost. Beside others the maximum counts: together they could exceed
        the budget many times over.
        """
        alone, free_usd = self._budget.idle, self._budget.free_usd
        input_usd = self._usual_usd if alone else self._most_usd
        tokens = self._answer_tokens(free_usd, alone=alone)
        if not tokens:
            return False
        if tokens < (self.request.limit_tokens or _MAX_TOKENS):
            self.request = self.request.limit(tokens)
        self._limit_tokens = tokens
        self._expected_usd = self._usual_usd
        self._held = self._budget.hold(input_usd + tokens * self._token_usd)
        return True

    def may_fit_later(self) -> bool:
        """Whether the call would fit if the calls under way cost nothing more."""
        over = self._budget.over or self._budget.idle
        return not over and self._answer_tokens(self._budget.left_usd, alone=True) > 0

    @property
    def needs_usd(self) -> float:
        """The dollars with which the call fits, when it is alone."""
        return self._usual_usd + self._least_tokens(alone=True) * self._token_usd

    def _least_tokens(self, *, alone: bool) -> int:
        if not self.request.streamed:
            return self.request.limit_tokens or _UNSAID_TOKENS
        return min(self.request.limit_tokens or _MAX_TOKENS, _MIN_TOKENS if alone else _BESIDE_TOKENS)

    def _answer_tokens(self, free_usd: float, *, alone: bool) -> int:
        """Return the longest possible answer in tokens; 0 when the call does not fit.

        A call takes at most half of the free dollars, so that others fit beside it. An unstreamed answer
        cannot be cut, so all of it must fit.
        """
        room_usd = free_usd - (self._usual_usd if alone else self._most_usd)
        if free_usd <= 0 or room_usd < 0:
            return 0
        room_usd += self._budget.slack_usd if alone else 0.0
        most = int(room_usd / self._token_usd) if self._token_usd > 0 else _MAX_TOKENS
        least = self._least_tokens(alone=alone)
        if not self.request.streamed:
            return least if least <= most else 0
        wanted = self.request.limit_tokens or _MAX_TOKENS
        half = max(most // 2, _AMPLE_TOKENS if alone else least)
        return min(wanted, most, half) if most >= least else 0

    def grow(self) -> bool:
        """Count the answer's cost so far; False: it exceeds the budget."""
        self._hold()
        if self._budget.is_exceeded() and self._held is not None and self.reading.figures:
            exact = self._exact()  # late: it takes a millisecond
            if exact is not None:
                self._expected_usd = exact.usd - exact.output_tokens * self._token_usd
                self._held.so_far_usd = 0.0
                self._hold()
        if self._budget.is_exceeded():
            self._budget.close()
            return False
        return True

    def release(self, worked_s: float | None) -> Cost | None:
        """Free the reservation and return the call's cost; None for nothing, or a second time.

        The provider may have worked on it for `worked_s`; None: it took no such call, and bills nothing.
        """
        reservation, self._held = self._held, None
        if reservation is None:
            return None
        cost = None if worked_s is None else self._cost(worked_s)
        billed = cost or Cost(0.0, 0, 0)
        self._budget.charge(reservation, billed.usd, billed.input_tokens + billed.output_tokens)
        return cost

    def _hold(self) -> None:
        if self._held is not None:
            written_usd = tokens_of(self.reading.text_bytes) * self._token_usd
            self._held.so_far_usd = max(self._held.so_far_usd, self._expected_usd + written_usd)

    def _exact(self) -> Cost | None:
        reading = self.reading
        return self._price.cost(
            reading.figures, self._wire.usage, reading.context, self._at, searches=reading.searches
        )

    def _cost(self, worked_s: float) -> Cost:
        """Return the cost by the provider's final figures, else the most that it can have written by now."""
        reading, cost = self.reading, self._exact()
        if cost is not None and cost.input_tokens:
            input_usd = cost.usd - cost.output_tokens * self._token_usd
            self._experience.learn(self.request.model, self._plain_usd, input_usd, self._digests)
            if reading.ended and reading.counted:
                return cost
        else:
            priced = cost is not None
            output = cost.output_tokens if cost is not None else 0
            usd = self._usual_usd + output * self._token_usd
            cost = Cost(usd, self._input_tokens, output, estimated=True)
            if (
                priced and reading.ended and reading.counted
            ):  # Ollama leaves out a prompt that it has in its cache
                return cost
        written = max(tokens_of(reading.text_bytes), self._producible(worked_s))
        more = max(0, written - cost.output_tokens)
        usd = cost.usd + more * self._token_usd
        return Cost(usd, cost.input_tokens, cost.output_tokens + more, estimated=True)

    def _producible(self, worked_s: float) -> int:
        """Return the most tokens of an answer after so many seconds, most of which may be hidden thinking."""
        if not self.request.streamed and not self.reading.ended:  # it may not notice that nobody listens
            return self._limit_tokens
        return min(self._limit_tokens, math.ceil(worked_s * _TOKENS_PER_S[self._wire.provider]))
