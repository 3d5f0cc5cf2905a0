"""What is made from the code: the reference pages, each whole, and two files for programs."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from functools import partial
from pathlib import Path

from bot.repo_config import recipes
from docs._make import (
    agents,
    api,
    benchmark,
    cheats,
    design,
    doctor,
    faults,
    forge,
    mcp,
    parts,
    peer,
    policy,
    reference,
    rooms,
    states,
    tables,
)

ROOT = Path(__file__).parents[2]
OPERATIONS = ROOT / "bot/web/api/operations.json"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a reference page: its heading, empty if it is the only one, and what makes its text."""

    heading: str
    make: Callable[[], str]


@dataclass(frozen=True, slots=True)
class ReferencePage:
    """A page of `docs/reference/`: its title, a sentence for the reader, and its sections."""

    title: str
    about: str
    sections: tuple[Section, ...]

    def text(self) -> str:
        """Return the whole page."""
        parts = [NOTE, f"# {self.title}", self.about]
        for section in self.sections:
            parts += [*filter(None, (section.heading and f"## {section.heading}",)), section.make().strip()]
        return "\n\n".join(parts) + "\n"


NOTE = "<!-- made by scripts/docs from the code: do not edit -->"
REFERENCE: Mapping[str, ReferencePage] = {
    "agents": ReferencePage(
        "Agents, board tools, personas and profiles",
        "[Agents](../agents.md), [the sandbox](../sandbox.md) and [instructions](../instructions.md) explain "
        "them.",
        (
            Section("Agents", agents.table),
            Section("A story of each", agents.story),
            Section("Board tools", agents.tools),
            Section("Personas", policy.personas),
            Section("Profiles", policy.profiles),
            Section("Steps of a scenario", agents.steps),
        ),
    ),
    "api": ReferencePage(
        "Operations of the API, and tools of the MCP server",
        "[The API](../api.md) and [the MCP server](../mcp.md) explain how to call them.",
        (Section("Operations", api.operations), Section("Tools", mcp.tools)),
    ),
    "benchmark": ReferencePage(
        "Figures of the benchmark",
        "[The benchmark](../benchmark.md) says what is measured and how to read it.",
        (Section("Figures", benchmark.table), Section("Boards at rest", benchmark.boards)),
    ),
    "cheats": ReferencePage(
        "Cheats and what stops them",
        "Each has a test, with the built-in policy unless it says otherwise. "
        "[Security](../security.md#what-nothing-stops) says what nothing stops.",
        (Section("", cheats.table),),
    ),
    "cli": ReferencePage(
        "The command line",
        "The help of every command, as `cardinal help COMMAND` prints it. "
        "[Operating](../operating.md#the-command-line) says what all of them share.",
        (Section("", reference.cli),),
    ),
    "commands": ReferencePage(
        "Slash commands",
        "[How to write them](../commands.md).",
        (Section("", reference.commands),),
    ),
    "design": ReferencePage(
        "Tokens, states and parts of the pages",
        "[Pages for people](../pages.md#the-design) says how they are used.",
        (
            Section("Tokens", design.table),
            Section("States", design.states),
            Section("Parts", design.components),
            Section("Macros and icons", design.parts),
        ),
    ),
    "doctor": ReferencePage(
        "What the doctor asks, and what the engine says",
        "[Troubleshooting](../troubleshooting.md) says what to do.",
        (Section("Questions", doctor.table), Section("Engine", agents.troubles)),
    ),
    "events": ReferencePage(
        "Events",
        "Every kind of event by family, with its fields. "
        "[Runs and cards](../runs.md#the-event-log) says how the log works.",
        (Section("", reference.events),),
    ),
    "faults": ReferencePage(
        "Every fault, at every point",
        "A story is played once in peace. Each commit and each call in it is a point, and each fault at a "
        "point a cell. After the fault new processes start, and the story must end as the quiet one did: "
        "cards, moves and who made them, merges, branches, checks, money to the cent (work that a power cut "
        "took is paid again), each comment once and with the same words, the hash chain whole, views equal "
        "to their replay, and nothing stuck. CI plays "
        "one cell of each class (the same site, act, events and fault), but for those that only a story "
        "reaches which takes long: `work`, `lane`, `findings`, `stages`, `scratch`, `choice`, `hosts`, "
        "`epic`, `boards`. A week of nightly soaks plays all cells, and a second kill in the recovery "
        "from whatever reached GitHub. `scripts/faults --list` prints every cell, and "
        "`scripts/faults CELL` plays one. A program repeats its call, with the same key, until it is "
        "answered.",
        (
            Section("Points and faults", faults.kinds),
            Section("Stories", faults.stories),
            Section("Found and mended", faults.found),
            Section("Repairs, taken out one at a time", faults.repairs),
            Section("Rules of the forge, taken out one at a time", faults.forge_rules),
            Section("Sites", faults.sites),
        ),
    ),
    "github": ReferencePage(
        "Where a peer and the forge differ from GitHub",
        "[A second opinion on GitHub](../peer.md) says how this is tested.",
        (
            Section("The peer `emulate`", peer.divergences),
            Section("The forge", forge.differences),
        ),
    ),
    "parts": ReferencePage(
        "Parts, rooms and tables",
        "[Where a new thing goes](../adding-a-part.md) and [the architecture](../architecture.md) explain "
        "them.",
        (
            Section("Parts", parts.table),
            Section("Rooms", rooms.tree),
            Section("Tables that are not folded from events", tables.bounds),
        ),
    ),
    "policy-keys": ReferencePage(
        "Keys and actions of the policy",
        "[The policy file](../policy.md) explains what the keys are for.",
        (
            Section("Keys", policy.keys),
            Section("Actions", policy.actions),
            Section("The built-in board", policy.default),
        ),
    ),
    "settings": ReferencePage(
        "Settings",
        "Settings come from the environment, and from the file `env` in the home; the environment wins. An "
        "unknown `CARDINAL_*` name is an error. Secrets are never printed.",
        (Section("", reference.settings),),
    ),
    "states": ReferencePage(
        "States of runs and cards",
        "[Runs and cards](../runs.md) says what they mean.",
        (Section("Runs", states.run), Section("Cards", states.card)),
    ),
}


def _recipe_page(name: str) -> str:
    """Return the page of a recipe as it is, with the recipe's own policy file on it."""
    text = (ROOT / f"docs/recipes/{name}.md").read_text(encoding="utf-8")
    policy = recipes.read_recipe(name).partition("\n")[2]
    # A function, so that a backslash in the policy stays one.
    return re.sub(r"(?<=^```yaml\n)version: .*?(?=^```$)", lambda _: policy, text, count=1, flags=re.M | re.S)


FILES: Mapping[Path, Callable[[], str]] = {
    OPERATIONS: api.requests,
    ROOT / "bot/cli/commands.json": reference.described_commands,  # before the page that is made from it
    **{ROOT / f"docs/reference/{name}.md": page.text for name, page in REFERENCE.items()},
    **{ROOT / f"docs/recipes/{name}.md": partial(_recipe_page, name) for name in recipes.list_recipes()},
}


def pages() -> tuple[Path, ...]:
    """Return every page of the documentation, the ones in the top folder as well."""
    return (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))


def stale() -> Iterator[tuple[Path, str, str]]:
    """Yield the files that differ from what the code makes, each with its text and the one it should have."""
    for file, make in FILES.items():
        text, fresh = file.read_text(encoding="utf-8") if file.exists() else "", make()
        if fresh != text:
            yield file, text, fresh


def differences() -> Iterator[str]:
    """Yield the lines by which stale files differ from what they should be, as a unified diff."""
    for file, text, fresh in stale():
        yield from unified_diff(
            text.splitlines(),
            fresh.splitlines(),
            str(file.relative_to(ROOT)),
            "from the code",
            lineterm="",
            n=0,
        )


def write() -> tuple[Path, ...]:
    """Bring every stale file up to date; return which."""
    changed = tuple(stale())
    for file, _, fresh in changed:
        file.parent.mkdir(exist_ok=True)
        file.write_text(fresh, encoding="utf-8")
    return tuple(file for file, _, _ in changed)
