"""How often providers failed in a row, and when that is enough. Pure."""

from dataclasses import dataclass, field

from runner.gateway.control.messages import ProviderFailure

SETTINGS = {
    "anthropic": "CARDINAL_ANTHROPIC_KEY",
    "openai": "CARDINAL_OPENAI_KEY",
    "compatible": "CARDINAL_COMPATIBLE_KEY",
}
_BAD_KEY = (401, 403)


@dataclass(slots=True)
class Streaks:
    """Counts failures by provider; after `most` in a row it is over until `reset`."""

    most: int
    _in_a_row: dict[str, int] = field(default_factory=dict)
    _over: dict[str, str] = field(default_factory=dict)

    def reset(self) -> None:
        """A turn begins: all providers get another chance."""
        self._in_a_row.clear()
        self._over.clear()

    def succeeded(self, provider: str) -> None:
        """A call was answered to its end."""
        self._in_a_row[provider] = 0

    def failed(self, provider: str, status: int, detail: str) -> ProviderFailure:
        """Count a failure and return what to tell. A refused key is final at once: no retry mends it."""
        count = self._in_a_row[provider] = self._in_a_row.get(provider, 0) + 1
        if status in _BAD_KEY:
            said = f"{provider} refuses the key ({status}): check {SETTINGS[provider]}, then retry. {detail}"
        elif count >= self.most:
            said = f"{provider} failed {count} times in a row, last: {detail}"
        else:
            return ProviderFailure(provider, status, detail, count, final=False)
        self._over[provider] = said.strip()
        return ProviderFailure(provider, status, said.strip(), count, final=True)

    def over(self, provider: str) -> str:
        """Return why this provider is not asked any more; empty while it is."""
        return self._over.get(provider, "")
