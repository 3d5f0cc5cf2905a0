"""What agents and gateways say that was used, as numbers that can be added up. Pure."""

from runner.agents.contract import Usage

_MOST_USD, _MOST_TOKENS, _MOST_TURNS = 1e6, 10**12, 10**6  # at once


def believable(told: Usage) -> Usage:
    """Return what an agent told as numbers that can be added up and stored; what is none counts as nothing.

    A sum beyond all limits stays so: it must stop the run.
    """
    return Usage(
        usd=min(max(0.0, told.usd), _MOST_USD),  # max() also drops what is not a number
        input_tokens=min(max(0, told.input_tokens), _MOST_TOKENS),
        output_tokens=min(max(0, told.output_tokens), _MOST_TOKENS),
        turns=min(max(0, told.turns), _MOST_TURNS),
    )
