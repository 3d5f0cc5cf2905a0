"""One bounded call without tools or a workspace."""

import os
import socket
import time
from pathlib import Path

import pytest

from bot.render.assistant_prompt import brief_of
from runner.agents import contract
from runner.agents.adapters.scripted import ScriptedDialogue
from runner.errors import CommandTimeoutError
from runner.exec.child import Child
from runner.gateway.control.link import Gateway
from runner.session import chat
from runner.session.chat import ChatError, ask_once
from tests.runner.world import World


def test_the_first_rule_that_fits_answers_and_nothing_is_left_behind(world: World) -> None:
    world.scenario(chat=[{"when": "criteria", "say": "Which ones?", "usd": 0.01}, {"say": "Hello."}])
    answer = ask_once("scripted", "No criteria yet", model="test", places=world.places, timeout_s=60)
    assert (answer.text, answer.usd) == ("Which ones?", 0.01)
    assert answer.tokens > 0
    assert ask_once("scripted", "Hm", model="test", places=world.places, timeout_s=60).text == "Hello."
    assert os.listdir(world.places.workspaces) == []


def test_the_packaged_agent_asks_once_and_its_brief_is_ready_after_an_answer(world: World) -> None:
    asked = ask_once("scripted", "# The card", model="hello", places=world.places, timeout_s=60).text
    assert (brief_of(asked), asked.count("?")) == ("", 1)
    talk = f"You said:\n{asked}\n\nada said:\nThe file is there."
    answered = ask_once("scripted", talk, model="hello", places=world.places, timeout_s=60)
    assert "hello.txt" in brief_of(answered.text)
    assert answered.usd == 0  # no model was paid


def test_no_answer_is_an_error(world: World) -> None:
    world.scenario(chat=[{"when": "never", "say": "x"}])
    with pytest.raises(ChatError):
        ask_once("scripted", "Hm", model="test", places=world.places, timeout_s=60)


def test_an_answer_that_takes_too_long_is_an_error(world: World) -> None:
    world.scenario(chat=[{"when": "(a+)+$", "say": "x"}])  # as slow as a model that hangs
    began = time.monotonic()
    with pytest.raises(CommandTimeoutError):
        ask_once("scripted", "a" * 60 + "!", model="test", places=world.places, timeout_s=1)
    assert time.monotonic() - began < 45
    assert os.listdir(world.places.workspaces) == []


def test_what_an_answer_costs_counts_also_where_it_is_said_together_with_the_end() -> None:
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    gateway, dialogue = Gateway(Path("/none"), near, os.getpid()), ScriptedDialogue(contract.Command((), b""))
    says = """echo '{"type": "say", "text": "Hi"}'; echo '{"type": "end"}'"""
    child = Child(("/bin/sh", "-c", says), env={}, cwd=Path("/"), cap_bytes=1000, side_channel=near.fileno())
    with near, far:
        far.send(b'{"type": "usage", "usd": 0.5, "input_tokens": 1, "output_tokens": 1, "turns": 1}')
        child.exit_code()
        listener = chat._Listener(dialogue, child.write, gateway)
        chat._listen(child, listener, timeout_s=5)
        child.close()
    assert listener.answer() == chat.ChatAnswer("Hi", 0.5, 2)
