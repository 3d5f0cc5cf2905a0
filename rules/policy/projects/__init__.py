"""How projects set up and check themselves: their package managers, tests and quick checks."""
