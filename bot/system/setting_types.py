"""Meaning of the operator's settings: types of their texts, files of credentials, sets that go together."""

import ipaddress
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import StringConstraints

from bot.system.env_file import PREFIX
from ledger.parts import part_names
from runner.run.provider import TokenPrice

Address = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/]+(/[^\s]*)?$")]
OptionalAddress = Annotated[str, StringConstraints(pattern=r"^(https?://[^\s/]+(/[^\s]*)?)?$")]
RepositoryName = Annotated[str, StringConstraints(pattern=r"^([A-Za-z0-9_-]{1,39}/[A-Za-z0-9._-]{1,100})?$")]
LabelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
_AT = r"@[A-Za-z0-9][A-Za-z0-9.-]{0,200}"
MailAddress = Annotated[str, StringConstraints(pattern=rf"^([A-Za-z0-9._+-]{{1,64}}{_AT})?$")]
MAIL_REPLIES = rf"^([A-Za-z0-9._-]{{1,20}}{_AT})?$"  # a token follows, and a local part has 64 characters
_TOGETHER = (
    ("vertex_project", "vertex_credentials"),
    ("bedrock_region", "bedrock_profile"),
    ("bedrock_access_key", "bedrock_secret_key"),
)
WAYS = (
    "anthropic_key",
    "subscription_token",
    "vertex_project",
    "bedrock_region",
)  # to pay for Anthropic's models
_SUBSCRIPTION = "sk-ant-oat"
_GOOGLE_KINDS = ("service_account", "authorized_user")
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]
SignInWay = Literal["github", "proxy", "oidc"]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_OF_SIGN_IN = {  # what each way needs
    "github": (),
    "proxy": ("sign_in_header", "sign_in_from"),
    "oidc": ("oidc_issuer", "oidc_client_id", "oidc_client_secret"),
}


class BoardAddress(NamedTuple):
    """The login of an organisation or a person and the project's number, as in the board's address.

    The number is 0 while no board is set.
    """

    owner: str = ""
    number: int = 0

    def __bool__(self) -> bool:
        return self.number > 0

    def __str__(self) -> str:
        return f"{self.owner}/{self.number}"


def board_address(given: str) -> BoardAddress:
    """Return the address that `acme/1` means; without a board where it means none."""
    match = re.fullmatch(r"([A-Za-z0-9][A-Za-z0-9_-]{0,38})/([1-9][0-9]{0,9})", given)
    return BoardAddress(match[1], int(match[2])) if match else BoardAddress()


def as_board(given: object) -> object:
    """Return the BoardAddress that `acme/1` means; anything but text is left to pydantic."""
    if not isinstance(given, str):
        return given
    address = board_address(given)
    if not address:
        raise ValueError("must be the owner's login and the project's number, such as acme/1")
    return address


def as_words(given: object) -> object:
    """Return the words between the commas; anything but text is left to pydantic."""
    return (
        tuple(filter(None, (word.strip() for word in given.split(",")))) if isinstance(given, str) else given
    )


def as_networks(given: object) -> object:
    """Return the networks between the commas; anything but text is left to pydantic.

    Raises ValueError for one of all addresses: whoever reaches Cardinal would say who they are.
    """
    if not isinstance(given, str):
        return given
    try:
        networks = tuple(ipaddress.ip_network(word.strip()) for word in given.split(",") if word.strip())
    except ValueError:  # its words repeat the value
        raise ValueError("must be addresses or networks, such as 10.0.0.7 or 10.0.0.0/24") from None
    if any(network.prefixlen == 0 for network in networks):
        raise ValueError("must be the proxy's addresses, not all of them")
    return networks


def problems_of_sign_in(values: Mapping[str, Any]) -> list[str]:
    """Return the faults of the settings by which people sign in; none repeats a value."""
    way = values.get("sign_in") or "github"
    problems = []
    for of_way, names in _OF_SIGN_IN.items():
        lacking = [name for name in names if not values.get(name)]
        if of_way == way and lacking:
            problems.append(f"CARDINAL_SIGN_IN={way} needs {_join_settings(lacking)}: set all of them")
        elif of_way != way and len(lacking) < len(names):
            given = _join_settings(name for name in names if values.get(name))
            problems.append(f"{given} would do nothing: set CARDINAL_SIGN_IN={of_way}")
    for name, ways in (("sign_in_logins", ("proxy", "oidc")), ("oidc_claim", ("oidc",))):
        if values.get(name) and way not in ways:
            given = f"{_join_settings([name])} would do nothing"
            problems.append(f"{given}: set CARDINAL_SIGN_IN={' or '.join(ways)}")
    issuer = str(values.get("oidc_issuer") or "https://")
    if not issuer.startswith(("https://", "http://127.0.0.1:")):
        problems.append("CARDINAL_OIDC_ISSUER must begin with https://")
    return problems


def problems_of_mail(values: Mapping[str, Any]) -> list[str]:
    """Return the faults of the settings that send mail; none repeats a value."""
    problems = []
    for names in (("mail_server", "mail_from"), ("mail_user", "mail_password")):
        if bool(values.get(names[0])) != bool(values.get(names[1])):
            problems.append(f"{_join_settings(names)} belong together: set both, or none")
    if values.get("mail_replies") and not values.get("mail_server"):
        problems.append("CARDINAL_MAIL_REPLIES would do nothing: set CARDINAL_MAIL_SERVER")
    scheme, _, place = str(values.get("mail_server", "")).partition("://")
    if scheme == "smtp" and place.partition(":")[0] not in ("127.0.0.1", "localhost"):
        problems.append("CARDINAL_MAIL_SERVER without TLS works only on this machine: use smtp+starttls://")
    return problems


def as_workspace(given: object) -> object:
    """Return the name of a workspace backend, or auto."""
    names = part_names("runner.workspaces.backends")
    if given not in ("auto", *names):
        raise ValueError(f"must be one of auto, {', '.join(names)}")
    return given


def as_prices(given: object) -> object:
    """Return the TokenPrices that `my-model=0.60/2.50` means; anything but text is left to pydantic."""
    if not isinstance(given, str):
        return given
    return tuple(_price(word) for word in filter(None, (word.strip() for word in given.split(","))))


def _price(text: str) -> TokenPrice:
    model, _, usd = text.rpartition("=")
    match = re.fullmatch(r"([0-9]{1,4}(?:\.[0-9]{1,6})?)/([0-9]{1,4}(?:\.[0-9]{1,6})?)", usd)
    if not model or " " in model or match is None:
        raise ValueError("must be MODEL=INPUT/OUTPUT, in dollars per million tokens: my-model=0.60/2.50")
    return TokenPrice(model, float(match[1]), float(match[2]))


def problems_of_payment(values: Mapping[str, Any]) -> list[str]:
    """Return the faults of the settings that name a model's payer; none repeats a value."""
    problems = []
    for names in _TOGETHER:
        if 0 < sum(bool(values.get(name)) for name in names) < len(names):
            problems.append(f"{_join_settings(names)} belong together: set all, or none")
    if values.get("compatible_key") and not values.get("compatible_url"):
        problems.append("CARDINAL_COMPATIBLE_KEY is set without CARDINAL_COMPATIBLE_URL: set both")
    if (token := values.get("subscription_token")) and not token.startswith(_SUBSCRIPTION):
        problems.append(
            f"CARDINAL_SUBSCRIPTION_TOKEN does not begin with {_SUBSCRIPTION}: it is what "
            "`claude setup-token` prints; an API key belongs in CARDINAL_ANTHROPIC_KEY"
        )
    if values.get("bedrock_access_key") and not values.get("bedrock_region"):
        problems.append("CARDINAL_BEDROCK_ACCESS_KEY is set without CARDINAL_BEDROCK_REGION: set both")
    ways = [name for name in WAYS if values.get(name)]
    if len(ways) > 1:
        problems.append(f"{_join_settings(ways)} would each pay for Anthropic's models: set only one of them")
    if (given := values.get("vertex_credentials")) and _kind_of(given) not in _GOOGLE_KINDS:
        problems.append(
            "CARDINAL_VERTEX_CREDENTIALS is neither a service account's key nor what "
            "`gcloud auth application-default login` writes: name such a file"
        )
    return problems


def _join_settings(names: Iterable[str]) -> str:
    return " and ".join(f"CARDINAL_{name.upper()}" for name in names)


def _kind_of(text: str) -> object:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return given.get("type") if isinstance(given, dict) else None


def resolve_paths(values: dict[str, Any], bases: Mapping[str, tuple[Path, ...]]) -> list[str]:
    """Make paths absolute and read credentials' files; return the mistakes.

    Paths of the env file start in the home; those of the environment, in the current folder first.
    """
    for name in ("scenarios", "skills", "packages", "signing_key", "sign_in_logins"):
        if values.get(name):
            values[name] = bases.get(name, (Path(),))[0] / values[name]
    if values.get("store") and not values["store"].startswith("s3:"):
        values["store"] = str(bases.get("store", (Path(),))[0] / values["store"])
    return [
        *_read_file(values, bases, "private_key", "-----BEGIN", "PEM"),
        *_read_file(values, bases, "vertex_credentials", "{", "JSON"),
    ]


def leads_out(home: Path, given: str) -> bool:
    """Tell whether credentials are given by the path of a file outside the home."""
    return not given.lstrip().startswith("{") and not Path(os.path.normpath(home / given)).is_relative_to(
        os.path.normpath(home)
    )


def _read_file(
    values: dict[str, Any], bases: Mapping[str, tuple[Path, ...]], name: str, begins: str, kind: str
) -> list[str]:
    """Put the text of a file in place of its path, unless it is the text already; return the mistakes."""
    given = values.get(name, "")
    if not given or given.lstrip().startswith(begins):
        return []
    try:
        places = [folder / given for folder in bases[name]]
        path = next((place for place in places if place.exists()), places[0])
        values[name] = path.read_text(encoding="ascii")
    except (OSError, ValueError) as error:
        values[name] = ""
        problem = f"{PREFIX}{name.upper()} is neither {kind} text nor a readable {kind} file"
        return [f"{problem}: {type(error).__name__}"]
    return []
