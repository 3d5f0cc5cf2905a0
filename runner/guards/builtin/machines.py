"""Files that run on the machines of people who check out the branch, or steer programs there: unboxed."""

from collections.abc import Iterator

from runner.guards.contract import Breach, Change, breach
from runner.guards.tool_files import find_reason
from runner.run.run_spec import Guards

FINDS = (
    "Files that programs on people's machines run or obey: settings of editors, guides and settings of coding"
    " agents, hooks of git, `.env`"
)
ACTION = "ask"
_ADVICE = "leave it as the default branch has it, and tell people what they may set up on their machines"


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield every such file that changes, in single commits too: people check out those as well."""
    for touched in change.touched:
        if what := find_reason(touched.path, "machines", is_link=touched.is_link):
            yield breach(touched, f"machines: {rules.action('machines')}", what, _ADVICE)
