"""A policy in an editor: the YAML language server, which others wrote, finds the schema and checks by it."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rules.policy import schema
from tests.peer.emulator import command

PROGRAM = "yaml-language-server/bin/yaml-language-server"
ANSWER_S = 60
COLUMNS = "version: 1\nboard:\n  columns:\n    Doing:\n      archetype: execution\n"
RIGHT = f"{COLUMNS}      budget_usd: 2.5\n      tools: {{network: [a.example.org]}}\nrepository: {{}}\n"


class Editor:
    """One editor with the server. Source: microsoft.github.io/language-server-protocol, 3.17."""

    def __init__(self, process: "subprocess.Popen[bytes]", folder: Path) -> None:
        self._process, self._folder, self._asked = process, folder, 0
        self.opened: dict[str, str] = {}
        capable = {"workspace": {"configuration": True}, "textDocument": {"completion": {}}}
        self.ask("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": capable})
        self._send({"method": "initialized", "params": {}})

    def open(self, name: str, text: str) -> str:
        """Show a file, and return its address."""
        uri = (self._folder / name).as_uri()
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        return uri

    def problems(self, uri: str) -> list[tuple[int, str]]:
        """Return line and text of each problem that the server tells of the file."""
        while True:
            heard = self._hear()
            if heard.get("method") == "textDocument/publishDiagnostics" and heard["params"]["uri"] == uri:
                found = heard["params"]["diagnostics"]
                return [(it["range"]["start"]["line"] + 1, it["message"]) for it in found]

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Return the server's answer."""
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        while True:
            heard = self._hear()
            if heard.get("id") == self._asked and "method" not in heard:
                return heard["result"]

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        raw = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(raw), raw))
        self._process.stdin.flush()

    def _hear(self) -> Any:
        """Return the next message, having answered it where the server wants something known."""
        assert self._process.stdout is not None
        length = 0
        while line := self._process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        assert length, "the server ended"
        heard = json.loads(self._process.stdout.read(length))
        if "method" in heard and "id" in heard:
            wanted = heard["method"] == "workspace/configuration"
            result = [self._settings(it["section"]) for it in heard["params"]["items"]] if wanted else None
            self._send({"id": heard["id"], "result": result})
        return heard

    def _settings(self, section: str) -> dict[str, Any]:
        """Return what a person has set: nothing but that no schema is fetched from elsewhere."""
        yaml = {"schemaStore": {"enable": False}, "validate": True, "completion": True}
        return yaml if section == "yaml" else {}


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    node, peer = command()
    program = Path(peer).parents[2] / PROGRAM
    folder = tmp_path_factory.mktemp("clone")
    (folder / schema.FILE).write_text(schema.schema_text(), encoding="utf-8")
    bounded = ["timeout", str(ANSWER_S), node, str(program), "--stdio"]
    with subprocess.Popen(bounded, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield Editor(process, folder)
        finally:
            process.terminate()


def named(text: str) -> str:
    return schema.name_schema(text, schema.FILE)


def test_a_right_file_has_no_problems(editor: Editor) -> None:
    assert editor.problems(editor.open("right.yml", named(RIGHT))) == []


@pytest.mark.parametrize("wrong", ["budgett_usd: 2", "budget_usd: lots"])
def test_a_mistake_is_shown_at_its_line(editor: Editor, wrong: str) -> None:
    file = named(f"{COLUMNS}      {wrong}\n")
    ((line, said),) = editor.problems(editor.open(f"{wrong.partition(':')[0]}.yml", file))
    assert file.splitlines()[line - 1].strip() == wrong
    assert said


def test_without_the_line_the_server_knows_no_schema(editor: Editor) -> None:
    """So it is the line by which the others are found."""
    assert editor.problems(editor.open("nameless.yml", f"{COLUMNS}      budgett_usd: 2\n")) == []


def test_settings_of_a_column_are_completed_and_explained(editor: Editor) -> None:
    uri = editor.open("typed.yml", file := named(f"{COLUMNS}      budg"))
    at = {"line": file.count("\n"), "character": 10}
    answer = editor.ask("textDocument/completion", {"textDocument": {"uri": uri}, "position": at})
    found = {it["label"]: it for it in answer["items"]}
    assert "budget_usd" in found
    assert "](" not in json.dumps(found["budget_usd"].get("documentation"))
