"""Prices of calls, by the price list of the genai-prices package, which stays off the network here."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

from genai_prices import Usage, calc_price, data_snapshot, extract_usage
from genai_prices.types import ModelInfo, Provider

_STEP_TOKENS = 10_000
_REMEMBERED = 200
_BYTES_PER_TOKEN = 4  # of English text and code, about
_FLAT = {
    "anthropic": ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    "openai": ("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens"),
}


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a call; `input_tokens` include cached ones."""

    usd: float
    input_tokens: int
    output_tokens: int


class ModelPrice:
    """The price of one model; `known`: the list has it, else the dearest model counts."""

    def __init__(self, provider: Provider, model: ModelInfo, *, known: bool) -> None:
        self.provider, self.model, self.known = provider, model, known
        self._rates: dict[object, tuple[float, float]] = {}

    def cost(
        self, figures: Mapping[str, Any], form: tuple[str, str], context: Mapping[str, str], at: datetime
    ) -> Cost | None:
        """Return the cost of a provider's usage `figures`; None for unusable ones."""
        for counts in (figures, {name: figures[name] for name in _FLAT[form[0]] if name in figures}):
            try:
                used = extract_usage({"usage": counts}, provider_id=form[0], api_flavor=form[1]).usage
                cost = Cost(self._usd(used, context, at), int(used.input_tokens), int(used.output_tokens))
                if math.isfinite(cost.usd):
                    return cost
            except (ValueError, TypeError, ArithmeticError):
                continue
        return None

    def rates(self, input_tokens: int, context: Mapping[str, str], at: datetime) -> tuple[float, float]:
        """Return the dollars per uncached input token and per output token, at about that input size.

        Cached: the list takes a millisecond, and a first byte waits for it.
        """
        near = -(-max(1, input_tokens) // _STEP_TOKENS) * _STEP_TOKENS  # prices rise with the input
        key = (near, at.date(), at.hour, *sorted(context.items()))
        if key not in self._rates:
            if len(self._rates) > _REMEMBERED:
                self._rates.clear()
            input_usd = self._usd(Usage(input_tokens=near, output_tokens=0), context, at)
            both_usd = self._usd(Usage(input_tokens=near, output_tokens=near), context, at)
            self._rates[key] = (input_usd / near, (both_usd - input_usd) / near)
        return self._rates[key]

    def _usd(self, used: Usage, context: Mapping[str, str], at: datetime) -> float:
        priced = self.model.calc_price(
            used, self.provider, genai_request_timestamp=at, price_context=context or None
        )
        return float(priced.total_price)


@lru_cache(maxsize=256)
def price_of(provider: str, url: str, model: str) -> ModelPrice:
    """Return the price of a model, or the dearest of that provider for an unknown one.

    A `compatible` provider is known by its address, else by the model's name, else taken for OpenAI.
    """
    ways: tuple[dict[str, str], ...] = ({"provider_id": provider},)
    if provider == "compatible":
        ways = ({"provider_api_url": url}, {}, {"provider_id": "openai"})
    for way in ways:
        try:
            price = calc_price(Usage(input_tokens=1), model, **way)  # type: ignore[call-overload]
        except (LookupError, ValueError):
            continue
        return ModelPrice(price.provider, price.model, known=True)
    return _dearest("openai" if provider == "compatible" else provider)


def tokens_of(count_bytes: int) -> int:
    """Return the approximate tokens of so many bytes."""
    return -(-count_bytes // _BYTES_PER_TOKEN)


@cache
def _dearest(provider: str) -> ModelPrice:
    used = Usage(input_tokens=1000, output_tokens=1000)
    best: tuple[float, ModelPrice] | None = None
    for candidate in data_snapshot.get_snapshot().providers:
        for model in candidate.models if candidate.id == provider else ():
            try:
                usd = float(model.calc_price(used, candidate).total_price)
            except ValueError:  # priced by something else than tokens
                continue
            if best is None or usd > best[0]:
                best = (usd, ModelPrice(candidate, model, known=False))
    if best is None:
        raise LookupError(f"the price list has no provider {provider!r}")
    return best[1]
