"""Prices of calls, by the price list of the genai-prices package, which stays off the network here."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from genai_prices import Usage, calc_price, data_snapshot, extract_usage, types

from runner.errors import RunnerError
from runner.gateway.models.bedrock import model_id
from runner.run.provider import BedrockProvider, Provider, TokenPrice, VertexProvider

_STEP_TOKENS = 10_000
_REMEMBERED = 200
_BYTES_PER_TOKEN = 4  # of English text and code, about
# As the list names who sells.
_SELLERS = {"vertex": "google", "bedrock": "aws", "subscription": "anthropic", "gemini": "google"}
_REGIONAL = 1.1  # source: platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai
_FLAT = {
    "anthropic": ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    "openai": ("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens"),
    "google": (
        *("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount"),
        "toolUsePromptTokenCount",
    ),
}
_HOLDERS = {"google": "usageMetadata"}  # of the figures in an answer; by default `usage`


class UnknownPriceError(RunnerError):
    """The model has no known price, so no budget could bound it."""

    def __init__(self, provider: str, model: str) -> None:
        super().__init__(
            f"no price is known for {model} of {provider}: set CARDINAL_PRICES={model}=INPUT/OUTPUT, "
            "in dollars per million tokens, restart Cardinal, then retry"
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a call; `input_tokens` include cached ones. `estimated`: the provider told no final one."""

    usd: float
    input_tokens: int
    output_tokens: int
    estimated: bool = False


class ModelPrice:
    """The price of one model, `factor` times that of the list."""

    def __init__(self, provider: types.Provider, model: types.ModelInfo, factor: float = 1.0) -> None:
        self.provider, self.model, self._factor = provider, model, factor
        self._rates: dict[object, tuple[float, float]] = {}

    def cost(
        self,
        figures: Mapping[str, Any],
        form: tuple[str, str],
        context: Mapping[str, str],
        at: datetime,
        *,
        searches: int = 0,
    ) -> Cost | None:
        """Return the cost of a provider's usage `figures`; None for unusable ones.

        `searches` are those of the provider that its figures do not have.
        """
        for counts in (figures, {name: figures[name] for name in _FLAT[form[0]] if name in figures}):
            try:
                answer = {_HOLDERS.get(form[0], "usage"): counts}
                used = extract_usage(answer, provider_id=form[0], api_flavor=form[1]).usage
                if searches:
                    used += Usage(web_searches=searches)
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
        return float(priced.total_price) * self._factor


@lru_cache(maxsize=256)
def price_of(provider: Provider, model: str) -> ModelPrice:
    """Return the price of a model: the operator's own, else that of the list. Raises UnknownPriceError.

    A `compatible` provider is known by its address, else by the model's name, else taken for OpenAI.
    """
    for price in provider.prices:
        if price.model == model:
            return _own(price)
    sold_as = model_id(provider, model) if isinstance(provider, BedrockProvider) else model
    ways: tuple[dict[str, str], ...] = ({"provider_id": _SELLERS.get(provider.name, provider.name)},)
    if provider.name == "compatible":
        ways = ({"provider_api_url": provider.url}, {}, {"provider_id": "openai"})
    for way in ways:
        try:
            price = calc_price(Usage(input_tokens=1), sold_as, **way)  # type: ignore[call-overload]
        except (LookupError, ValueError):
            continue
        regional = isinstance(provider, VertexProvider) and provider.region != "global"
        return ModelPrice(price.provider, price.model, _REGIONAL if regional else 1.0)
    raise UnknownPriceError(provider.name, model)


def _own(price: TokenPrice) -> ModelPrice:
    """Return the operator's price; a cached token costs as much as any other, written or read."""
    rates = types.ModelPrice(
        input_mtok=Decimal(str(price.input_usd)), output_mtok=Decimal(str(price.output_usd))
    )
    model = types.ModelInfo(price.model, types.ClauseEquals(price.model), prices=rates)
    return ModelPrice(types.Provider("operator", "the operator", "^$"), model)


def warm() -> None:
    data_snapshot.get_snapshot()


def tokens_of(count_bytes: int) -> int:
    return -(-count_bytes // _BYTES_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class ListedPrice:
    """A model with its price, in dollars per million tokens. `own`: the operator set it."""

    model: str
    input_usd: float
    output_usd: float
    context_tokens: int
    own: bool


def list_prices(provider: Provider, at: datetime) -> tuple[ListedPrice, ...]:
    """Return the models of a provider that have a price, as the gateway would price a short call of each.

    Of a `compatible` provider that the list does not know by its address, only the operator's own are known.
    """
    own = {price.model for price in provider.prices}
    names = dict.fromkeys((*own, *_listed(provider)))
    listed = []
    for name in names:
        try:
            price = price_of(provider, name)
        except UnknownPriceError:
            continue
        input_usd, output_usd = (1e6 * usd for usd in price.rates(1, {}, at))
        window = price.model.context_window or 0
        listed.append(ListedPrice(name, input_usd, output_usd, window, name in own))
    return tuple(listed)


def _listed(provider: Provider) -> tuple[str, ...]:
    seller = _SELLERS.get(provider.name, provider.name)
    url = provider.url if provider.name == "compatible" else None
    try:
        known = data_snapshot.get_snapshot().find_provider(None, None if url else seller, url)
    except LookupError:
        return ()
    claude = isinstance(provider, VertexProvider | BedrockProvider)  # they sell the models of others, too
    return tuple(it.id for it in known.models if not it.deprecated and (not claude or "claude" in it.id))
