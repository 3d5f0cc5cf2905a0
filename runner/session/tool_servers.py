"""Tool servers of a run: started before the first turn that may call them, ended with the claim."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from ledger.events.agent import ToolServerCalled, ToolServerFailed
from ledger.events.run import RunEvent
from runner.errors import MissingSecretError, RunnerError
from runner.gateway.control.messages import ServerCallMade, ServerMessage
from runner.run.run_spec import ToolServerSpec
from runner.session.context import RunContext
from runner.text.plain import one_line, redact

_NAME_BYTES, _DETAIL_BYTES = 60, 400


@contextmanager
def ending_servers(run: RunContext) -> Iterator[None]:
    """End the tool servers and services of a run, and remove the servers' place, with the `with`."""
    with run.ground.stack:
        try:
            yield
        finally:
            for server in run.servers.values():
                if server is not None:
                    server.close()
            run.workspace.end_services()


def begin_servers(run: RunContext) -> tuple[str, ...]:
    """Start the servers that the open stage grants and that were not tried; return the turn's tools.

    A server that does not start is named on the card, and the run goes on without it.
    """
    stage = run.stage
    tools = stage.tools.mcp if stage else run.spec.tools.mcp
    if run.gateway is None:
        return ()
    named = {name.partition("__")[0] for name in tools}
    for server in run.spec.servers:
        if server.name in named and server.name not in run.servers:
            try:
                _start(run, server)
            except RunnerError as error:
                run.servers[server.name] = None
                run.log.append(_record_failure(run, server.name, str(error)))
    return tools


def record_server_message(run: RunContext, message: ServerMessage) -> RunEvent:
    """Return the event of the gateway's message about a tool server; end a server that it let go."""
    if isinstance(message, ServerCallMade):
        return ToolServerCalled(
            run_id=run.spec.run_id,
            server=one_line(message.server, _NAME_BYTES),
            tool=one_line(message.tool, _NAME_BYTES),
            duration_ms=message.duration_ms,
            input_bytes=message.input_bytes,
            output_bytes=message.output_bytes,
            outcome=one_line(message.outcome, _NAME_BYTES),
        )
    server = run.servers.get(message.server) if message.ended else None
    if server is not None:
        run.servers[message.server] = None
        server.close()
    return _record_failure(run, message.server, message.detail)


def _start(run: RunContext, server: ToolServerSpec) -> None:
    assert run.gateway is not None
    missing = tuple(name for name in server.secrets if name not in run.tool_secrets)
    if missing:
        raise MissingSecretError(run.spec.repository, missing)
    workspace = run.stand(run, checked_out=server.reads)
    wire, far_wire = socket.socketpair()
    errors, far_errors = socket.socketpair()
    with wire, far_wire, errors, far_errors:
        run.servers[server.name] = workspace.serve(
            server,
            far_wire.fileno(),
            far_errors.fileno(),
            network=run.gateway.network_of(server.name),
            env={name: run.tool_secrets[name] for name in server.secrets},
            data=run.workspace.repo,
        )
        run.gateway.attach(server.name, wire.fileno(), errors.fileno())


def _record_failure(run: RunContext, server: str, detail: str) -> ToolServerFailed:
    name = one_line(server, _NAME_BYTES)
    return ToolServerFailed(run.spec.run_id, name, one_line(redact(detail), _DETAIL_BYTES))
