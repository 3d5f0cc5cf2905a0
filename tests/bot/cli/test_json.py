"""`--json`: programs read the result of a command."""

from tests.bot.cli.test_commands import leaves

# Commands that go on, ask people, or print a text of its own form: shell, YAML, a page, the audit's JSON.
NO_JSON = {
    *((name,) for name in ("images", "init", "mcp", "receive", "serve", "try", "up", "upgrade", "work")),
    *(("audit", "export"), ("completion",), ("export",), ("help",), ("import",), ("policy", "propose")),
    ("policy", "schema"),
}


def test_programs_read_the_output_of_every_command_that_has_a_result() -> None:
    plain = {
        path
        for path, command in leaves()
        if "--json" not in {word for param in command.params for word in param.opts}
    }
    assert plain == NO_JSON
