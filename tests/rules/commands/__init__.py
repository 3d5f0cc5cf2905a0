"""One table of cases for each slash command."""

import pytest

pytest.register_assert_rewrite("tests.rules.commands.cases")  # its asserts show both values
