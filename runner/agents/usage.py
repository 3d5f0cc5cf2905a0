"""What agents and gateways say that was used, as numbers that can be added up. Pure."""

from runner.agents.contract import Usage

_MAX_USD, _MAX_TOKENS, _MAX_TURNS = 1e6, 10**12, 10**6  # at once


def believable(told: Usage) -> Usage:
    """Return what an agent told as numbers that can be added up and stored; what is none counts as nothing.

    A sum beyond all limits stays so: it must stop the run.
    """
    return Usage(
        usd=min(max(0.0, told.usd), _MAX_USD),  # max() also drops what is not a number
        input_tokens=min(max(0, told.input_tokens), _MAX_TOKENS),
        output_tokens=min(max(0, told.output_tokens), _MAX_TOKENS),
        turns=min(max(0, told.turns), _MAX_TURNS),
    )
