"""The part of a policy file that belongs to one repository: its set-up, checks, limits and guardrails."""

import json
from hashlib import sha256
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, StringConstraints

from ledger.model.policy_settings import (
    Name,
    Names,
    PolicyModel,
    RepositoryLimits,
    SecretName,
    setting,
    whole_number,
)
from rules.policy import images
from rules.text import code

# What CI runs, infrastructure, authentication and payments, by the names that most repositories give them.
PROTECTED = (
    ".github/workflows/**",
    *("infra*", "terraform", "*.tf", "kubernetes", "k8s", "helm"),
    *("auth", "auth.*", "authentication*", "authorization*", "oauth*"),
    *("payment*", "billing", "billing.*"),
)
Line = Annotated[str, Field(min_length=1, max_length=2000)]
ImageName = Annotated[str, Field(max_length=images.MAX_CHARS), AfterValidator(images.fit_image)]
ProfileName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Lines = Annotated[tuple[Line, ...], Field(max_length=50)]
# Models take names of tools up to 64 characters, and agents put `mcp__board__` before them.
ServerName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,15}$")]
EnvironmentName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")]
Value = Annotated[str, Field(max_length=1000)]
Port = Annotated[int, Field(strict=True, ge=1, le=65_535)]
WritableFolder = Annotated[str, Field(pattern=r"^(/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}){1,8}$")]
ToolName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,34}$")]
MAX_PATHS = 50
ROOT = "."  # the repository's own folder
Folder = Annotated[str, StringConstraints(strip_whitespace=False, max_length=300)]
_APP_ADDRESS = r"^(?:http://(?:127\.0\.0\.1|localhost)(?::[0-9]{1,5})?(?:/[!-~]{0,300})?)?$"


def _host(text: str) -> str:
    if text in ("localhost", "cardinal"):
        raise ValueError(f"{code(text)} is the name of the agent's own container: use another")
    return text


def _zone(text: str) -> str:
    try:
        ZoneInfo(text)
    except (KeyError, ValueError, OSError) as error:  # a KeyError where nothing has that name
        raise ValueError(f"{code(text)} is not a time zone: use a name such as Europe/Berlin") from error
    return text


ServiceName = Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$"), AfterValidator(_host)]
TimeZone = Annotated[str, Field(max_length=60), AfterValidator(_zone)]


class Validation(PolicyModel):
    """The repository's own checks, run by the gate on the agent's work."""

    fast: Lines = setting((), "Shell lines to run after every iteration.")
    full: Lines = setting((), "Shell lines to run before the pull request is opened.")


def _checks(value: object) -> object:
    """Return None for `none`: nothing is checked, on purpose. An empty key is nobody's purpose."""
    if value is None:
        raise ValueError("is empty: add `fast` or `full`, or write none")
    if isinstance(value, str) and value != "none":
        raise ValueError("add `fast` or `full` checks, or write none")
    return None if value == "none" else value


def folder(written: str) -> str:
    """Return a folder as git names it: without the slash at its end."""
    return written.removesuffix("/")


class PathRules(PolicyModel):
    """A folder of a [monorepo](#monorepos), with checks for the files in it."""

    working_directory: Folder = setting(
        "", "Where its shell lines run, relative to the repository's root; by default in the folder itself."
    )
    setup: Lines = setting((), "Shell lines that prepare it, run after the repository's own.")
    validation: Validation = Field(description="Its checks, `fast` and `full`: at least one of them.")


class CommandGuard(PolicyModel):
    """Which commands an agent may not run."""

    deny: Lines = setting((), "Patterns of commands to refuse; `*` matches anything.")


Guarded = Literal["ask", "allow", "deny"]


class Guardrails(PolicyModel):
    """Changes that an agent must not make, looked for in every commit that is to be published.

    `ask` stops publishing until a person agrees to these very findings. `deny` gives them back to the agent
    once; if they are still there, the run fails.
    """

    model_config = ConfigDict(extra="allow")  # a key for each guard that is installed
    __pydantic_extra__: dict[str, Guarded] = Field(init=False)

    protect: Lines = setting(
        PROTECTED,
        "Path patterns of files that leave only with a person's approval; `**` matches across folders, and a "
        "pattern without a slash matches at any depth. Case and look-alike letters are ignored.",
    )
    allow: Lines = setting(
        (), "Path patterns of the only files that may change, matched exactly; if empty, all may."
    )
    max_file_kb: int = whole_number(1000, 1, 1_000_000, "Size in KB from which a file counts as large.")
    commands: CommandGuard = setting(CommandGuard(), "Commands to refuse.")

    @property
    def actions(self) -> dict[str, Guarded]:
        """Actions on violations by guard, for the guards that the file names."""
        return self.__pydantic_extra__


class Skills(PolicyModel):
    """Which skills are given to a run."""

    default: Names = setting((), "Skills for every card, in order.")
    labels: Annotated[dict[Name, Names], Field(max_length=100)] = setting(
        {}, "Skills for cards with a label."
    )


class Reproduction(PolicyModel):
    """How a card's [steps](reproduction.md) are played in a browser against the repository's own app.

    Where `start` or `address` is not said, a built-in profile's own counts.
    """

    start: Annotated[str, Field(max_length=2000)] = setting(
        "", "The shell line that starts the app in a clean checkout, after `setup`."
    )
    address: Annotated[str, Field(pattern=_APP_ADDRESS)] = setting(
        "", "Where the app then listens: `http://127.0.0.1:…/`, or `localhost`."
    )
    ready_s: int = whole_number(60, 1, 600, "Seconds within which it must answer there.")
    minutes: int = whole_number(5, 1, 30, "Limits of one reproduction, including set-up.")
    image: ImageName = setting(
        images.BROWSER_IMAGE, "The container [image](sandbox.md#your-own-image), with the browser in it."
    )


class McpServer(PolicyModel):
    """A [tool server](instructions.md#tool-servers) for the agent, in a container of its own."""

    command: Annotated[Lines, Field(min_length=1)] = Field(
        description="Its program and arguments; it speaks MCP on standard input and output."
    )
    image: ImageName = setting(
        "",
        "The container [image](sandbox.md#your-own-image), which the engine must have; by default the "
        "workspace's.",
    )
    tools: Annotated[tuple[ToolName, ...], Field(min_length=1, max_length=30)] = Field(
        description="The tools agents may call. They see no others."
    )
    network: Lines = setting((), "Host names it may reach through Cardinal's proxy; none if empty.")
    repository: Literal["none", "read"] = setting(
        "none",
        "`read` starts it in the default branch, with read access to the agent's files on another path.",
    )
    secrets: Annotated[tuple[SecretName, ...], Field(max_length=20)] = setting(
        (), "Names of [secrets](instructions.md#secrets) that the operator provides, in its environment."
    )


class Service(PolicyModel):
    """A [service](sandbox.md#services) beside the agent and, another one, beside the gate."""

    image: ImageName = Field(
        description="Its container [image](sandbox.md#your-own-image), which the engine must have."
    )
    command: Lines = setting((), "What the image is started with, in place of its own command.")
    environment: Annotated[dict[EnvironmentName, Value], Field(max_length=50)] = setting(
        {}, "Its environment. Anyone who can read the policy can read it."
    )
    ports: Annotated[tuple[Port, ...], Field(max_length=10)] = setting(
        (), "The TCP ports to reach it on; by default those that the image exposes."
    )
    health: Annotated[str, Field(max_length=2000)] = setting(
        "", "A shell line inside it that succeeds once it is ready; by default its ports must be open."
    )
    writable: Annotated[tuple[WritableFolder, ...], Field(max_length=10)] = setting(
        (), "Folders that it may write to, besides the image's volumes, `/tmp` and `/run`; all in memory."
    )
    memory_mb: int = whole_number(1024, 64, 16_384, "Its memory, with everything that it stores.")


def _service(written: object) -> object:
    """Return the long form of a service that is only the name of its image."""
    return {"image": written} if isinstance(written, str) else written


class Commits(PolicyModel):
    """How the commits that Cardinal writes are made."""

    sign: Literal["none", "ssh", "github"] = setting(
        "none",
        "Who signs them if a rule requires verified commits: `github`, which recreates them as the "
        "App's; `ssh`, with the operator's key (`CARDINAL_SIGNING_KEY`); or `none`.",
    )


GUIDES = ("AGENTS.md", "CLAUDE.md")


class RepositoryRules(PolicyModel):
    """The `repository:` part, read from each card's own repository."""

    profile: ProfileName = setting(
        "none", "How people work in such a repository: a built-in profile, one of its own, or `none`."
    )
    guides: Annotated[tuple[Literal["AGENTS.md", "CLAUDE.md"], ...], Field(max_length=2)] = setting(
        (),
        "Which of `AGENTS.md` and `CLAUDE.md` agents are given, from the root of the default branch; "
        "neither if empty.",
    )
    image: ImageName = setting(
        images.IMAGE,
        "The workspace's container image: one that the operator [lists](sandbox.md#your-own-image).",
    )
    setup: Lines = setting((), "Shell lines that prepare a fresh workspace.")
    validation: Annotated[
        Validation | None, BeforeValidator(_checks, json_schema_input_type=Validation | Literal["none"])
    ] = setting(
        Validation(),
        "The repository's [checks](#validation), `fast` and `full`; or `none`: nothing is checked, and "
        "every pull request says so. Without this key, a run ends before its agent starts.",
    )
    paths: Annotated[dict[Folder, PathRules], Field(max_length=MAX_PATHS)] = setting(
        {}, "Folders of a [monorepo](#monorepos) with their own checks; a file belongs to the deepest one."
    )
    limits: RepositoryLimits = setting(RepositoryLimits(), "How far one run may go.")
    guardrails: Guardrails = setting(Guardrails(), "Files an agent must leave alone.")
    commits: Commits = setting(Commits(), "Whether [commits](#commits) are signed.")
    skills: Skills = setting(Skills(), "Skills by default and by label.")
    reproduction: Reproduction | None = setting(
        None,
        "How a card's [steps](reproduction.md) are played in a browser, with `start` and `address`; by "
        "default only when a run is asked to, with `--repro`.",
    )
    services: Annotated[
        dict[
            ServiceName,
            Annotated[Service, BeforeValidator(_service, json_schema_input_type=Service | ImageName)],
        ],
        Field(max_length=5),
    ] = setting(
        {}, "[Services](sandbox.md#services) by name, such as `db: postgres:16`, or with the keys below."
    )
    mcp: Annotated[dict[ServerName, McpServer], Field(max_length=10)] = setting(
        {}, "[Tool servers](instructions.md#tool-servers) by name."
    )

    @property
    def images(self) -> dict[str, str]:
        """The images that the file names or implies, by the dotted names of their keys."""
        named = {"image": self.image} | {f"mcp.{name}.image": it.image for name, it in self.mcp.items()}
        named |= {f"services.{name}.image": it.image for name, it in self.services.items()}
        if self.reproduction is not None:
            named["reproduction.image"] = self.reproduction.image
        return {key: image for key, image in named.items() if image}

    @property
    def definition(self) -> str:
        """The SHA-256 of the checks: the lines of setup, fast and full, or none, and paths."""
        checks = self.validation
        lines: object = None if checks is None else [self.setup, checks.fast, checks.full]
        if self.paths:
            paths = [[name, path.model_dump(mode="json")] for name, path in self.paths.items()]
            lines = [lines, self.setup, paths]
        return sha256(json.dumps(lines).encode()).hexdigest()

    @property
    def waived(self) -> bool:
        """Whether nothing is checked because the file says so."""
        return self.validation is None

    @property
    def checked(self) -> bool:
        return self.validation is not None and bool(self.validation.fast or self.validation.full)
