"""Operator's settings: `CARDINAL_*` variables and the file `.cardinal/env`, read once, frozen.

A variable of the environment wins over the same line in the file. Each field of `Config` is the variable of
its name in capitals: `port` is `CARDINAL_PORT`.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from bot.system.env_file import ENV_FILE, OWN_AGENTS, PREFIX, ForeignHomeError, read_lines, read_settings
from bot.system.github_address import GITHUB_API, api_root, web_root
from bot.system.secret import Secret
from bot.system.setting_types import (
    MAIL_REPLIES,
    WAYS,
    Address,
    BoardAddress,
    LabelName,
    LogFormat,
    LogLevel,
    MailAddress,
    Network,
    OptionalAddress,
    RepositoryName,
    SignInWay,
    as_board,
    as_networks,
    as_prices,
    as_words,
    as_workspace,
    leads_out,
    problems_of_mail,
    problems_of_payment,
    problems_of_sign_in,
    resolve_paths,
)
from ledger.errors import CardinalError
from runner.run.provider import USUAL, TokenPrice

TEST_PREFIX = "CARDINAL_TEST_"  # addresses of services for the tests: not settings of Cardinal


class ConfigError(CardinalError):
    """The settings are wrong or incomplete; `problems` has one sentence for each."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid", hide_input_in_errors=True))
class Config:
    """All settings. Those of GitHub may be empty: commands call `require_github` or another."""

    home: Path = Field(description="The folder for all state; by default `.cardinal` here.")
    database_url: str = Field(
        repr=False, description="The ledger's database; by default SQLite at `data/ledger.db` in the home."
    )
    scenarios: Path = Field(
        description="The folder with the scripted agent's scenarios; by default `scenarios` in the home."
    )
    skills: Path | None = Field(
        None,
        description="The folder with the operator's private skills and personas, read when a run starts.",
    )
    redis_url: str | None = Field(
        None, repr=False, description="The Redis to use; by default Cardinal starts its own."
    )
    github_url: Address = Field(
        GITHUB_API, description="GitHub: the root of its API, or the https address of an Enterprise Server."
    )
    git_url: Address = Field(
        web_root(GITHUB_API), description="The root of git's and pages' addresses; follows `github_url`."
    )
    app_id: int = Field(0, ge=0, description="The GitHub App's id; 0 if it is not registered yet.")
    private_key: Secret = Field(
        Secret(),
        description="The App's private key: PEM text, or the path of a PEM file, in the env file relative "
        "to the home.",
    )
    webhook_secret: Secret = Field(
        Secret(), description="The secret that signs webhooks, the same as in the App's settings."
    )
    webhooks: bool = Field(
        True,
        description="Whether GitHub sends webhooks here; with `false`, Cardinal reads the board instead.",
    )
    public_url: Annotated[str, StringConstraints(pattern=r"^(https?://[^\s/?#@\\]+)?$")] = Field(
        "",
        description="The address at which browsers reach Cardinal's pages, without a path; no pages if "
        "unset.",
    )
    client_id: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{0,100}$")] = Field(
        "", description="The App's client id, for signing in on the pages."
    )
    client_secret: Secret = Field(Secret(), description="The App's client secret, for the same.")
    sign_in: SignInWay = Field(
        "github",
        description="Where people sign in for the pages: at `github`, at a company's `proxy` in front of "
        "Cardinal, or at its OpenID provider, `oidc`.",
    )
    sign_in_header: Annotated[str, StringConstraints(pattern=r"^([A-Za-z][A-Za-z0-9-]{0,60})?$")] = Field(
        "",
        description="The header in which the proxy says who it is, such as `X-Auth-Request-User`. The proxy "
        "must set or remove it in every request.",
    )
    sign_in_from: Annotated[tuple[Network, ...], BeforeValidator(as_networks)] = Field(
        (), description="The proxy's addresses or networks, separated by commas; others' headers are ignored."
    )
    sign_in_logins: Path | None = Field(
        None,
        description="A file that says which GitHub account each person has: lines such as "
        "`ann@example.com = ann-gh`. Nobody else may sign in, use a token, or be told and answer "
        "outside GitHub. By default the name is the login.",
    )
    oidc_issuer: Annotated[str, StringConstraints(pattern=r"^(https?://[^\s?#@]+)?$")] = Field(
        "", description="The OpenID provider's issuer, exactly as its configuration says it."
    )
    oidc_client_id: Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{0,300}$")] = Field(
        "", description="Cardinal's client id there; its redirect address is `/sign-in/oidc` of the pages."
    )
    oidc_client_secret: Secret = Field(Secret(), description="Cardinal's client secret there.")
    oidc_claim: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_:/.-]{1,200}$")] = Field(
        "preferred_username",
        description="The claim of the ID token that says who it is; `email` counts only if it is verified.",
    )
    board: Annotated[BoardAddress, BeforeValidator(as_board)] = Field(
        BoardAddress(),
        description="The board: its owner (an organisation, or a person) and its number, `acme/1`.",
    )
    policy_repository: RepositoryName = Field(
        "", description="The repository of the board's policy file; `acme/board` if unset."
    )
    host: str = Field("127.0.0.1", min_length=1, description="The address to listen on.")
    port: int = Field(8484, ge=0, le=65535, description="The port to listen on; 0 picks a free one.")
    web_processes: int = Field(
        1, ge=1, le=16, description="How many processes receive deliveries and serve pages, on the same port."
    )
    host_name: Annotated[str, StringConstraints(pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]{0,62})?$")] = Field(
        "", description="This host's name among those of one ledger; by default created once for the home."
    )
    labels: Annotated[tuple[LabelName, ...], BeforeValidator(as_words)] = Field(
        (), description="Labels of this host, which a column's `runs_on` can require; separated by commas."
    )
    run_workers: int = Field(2, ge=1, le=64, description="How many runs work on this machine at once.")
    tick_s: float = Field(0.5, ge=0.05, le=60, description="Seconds between ticks; twice that when idle.")
    lease_s: float = Field(15, ge=1, le=600, description="Seconds of silence until a worker loses its run.")
    checkpoint_s: float = Field(
        120,
        ge=1,
        le=86400,
        description="Seconds between checkpoints in the store while an agent works.",
    )
    sweep_s: float = Field(
        60, ge=1, le=86400, description="Seconds between comparisons of the board with GitHub."
    )
    debounce_s: float = Field(
        3, ge=0, le=300, description="Seconds of quiet before the planning assistant replies."
    )
    progress_every_s: float = Field(
        5,
        ge=0,
        le=600,
        description="Minimum seconds between edits for mere progress, of a comment or a card's fields.",
    )
    workspace: Annotated[str, BeforeValidator(as_workspace)] = Field(
        "auto",
        description="Where agents work: `docker`, `local`, or `auto`, which is docker if an engine answers.",
    )
    anthropic_key: Secret = Field(
        Secret(), description="The key for Anthropic's API; only a run's gateway gets it."
    )
    anthropic_url: Address = Field("https://api.anthropic.com", description="The root of Anthropic's API.")
    subscription_token: Secret = Field(
        Secret(),
        description="The token of a Claude subscription, as `claude setup-token` prints it, for Claude "
        "Code only; only a run's gateway gets it.",
    )
    allow_subscription: bool = Field(
        False,
        description="Confirms that the subscription is yours, you know its terms, and runs may use it up. "
        "Required for its token.",
    )
    vertex_project: Annotated[str, StringConstraints(pattern=r"^[a-z0-9.:-]{0,60}$")] = Field(
        "", description="The Google Cloud project that pays for Claude on Vertex AI, instead of Anthropic."
    )
    vertex_region: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{2,40}$")] = Field(
        "global", description="Where Vertex AI answers: `global`, `eu`, `us`, or a region."
    )
    vertex_credentials: Secret = Field(
        Secret(),
        description="A service account's key, or what `gcloud auth application-default login` writes: the "
        "JSON, or the path of its file, in the env file relative to the home. Only a run's "
        "gateway gets it.",
    )
    vertex_url: OptionalAddress = Field("", description="The root of Vertex AI's API; by default Google's.")
    bedrock_region: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{0,40}$")] = Field(
        "", description="The region of Amazon Bedrock, if it pays for Claude instead of Anthropic."
    )
    bedrock_profile: Annotated[str, StringConstraints(pattern=r"^[a-z-]{0,20}$")] = Field(
        "",
        description="The inference profile that model names begin with, which says where requests may go: "
        "`eu`, `us`, `global`, …",
    )
    bedrock_access_key: Annotated[str, StringConstraints(pattern=r"^[^\s]{0,200}$")] = Field(
        "", repr=False, description="The access key for Bedrock; by default the machine's role."
    )
    bedrock_secret_key: Secret = Field(
        Secret(), description="The secret of that access key; only a run's gateway gets it."
    )
    bedrock_url: OptionalAddress = Field("", description="The root of Bedrock's API; by default Amazon's.")
    openai_key: Secret = Field(
        Secret(), description="The key for OpenAI's API; only a run's gateway gets it."
    )
    openai_url: Address = Field("https://api.openai.com", description="The root of OpenAI's API.")
    compatible_key: Secret = Field(
        Secret(), description="The key for another provider that speaks OpenAI's Chat Completions."
    )
    compatible_url: OptionalAddress = Field("", description="The root of that provider's API.")
    gemini_key: Secret = Field(
        Secret(), description="The key for Google's Gemini API; only a run's gateway gets it."
    )
    gemini_url: Address = Field(
        "https://generativelanguage.googleapis.com", description="The root of the Gemini API."
    )
    prices: Annotated[tuple[TokenPrice, ...], BeforeValidator(as_prices)] = Field(
        (),
        description="Prices of models, in dollars per million tokens of input and output: "
        "`my-model=0.60/2.50`; separated by commas. They override the price list.",
    )
    share_with_owners: bool = Field(
        False,
        description="Whether boards of other owners than the first board's may use these keys and "
        "`CARDINAL_SKILLS`; by default they use `keys/<owner>.env` and `skills/<owner>/` in the home.",
    )
    private_hosts: Annotated[tuple[str, ...], BeforeValidator(as_words)] = Field(
        (), description="Hosts that may have private addresses, if a policy lists them; separated by commas."
    )
    runtime: Annotated[str, StringConstraints(pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]{0,99})?$")] = Field(
        "",
        description="The Docker engine's runtime for all containers of runs, such as gVisor's `runsc`; the "
        "engine's own by default.",
    )
    packages: Path | None = Field(
        None,
        description="The file that says what is installed in a clone on this machine, for checks without "
        "containers; `cardinal try` writes it.",
    )
    allow_unsandboxed: bool = Field(
        False, description="Let agents run without a sandbox if bubblewrap is missing. Dangerous."
    )
    signing_key: Path | None = Field(
        None,
        description="The private SSH key, without a passphrase, that signs commits if a policy says "
        "`commits: {sign: ssh}`; in the env file, a path relative to the home.",
    )
    signing_as: Annotated[str, StringConstraints(pattern=r"^([^<>\n\x00]{1,100} <[^<>\s]{3,200}>)?$")] = (
        Field(
            "",
            description="The key's owner, `Name <address>`: for GitHub to verify it, the account with "
            "this address needs the public key, under SSH keys, as a signing key.",
        )
    )
    artifact_days: int = Field(
        90, ge=1, le=3650, description="Days that logs, patches and reports of runs are kept."
    )
    artifact_mb: int = Field(
        5000, ge=1, le=10_000_000, description="Megabytes of them to keep; the oldest are removed first."
    )
    store: Annotated[
        str, StringConstraints(pattern=r"^(s3://[a-z0-9][a-z0-9.-]{2,62}(/[^\s]*)?|[^\s:]*)$")
    ] = Field(
        "",
        description="Where runs store their files and work for all hosts of one ledger: a shared folder, or "
        "`s3://bucket/prefix`; by default `artifacts` in the home.",
    )
    store_url: OptionalAddress = Field(
        "", description="The root of an S3-compatible server; by default Amazon's."
    )
    store_region: Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{0,40}$")] = Field(
        "", description="The bucket's region, if its server needs one."
    )
    store_access_key: Annotated[str, StringConstraints(pattern=r"^[^\s]{0,200}$")] = Field(
        "", repr=False, description="The access key for the bucket; by default the machine's role."
    )
    store_secret_key: Secret = Field(Secret(), description="The secret that belongs to that access key.")
    store_encryption_key: Secret = Field(
        Secret(),
        description="A key that encrypts everything in the store: 32 bytes in base64, "
        "`openssl rand -base64 32`. All hosts need the same key.",
    )
    mail_server: Annotated[
        str, StringConstraints(pattern=r"^((smtps|smtp\+starttls|smtp)://[^\s/@:]+(:[0-9]{1,5})?)?$")
    ] = Field(
        "",
        description="The server that sends notices by mail: `smtps://mail.example.com`, or "
        "`smtp+starttls://` with TLS after the connection. Plain `smtp://` works only on this machine.",
    )
    mail_user: Annotated[str, StringConstraints(pattern=r"^[^\r\n]{0,320}$")] = Field(
        "", description="The account at that server, if it needs one."
    )
    mail_password: Secret = Field(Secret(), description="The password of that account.")
    mail_from: MailAddress = Field("", description="The address that sends the mail.")
    mail_replies: Annotated[str, StringConstraints(pattern=MAIL_REPLIES)] = Field(
        "",
        description="The address that takes replies, `cardinal@example.com`, of at most 20 characters before "
        "the `@`. Mail to `cardinal+…@example.com` must arrive there. Without it nobody can reply.",
    )
    url: OptionalAddress = Field("", description="The address of a Cardinal, for `cardinal mcp`, `job`.")
    token: Secret = Field(Secret(), description="The token of that Cardinal.")
    log_level: LogLevel = Field("info", description="The least severe line that is logged.")
    log_format: LogFormat = Field(
        "text", description="How a line is logged: `text`, or `json` for an object on each line."
    )
    traces_url: OptionalAddress = Field(
        "",
        description="The collector that gets a trace of each run, by OTLP over HTTP; follows "
        "`OTEL_EXPORTER_OTLP_ENDPOINT`. Needs the extra `traces`.",
    )
    metrics_token: Secret = Field(
        Secret(),
        description="The token with which a monitoring system reads `/metrics`; without one it is closed.",
    )

    @property
    def agents(self) -> Path:
        """The folder with the operator's own agents."""
        return self.home / OWN_AGENTS

    @property
    def board_owner(self) -> str:
        """The login of the board's owner; empty while no board is set."""
        return self.board.owner

    @property
    def home_repository(self) -> str:
        """The repository whose policy file has the `board:` part, as owner/name."""
        return self.policy_repository or f"{self.board.owner}/board"

    def require_github(self) -> None:
        """Raise ConfigError that names every setting which GitHub needs and nobody gave."""
        self._require("app_id", "private_key", *(("webhook_secret",) if self.webhooks else ()), "board")

    def require_web(self) -> None:
        """Raise ConfigError unless the web server can do its part: the App's key is for its pages alone."""
        self._require(
            *(("webhook_secret",) if self.webhooks else ()),
            *(("app_id", "private_key", "board") if self.public_url else ()),
        )

    def require_app(self) -> None:
        """Raise ConfigError unless the App can speak for itself."""
        self._require("app_id", "private_key")

    def require_installation(self) -> None:
        """Raise ConfigError unless the App can speak in the board's organisation, whichever its board is."""
        self._require("app_id", "private_key", "board_owner")

    def _require(self, *needed: str) -> None:
        missing = [name for name in needed if not getattr(self, name)]
        if missing and not any((self.app_id, self.private_key, self.webhook_secret, self.board)):
            how = "run `cardinal init` here, or `cardinal try` in a clone, or name the home in CARDINAL_HOME"
            raise ConfigError((f"Cardinal is not set up in {self.home}: {how}",))
        if missing:
            names = ", ".join(f"{PREFIX}{name.removesuffix('_owner').upper()}" for name in missing)
            are, them = ("is", "it") if len(missing) == 1 else ("are", "them")
            how = f"`cardinal init` sets {them}, or put {them} into {self.home / ENV_FILE} or the environment"
            raise ConfigError((f"{names} {are} not set: {how}",))


FIELDS = tuple(field.name for field in dataclasses.fields(Config))
# What may pay for models: the operator's settings, and those of an owner's own file.
OF_OWNERS = FIELDS[FIELDS.index("anthropic_key") : FIELDS.index("prices") + 1]
INHERITED = (
    "home",
    "database_url",
    "scenarios",
    "anthropic_url",
    "openai_url",
    "compatible_url",
    "gemini_url",
    "prices",
)


def _is_own(name: str) -> bool:
    return name.startswith(PREFIX)


def read(environ: Mapping[str, str], cwd: Path) -> Config:
    """Return the settings of `environ` over those of the env file; empty values count as unset.

    A key that no setting gives is taken from its usual name, here or there. Raises ConfigError with one
    sentence for each wrong or unknown setting; no sentence repeats a value.
    """
    try:
        home, lines, given, mistakes = read_settings(environ, cwd)
    except ForeignHomeError as error:
        raise ConfigError((str(error),)) from error
    problems = list(mistakes)
    known = {PREFIX + name.upper(): name for name in FIELDS}
    named = dict.fromkeys((*lines, *filter(_is_own, environ)))
    usual_names = {*known, *USUAL.values()}
    if others := [name for name in named if name not in usual_names and not name.startswith(TEST_PREFIX)]:
        from runner.run.run_spec import FACTS  # a run's own programs have them; nobody else waits for it

        problems += [_unknown(name, known) for name in others if name not in FACTS]
    if PREFIX + "HOME" in lines:
        problems.append(f"{PREFIX}HOME cannot be set in a file inside the home: set it in the environment")
    values: dict[str, Any] = {known[name]: text for name, text in given.items() if name in known and text}
    values["home"] = home
    if collector := environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
        values.setdefault("traces_url", collector)
    usual = _take_usual(values, environ, lines)
    _fill_in(values, home)
    from_file = {known[name] for name in lines if name in known and not environ.get(name)}
    problems += resolve_paths(
        values, {name: (home,) if name in from_file else (cwd, home) for name in values}
    )
    if values.get("public_url") and not (values.get("client_id") and values.get("client_secret")):
        problems.append(
            f"{PREFIX}PUBLIC_URL is set without {PREFIX}CLIENT_ID and {PREFIX}CLIENT_SECRET, which "
            "people need to sign in there: set all three (both are on the App's settings page), or "
            "none"
        )
    problems += problems_of_sign_in(values)
    problems += problems_of_mail(values)
    if bool(values.get("store_access_key")) != bool(values.get("store_secret_key")):
        problems.append(
            f"{PREFIX}STORE_ACCESS_KEY and {PREFIX}STORE_SECRET_KEY belong together: set both or none"
        )
    try:
        if "store_encryption_key" in values:
            from runner.artifacts import sealing  # few have one, and all would wait for it

            sealing.key_of(values["store_encryption_key"])
    except ValueError as error:
        problems.append(f"{PREFIX}STORE_ENCRYPTION_KEY: {error}, as `openssl rand -base64 32` makes it")
    return _check(values, problems, usual)


def read_owners(config: Config, path: Path) -> Config:
    """Return an owner's own settings of payment, from the file at `path`, in place of all the operator's.

    Of the operator's, only addresses and prices go on to count. Raises ConfigError as `read` does.
    """
    lines, mistakes = read_lines(path)
    if mistakes:
        raise ConfigError(tuple(mistakes))
    known = {PREFIX + name.upper(): name for name in OF_OWNERS}
    kind = "a setting that pays for models"
    unknown = [name for name in lines if name not in known and name not in USUAL.values()]
    problems = [_unknown(name, known, kind) for name in unknown]
    values: dict[str, Any] = {name: getattr(config, name) for name in INHERITED}
    values |= {known[name]: text for name, text in lines.items() if name in known and text}
    usual = _take_usual(values, lines)
    if leads_out(config.home, values.get("vertex_credentials", "")):
        del values["vertex_credentials"]
        problems.append(
            f"{PREFIX}VERTEX_CREDENTIALS points outside the home: put the file into {config.home}"
        )
    problems += resolve_paths(values, {name: (config.home,) for name in values})
    try:
        return _check(values, problems, usual)
    except ConfigError as error:
        raise ConfigError(tuple(f"{path}: {problem}" for problem in error.problems)) from None


def _take_usual(values: dict[str, Any], *sources: Mapping[str, str]) -> dict[str, str]:
    """Take keys that no setting gives from their usual names; return these names by setting.

    Where Anthropic's models are paid in another way, its key is not taken: people have it for other programs.
    """
    taken = {}
    for setting, variable in USUAL.items():
        name = setting.removeprefix(PREFIX).lower()
        key = next(filter(None, (source.get(variable) for source in sources)), "")
        is_paid = values.get(name) or (name in WAYS and any(values.get(way) for way in WAYS))
        if key and not is_paid:
            taken[name], values[name] = variable, key
    return taken


def _check(values: Mapping[str, Any], problems: list[str], usual: Mapping[str, str]) -> Config:
    """Return the settings; `usual` are the variables of keys that no setting gave.

    Raises ConfigError with these problems and all others; none repeats a value.
    """
    problems += problems_of_payment(values)
    try:
        config = TypeAdapter(Config).validate_python(values)
    except ValidationError as error:
        wrong = [
            f"{PREFIX}{str(problem['loc'][0]).upper()}: {problem['msg']}"
            for problem in error.errors(include_input=False)
        ]
        raise ConfigError((*problems, *wrong)) from None  # the cause would show the values
    problems += _list_unconfirmed(config)
    if problems:
        raise ConfigError(tuple(problems))
    for name, variable in usual.items():
        getattr(config, name).variable = variable
    return config


def _list_unconfirmed(config: Config) -> Iterator[str]:
    """Yield the settings that need another one to confirm that they are meant."""
    if config.subscription_token and not config.allow_subscription:
        yield (
            f"{PREFIX}SUBSCRIPTION_TOKEN lets everyone's cards use up a personal subscription: if you "
            f"want that and its terms allow it, set {PREFIX}ALLOW_SUBSCRIPTION=true"
        )


def _unknown(name: str, known: Mapping[str, str], kind: str = "a setting") -> str:
    if not re.fullmatch("[A-Z][A-Z0-9_]*", name):  # a key whose last characters are `=`
        return f"a line does not have a setting's name before its `=`; names begin with {PREFIX}"
    close = get_close_matches(name if name.startswith(PREFIX) else PREFIX + name, known, n=1)
    return f"{name} is not {kind}" + (f": did you mean {close[0]}?" if close else "")


def _fill_in(values: dict[str, Any], home: Path) -> None:
    """Set the defaults that follow from other settings."""
    values.setdefault("database_url", f"sqlite:///{home / 'data' / 'ledger.db'}")
    values.setdefault("scenarios", home / "scenarios")
    for name in ("github_url", "git_url", "public_url"):
        if name in values:
            values[name] = values[name].rstrip("/")
    if "public_url" in values:  # as browsers say it in `Origin`
        scheme, colon, place = values["public_url"].lower().partition("://")
        values["public_url"] = scheme + colon + place.removesuffix({"https": ":443"}.get(scheme, ":80"))
    if values.get("github_url", "").startswith("http"):
        values["github_url"] = api_root(values["github_url"])
        values.setdefault("git_url", web_root(values["github_url"]))
