"""Agents, a file each: in `adapters/`, as data in `acp/programs/`, and as data in the operator's home."""

from pathlib import Path

from ledger.parts import Registry, UnknownPartError
from runner.agents.acp.program import AcpAgent
from runner.agents.acp.program_file import BUILT_IN, list_programs, read_program
from runner.agents.contract import AgentAdapter
from runner.errors import ProgramError


class AgentRegistry(Registry[AgentAdapter]):
    """Adapters by file name, and programs that are data. `own` is the operator's folder of these."""

    def names(self, own: Path | None = None) -> tuple[str, ...]:
        """Return the names of all agents, sorted."""
        return tuple(sorted({*super().names(), *list_programs(BUILT_IN), *list_programs(own)}))

    def load(self, name: str, own: Path | None = None) -> AgentAdapter:
        """Return the agent of that name; the operator's file is read each time.

        Raises UnknownPartError, and ProgramError where the file of a program is wrong.
        """
        if own is not None and name in list_programs(own):
            if name in self.names():
                raise ProgramError(own / f"{name}.yml", f"{name} is Cardinal's own agent, so rename the file")
            return AcpAgent(read_program(own, name))
        if name in list_programs(BUILT_IN):
            return AcpAgent(read_program(BUILT_IN, name))
        if name not in super().names():
            raise UnknownPartError(self.kind, name, self.names(own), _REMEDY)
        return super().load(name)


_REMEDY = "correct the name (for a column, that is `agent:` in .github/cardinal.yml), then retry"
AGENTS = AgentRegistry("agent", "runner.agents.adapters", AgentAdapter, holds="AGENT")
names, load = AGENTS.names, AGENTS.load
