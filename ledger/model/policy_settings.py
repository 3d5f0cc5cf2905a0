"""Settings of the policy file that a run carries as they are: one class for people, rules and runner."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

MAX_NAME = 100
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Names = Annotated[tuple[Name, ...], Field(max_length=50)]
# `format` says to forms and to a rename which texts name a column.
ColumnName = Annotated[Name, Field(json_schema_extra={"format": "column"})]
EFFORTS = ("low", "medium", "high")
Effort = Literal["low", "medium", "high"]  # of a model's reasoning
SecretName = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]{0,59}$")]
_NAME = r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?(:[1-9][0-9]{0,4})?$"
_HEADER = r"^[A-Za-z][A-Za-z0-9-]{0,59}$"
# They frame a message, or speak about its connection.
_FRAMING = frozenset(
    {
        *("accept-encoding", "connection", "content-length", "expect", "host", "http2-settings"),
        *("if-range", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"),
        *("range", "te", "trailer", "transfer-encoding", "upgrade"),
    }
)


class PolicyModel(BaseModel):
    """The base of all that people write into a policy file: unknown keys are errors."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        str_strip_whitespace=True,
        field_title_generator=lambda name, _: name.replace("_", " ").capitalize().replace(" mb", " (MB)"),
    )


def setting(default: Any, description: str, title: str | None = None) -> Any:
    """Return the field of a key that may be left out. `title`: its name in a form, by default the key's."""
    return Field(default=default, description=description, title=title)


def whole_number(default: int, least: int, most: int, description: str, title: str | None = None) -> Any:
    """Return the field of a whole number from `least` to `most`."""
    return Field(default=default, strict=True, ge=least, le=most, description=description, title=title)


def positive(default: float, most: float, description: str, title: str | None = None) -> Any:
    """Return the field of a number above zero, at most `most`."""
    return Field(default=default, strict=True, gt=0, le=most, description=description, title=title)


class Resources(PolicyModel):
    """How much of the machine one container of a run may use."""

    memory_mb: int = whole_number(
        4096, 64, 1_000_000, "Megabytes of memory; the kernel stops a run that uses more."
    )
    cpus: float = Field(default=2.0, gt=0, le=256, description="Processor cores.")
    processes: int = whole_number(512, 16, 100_000, "Processes and threads at once.")
    disk_mb: int = whole_number(8192, 64, 10_000_000, "Megabytes the workspace may use.")
    files: int = whole_number(
        500_000, 1000, 100_000_000, "Files and folders the workspace may contain, including empty ones."
    )
    open_files: int = whole_number(8192, 64, 1_000_000, "Files a program may have open at once.")


class Pipelines(PolicyModel):
    """How far one run may make and link cards by itself."""

    cards: int = whole_number(5, 0, 100, "Cards one run may create; beyond that, the card says so once.")
    links: int = whole_number(
        10, 0, 100, "Cards one run may link to its own; beyond that, the card says so once."
    )
    depth: int = whole_number(
        2,
        0,
        8,
        "How many levels deep cards may create cards: with 1, only runs of cards that people created "
        "can create more.",
    )
    columns: Annotated[tuple[ColumnName, ...], Field(max_length=50)] = setting(
        (),
        "Columns where they may put new cards, on behalf of whoever requested the run. In an execution "
        "column that starts a run, as a drag would. All other cards go to the inbox.",
    )
    start: bool = setting(False, "Whether they may start a run on a new card in their own column.")
    skills: Names = setting((), "[Skills](instructions.md#skills) they may pin to new cards.")


class RepositoryLimits(PolicyModel):
    """How far one run may go in this repository."""

    iterations: int = whole_number(5, 1, 50, "Rounds of edit and check in one run.")
    full_runs: int = whole_number(3, 1, 20, "Runs of the full checks in one run.")
    files_changed: int = whole_number(40, 1, 10_000, "Files that a pull request may change.")
    lines_changed: int = whole_number(1500, 1, 1_000_000, "Lines that a pull request may add and remove.")
    same_failures: int = whole_number(
        3,
        2,
        50,
        "Consecutive rounds that may fail in the same way before the run asks a person. The key with "
        "the same name under `board:` counts cards that fail together.",
    )


class HostSecret(PolicyModel):
    """A secret of the operator's for one host, added outside the agent's reach."""

    name: SecretName = Field(description="Its name in the operator's file.")
    host: Annotated[str, Field(pattern=_NAME, max_length=259)] = Field(
        description="The only host that receives it, over https; `host:port` if the port is not 443."
    )
    header: Annotated[str, Field(pattern=_HEADER)] = setting("Authorization", "The header it is sent in.")
    format: Annotated[str, Field(pattern=r"^[!-~ ]*\{\}[!-~ ]*$", max_length=200)] = setting(
        "Bearer {}", "The header's text; `{}` stands for the secret."
    )

    @field_validator("header")
    @classmethod
    def _no_framing(cls, header: str) -> str:
        if header.lower() in _FRAMING:
            raise ValueError("this header frames the request: it cannot carry a secret")
        return header
