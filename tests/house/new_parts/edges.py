"""New parts of bot, and a new event family."""

from tests.house.new_parts import Sample

SAMPLES = {
    "webhook event": Sample(
        "bot/ingest/events/star.py",
        '''
        """Somebody likes the repository."""
        from dataclasses import dataclass
        from bot.ingest.events._payload import login
        from bot.ingest.facts import Fact

        SUBJECT = ("starred_at",)

        @dataclass(frozen=True, slots=True)
        class Starred(Fact):
            by: str

            def resolve(self, services, resolution):
                resolution.makers.append(lambda _: (self.by,))

        def read(payload, *, bot_id):
            return (Starred(login(payload, "sender")),)
        ''',
        """
        from bot.ingest import events
        from bot.ingest.resolve import resolve

        facts = events.read("star", {"starred_at": "now", "sender": {"login": "alice"}}, bot_id=1)
        print("star" in events.list_subscribed(), *(make(None) for make in resolve(None, facts).makers))
        """,
        "True ('alice',)",
    ),
    "outward act": Sample(
        "bot/outbox/handlers/wave.py",
        '''
        """Waves at somebody."""
        from dataclasses import dataclass
        from bot.outbox.contract import *
        from rules.intents.outbound import Intent

        @dataclass(frozen=True, slots=True)
        class Wave(Intent):
            at: str

        ACT = Act("wave:{at}")

        def carry_out(context, intent, entry):
            print(f"waves at {intent.at}")
        ''',
        """
        from datetime import UTC, datetime
        from types import SimpleNamespace
        from bot.outbox import handlers
        from bot.outbox.handlers.wave import Wave

        draft = handlers.draft(Wave("c1", "bob"), datetime.now(UTC), None)
        print(draft.key, draft.lane, draft.priority)
        handlers.ACTS.load(draft.act).carry_out(None, handlers.intent_of(draft), draft)
        """,
        "wave:bob github 1\nwaves at bob",
    ),
    "doctor check": Sample(
        "bot/admin/doctor/weather.py",
        '''
        """Is the weather good?"""
        from bot.admin.doctor import CheckResult
        from ledger.queue.examinations import Level

        def sun(context):
            """Does the sun shine?"""
            yield CheckResult("weather", Level.WARN, "it rains", "take an umbrella", "weather")

        CHECKS = (sun,)
        REPAIRS = {"weather": lambda context: "the sun shines"}
        ''',
        """
        from bot.admin.doctor import checks, examine, mend
        from bot.admin.doctor.weather import sun

        print(checks()[-1] is sun)
        print(*mend(None, sun(None)))
        from bot.cli import main
        main(["doctor", "--fix"])
        """,
        "fixed the sun shines",
    ),
    "front-end": Sample(
        "bot/frontends/pigeon.py",
        '''
        """Carrier pigeons."""
        from bot.frontends import PersonReply

        SCHEMES = ("pigeon:",)

        def send_notice(config, address, notice):
            print(f"to {address}: {notice.text}")
            return True

        def knows_repeats(address):
            return False

        def read(config, people, raw, now):
            return PersonReply("alice", "r1", raw.decode(), "1")
        ''',
        """
        from datetime import UTC, datetime
        from bot.cli.receive import command
        from bot.frontends import FRONT_ENDS, NewsItem, Notice, front_end_of

        now = datetime.now(UTC)
        pigeon = front_end_of("pigeon:alice")
        pigeon.send_notice(None, "pigeon:alice", Notice("k", now, "News", "alice", (NewsItem("Coo", {}, "http://a"),)))
        print(pigeon.read(None, {}, b"Cents", now).words, *command.params[0].type.choices)
        """,
        "to pigeon:alice: Coo http://a\nCents mail pigeon",
    ),
    "web page": Sample(
        "bot/web/pages/hello.py",
        '''
        """A greeting."""

        def mount(site):
            site.blueprint.add_url_rule("/hello", "hello", lambda: "Hello.")
        ''',
        """
        from pathlib import Path
        from flask import Flask
        from bot.system import config
        from bot.web.pages import pages

        app = Flask("bot.web.app")
        app.register_blueprint(pages(config.read({}, Path("{home}")), None, lambda: None))
        print(app.test_client().get("/hello").text)
        """,
        "Hello.",
    ),
    "operation of the API": Sample(
        "bot/web/api/operations/count_letters.py",
        '''
        """Count letters."""
        from bot.web.api.operation import ApiModel

        PATH = "/letters/{word}"

        class Word(ApiModel):
            word: str

        class Letters(ApiModel):
            letters: int

        Input, Output = Word, Letters

        def run(call, given):
            return Letters(letters=len(given.word))
        ''',
        """
        from bot.web.api import description
        from bot.web.api.operation import OPERATIONS

        paths = description.document()["paths"]
        part = OPERATIONS.load("count_letters")
        print(paths["/letters/{word}"]["get"]["summary"], part.run(None, part.Input(word="abc")).letters)
        """,
        "Count letters. 3",
    ),
    "command-line command": Sample(
        "bot/cli/say_hello.py",
        '''
        """Say hello."""
        import click

        @click.command("say-hello")
        def command():
            """Say hello."""
            click.echo("Hello.")
        ''',
        """
        from bot.cli import main

        main(["--help"], standalone_mode=False)
        main(["say-hello"])
        """,
        "Hello.",
    ),
    "event family": Sample(
        "ledger/events/weather.py",
        '''
        """What the weather is like."""
        from dataclasses import dataclass
        from ledger.event import Zoom
        from ledger.events.board import CardEvent

        @dataclass(frozen=True, slots=True)
        class RainBegan(
            CardEvent, zoom=Zoom.CONVERSATION, line="{mm} mm of rain", is_audited=True, section="weather"
        ):
            mm: int
        ''',
        """
        from datetime import UTC, datetime
        from bot.admin.audit import markdown, trail
        from bot.cli.watch import KINDS
        from bot.web.api.operations import follow_events
        from ledger import codec
        from ledger.event import Zoom
        from ledger.lifecycle.open import open_ledger
        from ledger.log import event_store
        from ledger.queries import run_lines, timeline
        from tests.ledger.samples import board_seen, card_seen, run_queued

        rain, now = codec.kinds()["RainBegan"]("PVTI_1", 7), datetime.now(UTC)
        with event_store.writing(open_ledger("sqlite:///{home}/ledger.db")) as db:
            event_store.append(db, board_seen(), card_seen(), run_queued(), rain, at=now)
            print(codec.decode(*codec.encode(rain)), event_store.last_seq(db))
            print(timeline.of_card(db, "PVTI_1", Zoom.CONVERSATION)[-1].text)
            document = trail.make_trail(db, "r1", at=now)
        print(document["summary"]["weather"][0]["mm"], "## Weather" in markdown.write(document))
        print(*("RainBegan" in kinds for kinds in (KINDS.choices, follow_events.KINDS, run_lines.KINDS)))
        """,
        "RainBegan(card_id='PVTI_1', mm=7) 4\n7 mm of rain\n7 True\nTrue True True",
    ),
}
