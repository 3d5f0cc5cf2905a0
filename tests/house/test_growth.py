"""Nothing in the ledger grows for ever but its log: each table beside the views is named with its bound."""

from bot.scheduler.cleanup import KEPT, KEPT_FOR_PEOPLE
from ledger.db.tables import BOUND, CORE
from ledger.queue import api_tokens, sign_ins

# The numbers that a bound names, from the code that keeps it.
NUMBERS = {
    "inbox": (KEPT.days, KEPT_FOR_PEOPLE.days),
    "leases": (KEPT.days,),
    "change_reports": (KEPT.days,),
    "hosts": (KEPT_FOR_PEOPLE.days,),
    "examinations": (KEPT_FOR_PEOPLE.days,),
    "sign_ins": (sign_ins.MAX_OF_ONE,),
    "api_tokens": (api_tokens.MAX_OF_ONE, KEPT_FOR_PEOPLE.days),
}


def test_every_table_is_named_with_what_bounds_it_in_numbers_that_the_code_has() -> None:
    said = {table.name: str(table.info.get(BOUND, "")) for table in CORE.sorted_tables}
    assert [name for name, bound in said.items() if not bound] == []
    numbers = {
        name: tuple(int(word) for word in bound.split() if word.isdecimal()) for name, bound in said.items()
    }
    assert {name: it for name, it in numbers.items() if it} == NUMBERS
