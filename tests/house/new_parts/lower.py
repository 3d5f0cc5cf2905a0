"""New parts of rules, runner and ledger."""

from tests.house.new_parts import Sample

SAMPLES = {
    "slash command": Sample(
        "rules/commands/hello.py",
        '''
        """Say hello."""
        from rules.chatops.replies import say
        from rules.policy.roles import Role

        USAGE, ROLE, TAKES = "/cardinal hello", Role.READ, "none"

        def handle(policy, snapshot, given, now):
            return say(snapshot, given, "Hello.")
        ''',
        """
        from rules.chatops.parser import parse
        from rules.commands.help import command_table
        from tests.rules.scene import POLICY, asks, card, given

        listed = "| `/cardinal hello` | Say hello. |" in command_table(POLICY)
        print(listed, parse("/cardinal hello you").because)
        parsed = parse("/cardinal hello")
        print(*(one.text for one in asks(card(), given(parsed.command))[1:]))

        from click.testing import CliRunner
        from flask import Flask, render_template_string

        from bot.cli import main
        from bot.web.acting import offered
        from bot.web.api.operations.give_command import CommandRequest
        from bot.web.mcp import tools
        from rules.chatops.offers import others

        more = others(POLICY, card(), (), role="read", login="bob")
        site = Flask("site")
        site.register_blueprint(offered.templates())
        with site.app_context():
            macro = '{% from "forms.html" import act_forms %}{{ act_forms(forms, "/") }}'
            page = render_template_string(macro, forms=[offered.FormView("c1", more, "t")])
        print("page:", '>hello</option>' in page and "<li>hello: Say hello.</li>" in page)
        job = {"owner": "acme", "repository": "shop", "number": 1}
        print("api:", CommandRequest(**job, command="hello").command)
        (tool,) = (tool for tool in tools.list_tools() if tool.name == "give_command")
        print("mcp:", "|hello|" in tool.input_schema["properties"]["command"]["pattern"])
        place = {"CARDINAL_URL": "http://127.0.0.1:9", "CARDINAL_TOKEN": "x", "CARDINAL_HOME": "{home}"}
        words = ["job", "command", "hello", "acme/shop#1", "--dry-run"]
        print("shell:", CliRunner().invoke(main, words, env=place).output)
        """,
        "True `/cardinal hello` takes no text, so nothing was done.\nHello.\npage: True\napi: hello\n"
        "mcp: True\nshell: acme/shop#1: would be done",
    ),
    "kind of column": Sample(
        "rules/columns/night_shift.py",
        '''
        """night_shift: agents work here while people sleep."""
        from ledger.states import CardState
        from rules.card.column_actions import derive_and_act
        from rules.card.state import DerivedState

        STATES = (CardState.QUEUED, CardState.WORKING, CardState.BLOCKED, CardState.DISCUSSING)
        STARTS_RUNS, ENTRY_ACTIONS = True, ({"action": "start_run"},)
        enter = derive_and_act

        def derive(policy, snapshot):
            return DerivedState(CardState.DISCUSSING, "it is night")

        def headline(column):
            return "Agents work while you sleep."
        ''',
        """
        from ledger.events.board import CardMoved
        from ledger.states import CardState
        from rules.card.column_actions import consequence
        from rules.decide import decide
        from tests.rules.scene import CARD, NOW, card, policy, under

        stages = "[{name: work, persona: planner}]"
        night = policy(f"Tasks: {{archetype: inbox}}\\nNight: {{archetype: night_shift, stages: {stages}}}")
        print(consequence(night.column("Night")))
        moved = CardMoved(CARD, "Tasks", "Night", True, "alice", "write")
        seen = under(night, card("Night", CardState.DRAFT))
        print(*(type(one).__name__ for one in decide(night, seen, moved, NOW).intents))
        """,
        "Agents work while you sleep.\nChangeCardState UpdateFace QueueRun",
    ),
    "action": Sample(
        "rules/actions/greet.py",
        '''
        """greet: say something on the card."""
        from typing import Literal
        from pydantic import Field
        from rules.intents.outbound import Decision, Say
        from ledger.model.policy_settings import PolicyModel

        class Settings(PolicyModel):
            """What is said."""
            action: Literal["greet"] = Field(description="`greet`.")
            text: str = Field(description="The words.")

        def fits(archetype):
            return archetype.TAKES_NEW_CARDS

        def plan(policy, snapshot, settings, trigger):
            return Decision((Say(snapshot.card_id, trigger.key, settings.text),))

        def headline(settings):
            return "greets"
        ''',
        """
        from ledger.events.board import CardMoved
        from ledger.states import CardState
        from rules.decide import decide
        from rules.errors import PolicyError
        from tests.rules.scene import CARD, NOW, card, policy, under

        greets = policy("Tasks: {archetype: inbox, on_entry: [{action: greet, text: Welcome}]}")
        moved = CardMoved(CARD, None, "Tasks", True, "alice", "write")
        decided = decide(greets, under(greets, card("Tasks", CardState.DRAFT)), moved, NOW)
        print(*(one.text for one in decided.intents if hasattr(one, "text")))
        try:
            policy("Done: {archetype: terminal, on_entry: [{action: greet, text: Welcome}]}")
        except PolicyError as error:
            print(error.problems[0].partition(": greet ")[2])
        """,
        "Welcome\nfits columns of kind inbox, not terminal",
    ),
    "profile": Sample(
        "rules/profiles/haskell.py",
        '"""A library in Haskell."""\nTEXT = "- Mind the types."\nFULL = ("cabal test",)\n',
        """
        from bot.cli import main
        from rules.policy.model import parse_repository

        print(parse_repository("version: 1\\nrepository: {profile: haskell}", ()).profile)
        main(["policy", "profiles"])
        """,
        "haskell: A library in Haskell.",
    ),
    "agent": Sample(
        "runner/agents/adapters/echo.py",
        '''
        """The echo: its program says its input backwards, line by line, once that has ended."""
        from runner.agents.contract import Command, Text, TurnEnd

        class Dialogue:
            def __init__(self, prompt):
                self.command = Command(("tac",), f".\\n{prompt}\\n".encode(), listens=False)

            def decode(self, line):
                return (TurnEnd(""),) if line.strip() == "." else (Text(line.strip()),)

            def reply(self, call_id, result):
                return None

            def permit(self, ask_id, *, allowed, why):
                return None

            def steer(self, text):
                return None

            def interrupt(self):
                return None

        class Echo:
            name, version, secrets, trusted, in_image = "echo", "1", (), True, False
            metering, efforts = "gateway", ()

            def session_files(self, session_id):
                return ()

            def models(self, wanted):
                return ()

            def provider(self, wanted):
                return ""

            def begin(self, task, layout):
                return Dialogue(task.prompt)

        AGENT = Echo()
        ''',
        """
        from pathlib import Path
        from bot.state.policy_names import list_installed
        from rules.policy.model import parse
        from runner import agents, workspaces
        from runner.run.run_spec import HostPaths
        from runner.session.chat import ask_once

        text = "version: 1\\nboard: {columns: {Work: {archetype: execution, agent: echo}}}"
        name = parse(text, home=None, installed=list_installed(Path("{home}"))).column("Work").agent
        folders = ("mirrors", "workspaces", "logs", "scenarios")
        paths = HostPaths(*(Path("{home}") / folder for folder in folders))
        answer = ask_once(name, "hello", model="", places=paths, timeout_s=20)
        print(answer.text, workspaces.backends_of(agents.load(name)))
        """,
        "hello ('docker', 'island', 'local')",
    ),
    "workspace backend": Sample(
        "runner/workspaces/backends/island.py",
        '''
        """An island: a workspace far from everything."""

        class Island:
            rank, runs_images = 0, True

            def problem(self):
                return ""

            def open(self, paths, tenancy):
                return f"the island of {tenancy.card_id}"

            def open_clean(self, paths, tenancy):
                return self.open(paths, tenancy)

            def leftovers(self, paths, alive):
                return ()

            def make_image(self, paths, tenancy, recipe, files, *, beat, say):
                return tenancy.image

            def end_claim(self, paths, run_id, generation):
                pass

            def cards(self, paths):
                return ()

        BACKEND = Island()
        ''',
        """
        import os
        from pathlib import Path
        from bot.runspec import policy_fields
        from bot.system import config
        from runner import agents, workspaces
        from runner.workspaces.contract import Tenancy

        for chosen in ("island", "auto"):
            name = policy_fields.workspace(config.read({**os.environ, "CARDINAL_WORKSPACE": chosen}, Path()))
            print(workspaces.load(name).open(None, Tenancy("c1")))
        print(workspaces.backends_of(agents.load("claude")))
        """,
        "the island of c1\nthe island of c1\n('docker', 'island')",
    ),
    "guard": Sample(
        "runner/guards/builtin/swearing.py",
        '''
        """Swearing: words that nobody wants in a commit message."""
        from runner.guards.contract import Breach

        FINDS, ACTION = "Swear words in commit messages", "ask"

        def find_breaches(change, rules):
            for one in change.messages:
                if "damn" in one.text:
                    yield Breach("", "swearing", "swears", "say it otherwise", one.commit)
        ''',
        """
        from bot.repo_config.profiles import rules_of
        from bot.runspec.policy_fields import guards_of
        from runner.guards.contract import Change, Message
        from runner.phases import guard

        change = Change("b", "h", (), (Message("h", "Mend the damn cart"),))
        for said in ("", "\\n  guardrails: {swearing: deny}"):
            said = f"version: 1\\nrepository:\\n  profile: none{said}"
            written = rules_of(None, "acme/shop", said, "", None)
            judge = vars(guard).get("violations") or guard.findings
            print(*((one.guard, one.action) for one in judge(change, guards_of(written.guardrails))))
        """,
        "('swearing', 'ask')\n('swearing', 'deny')",
    ),
    "rule": Sample(
        "rules/handlers/weather.py",
        '''
        """Rain: its effect on a card."""
        from ledger.events.weather import RainBegan
        from rules.answers import answers
        from rules.intents.outbound import Decision, Say

        @answers(RainBegan, changes_check=True)
        def take_umbrella(policy, snapshot, event, now):
            return Decision((Say(snapshot.card_id, "rain", f"Take an umbrella for {event.mm} mm."),))
        ''',
        """
        from ledger.events.weather import RainBegan
        from rules.decide import decide
        from tests.rules.scene import CARD, NOW, POLICY, card, pull

        decided = decide(POLICY, card(pull=pull()), RainBegan(CARD, 7), NOW)
        print(decided.intents[0].text, *(type(it).__name__ for it in decided.intents))
        """,
        "Take an umbrella for 7 mm. Say WriteCheck",
    ),
    "view": Sample(
        "ledger/views/rains.py",
        '''
        """The newest rain on each card."""
        from dataclasses import dataclass
        from sqlalchemy import Table
        from ledger.db.rows import columns, keep
        from ledger.db.tables import VIEWS
        from ledger.events.weather import RainBegan
        from ledger.fold import Fold

        @dataclass(frozen=True, slots=True)
        class RainRow:
            card_id: str
            mm: int

        rains = Table("view_rains", VIEWS, *columns(RainRow, "card_id"))
        fold = Fold()

        @fold.on(RainBegan)
        def _began(db, it, event):
            keep(db, rains, {"card_id": event.card_id}, {"mm": event.mm})
        ''',
        """
        from datetime import UTC, datetime
        from ledger.events.weather import RainBegan
        from ledger.lifecycle.open import open_ledger
        from ledger.lifecycle.rebuild import rebuild
        from ledger.log import event_store
        from ledger.views.rains import rains

        engine = open_ledger("sqlite:///{home}/ledger.db")
        with event_store.writing(engine) as db:
            event_store.append(db, RainBegan("c1", 7), at=datetime.now(UTC))
        print(rebuild(engine))
        with event_store.reading(engine) as db:
            print(*db.execute(rains.select()).all())
        """,
        "1\n('c1', 7)",
    ),
}
