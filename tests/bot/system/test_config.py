"""The operator's settings: where they come from, what is refused, what is never printed."""

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from bot.system import github_address
from bot.system.config import FIELDS, Config, ConfigError, read
from bot.system.env_file import change_text
from runner.run.provider import TokenPrice
from runner.run.run_spec import FACTS

PAGES = {"PUBLIC_URL": "https://cardinal.example", "CLIENT_ID": "Iv1", "CLIENT_SECRET": "c"}


def problems(environ: dict[str, str], cwd: Path) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        read(environ, cwd)
    return caught.value.problems


def write_file(cwd: Path, text: str) -> None:
    (cwd / ".cardinal").mkdir(mode=0o700)
    (cwd / ".cardinal" / "env").write_text(text, encoding="utf-8")


def test_without_settings_everything_lives_below_one_folder(tmp_path: Path) -> None:
    config = read({}, tmp_path)
    assert config.home == tmp_path / ".cardinal"
    assert config.database_url == f"sqlite:///{tmp_path}/.cardinal/data/ledger.db"
    assert (config.host, config.port, config.redis_url) == ("127.0.0.1", 8484, None)
    assert (config.github_url, config.git_url) == ("https://api.github.com", "https://github.com")


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    write_file(tmp_path, "# ours\nCARDINAL_PORT=1\nexport CARDINAL_HOST='0.0.0.0'\n\nCARDINAL_BOARD=acme/7\n")
    config = read({"CARDINAL_PORT": "2", "PATH": "/bin"}, tmp_path)
    assert (config.port, config.host) == (2, "0.0.0.0")
    assert (config.board_owner, config.board.number) == tuple(config.board) == ("acme", 7)
    assert config.home_repository == "acme/board"


def test_the_home_can_be_elsewhere(tmp_path: Path) -> None:
    assert read({"CARDINAL_HOME": "here"}, tmp_path).home == tmp_path / "here"
    assert read({"CARDINAL_HOME": "/srv/c"}, tmp_path).home == Path("/srv/c")


def test_an_unknown_setting_is_an_error_that_names_the_nearest(tmp_path: Path) -> None:
    write_file(tmp_path, "CARDINAL_BORD=acme/1\nAPP_ID=1\n")
    assert problems({}, tmp_path) == (
        "CARDINAL_BORD is not a setting: did you mean CARDINAL_BOARD?",
        "APP_ID is not a setting: did you mean CARDINAL_APP_ID?",
    )


def test_addresses_of_services_for_tests_are_no_settings(tmp_path: Path) -> None:
    given = {"CARDINAL_TEST_POSTGRESQL": "x"} | dict.fromkeys(FACTS, "x")
    assert read(given, tmp_path) == read({}, tmp_path)


def test_the_name_of_a_managed_user_may_own_a_repository(tmp_path: Path) -> None:
    # Source: docs.github.com/enterprise-cloud@latest/admin, "Username considerations for external
    # authentication": the underscore stands before the enterprise's short code.
    assert read({"CARDINAL_POLICY_REPOSITORY": "bo_acme/x"}, tmp_path).policy_repository == "bo_acme/x"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "70000"),
        ("PORT", "many"),
        ("BOARD", "acme"),
        ("BOARD", "acme/0"),
        ("BOARD", "acme/1/2"),
        ("BOARD", "../1"),
        ("GITHUB_URL", "api.github.com"),
        ("GITHUB_URL", "file:///etc/passwd"),
        ("RUN_WORKERS", "0"),
        ("TICK_S", "nan"),
        ("SWEEP_S", "inf"),
        ("LOG_LEVEL", "loud"),
        ("ALLOW_UNSANDBOXED", "perhaps"),
        ("POLICY_REPOSITORY", "acme"),
    ],
)
def test_a_wrong_value_is_an_error_that_names_the_setting(tmp_path: Path, name: str, value: str) -> None:
    (found,) = problems({f"CARDINAL_{name}": value}, tmp_path)
    assert found.startswith(f"CARDINAL_{name}: ")


def test_all_problems_are_said_at_once(tmp_path: Path) -> None:
    assert len(problems({"CARDINAL_PORT": "x", "CARDINAL_TICK_S": "x", "CARDINAL_X": "x"}, tmp_path)) == 3


def test_an_empty_value_counts_as_unset(tmp_path: Path) -> None:
    assert read({"CARDINAL_PORT": ""}, tmp_path).port == 8484


@pytest.mark.parametrize(
    ("line", "because"),
    [
        ("just words", "line 2: not NAME=value"),
        ("A='never ends", "line 2: the quote of A never ends"),
        ("A='b' c", "line 2: text after the quote of A"),
        ("CARDINAL_PORT=2", "line 2: CARDINAL_PORT is given twice"),
    ],
)
def test_a_broken_line_of_the_file_is_named_but_not_repeated(tmp_path: Path, line: str, because: str) -> None:
    write_file(tmp_path, f"CARDINAL_PORT=1\n{line}\n")
    (found,) = problems({}, tmp_path)
    assert found.endswith(because)
    assert "words" not in found


def test_a_file_that_is_not_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".cardinal").mkdir(mode=0o700)
    (tmp_path / ".cardinal" / "env").write_bytes(b"\xff\xfe")
    assert "cannot be read" in problems({}, tmp_path)[0]


def test_the_private_key_is_text_a_quoted_line_or_a_file(tmp_path: Path, private_key: str) -> None:
    (tmp_path / "key.pem").write_text(private_key, encoding="ascii")
    write_file(tmp_path, f'CARDINAL_PRIVATE_KEY="{private_key}"\n')
    folded = private_key.replace("\n", "\\n")
    assert read({}, tmp_path).private_key.reveal() == private_key
    assert read({"CARDINAL_PRIVATE_KEY": "key.pem"}, tmp_path).private_key.reveal() == private_key
    (tmp_path / ".cardinal" / "env").write_text(
        f'CARDINAL_PRIVATE_KEY="{folded}" # folded\n', encoding="utf-8"
    )
    assert read({}, tmp_path).private_key.reveal() == private_key
    assert problems({"CARDINAL_PRIVATE_KEY": "gone.pem"}, tmp_path) == (
        "CARDINAL_PRIVATE_KEY is neither PEM text nor a readable PEM file: FileNotFoundError",
    )


def test_secrets_are_never_printed(tmp_path: Path) -> None:
    secrets = {
        "CARDINAL_WEBHOOK_SECRET": "hush-1",
        "CARDINAL_PRIVATE_KEY": "-----BEGIN hush-2",
        "CARDINAL_DATABASE_URL": "postgresql://me:hush-3@db/x",
        "CARDINAL_REDIS_URL": "redis://:hush-4@r/0",
    }
    config = read(secrets, tmp_path)
    assert config.webhook_secret.reveal() == "hush-1"
    shown = f"{config} {config!r} {config.webhook_secret} {config.webhook_secret!r} {config.webhook_secret:}"
    assert "hush" not in shown
    assert "hush" not in str(problems({**secrets, "CARDINAL_PORT": "x", "CARDINAL_BOARD": "hush"}, tmp_path))


def test_the_store_is_a_folder_from_the_home_or_a_bucket_and_its_keys_are_checked(tmp_path: Path) -> None:
    write_file(tmp_path, "CARDINAL_STORE=shared\n")
    assert read({}, tmp_path).store == str(tmp_path / ".cardinal" / "shared")
    assert read({"CARDINAL_STORE": "s3://runs/of-acme"}, tmp_path).store == "s3://runs/of-acme"
    assert "both or none" in problems({"CARDINAL_STORE_ACCESS_KEY": "a"}, tmp_path)[0]
    assert "openssl rand" in problems({"CARDINAL_STORE_ENCRYPTION_KEY": "c2hvcnQ="}, tmp_path)[0]


def test_the_settings_are_frozen(tmp_path: Path) -> None:
    with pytest.raises(FrozenInstanceError):
        read({}, tmp_path).port = 1  # type: ignore[misc]


def test_what_github_needs_is_named_when_it_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read({"CARDINAL_APP_ID": "1"}, tmp_path).require_github()
    (problem,) = caught.value.problems
    names = "CARDINAL_PRIVATE_KEY, CARDINAL_WEBHOOK_SECRET, CARDINAL_BOARD"
    assert problem.startswith(f"{names} are not set: `cardinal init` sets them, or put them into ")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"BOARD": "a/1"}, ["WEBHOOK_SECRET"]),
        ({"WEBHOOK_SECRET": "s"}, []),
        ({"WEBHOOKS": "false"}, []),
        ({"WEBHOOK_SECRET": "s", **PAGES}, ["APP_ID", "PRIVATE_KEY", "BOARD"]),
        ({"WEBHOOK_SECRET": "s", **PAGES, "APP_ID": "1", "PRIVATE_KEY": "-----BEGIN", "BOARD": "a/1"}, []),
    ],
)
def test_the_web_server_wants_the_apps_key_for_its_pages_alone(
    tmp_path: Path, given: dict[str, str], named: list[str]
) -> None:
    config = read({f"CARDINAL_{name}": text for name, text in given.items()}, tmp_path)
    found: tuple[str, ...] = ()
    try:
        config.require_web()
    except ConfigError as error:
        found = error.problems
    assert [
        word.rstrip(",") for problem in found for word in problem.split() if word.startswith("CARDINAL_")
    ] == [f"CARDINAL_{name}" for name in named]


@pytest.mark.parametrize(
    ("given", "api", "graphql", "web"),
    [
        ("git.acme.org/api/v3/", "git.acme.org/api/v3", "git.acme.org/api/graphql", "git.acme.org"),
        ("api.acme.org/api/v3", "api.acme.org/api/v3", "api.acme.org/api/graphql", "api.acme.org"),
        ("git.acme.org", "git.acme.org/api/v3", "git.acme.org/api/graphql", "git.acme.org"),
        ("acme.ghe.com", "api.acme.ghe.com", "api.acme.ghe.com/graphql", "acme.ghe.com"),
        ("github.com", "api.github.com", "api.github.com/graphql", "github.com"),
    ],
)
def test_every_address_follows_from_githubs(
    tmp_path: Path, given: str, api: str, graphql: str, web: str
) -> None:
    config = read({"CARDINAL_GITHUB_URL": f"https://{given}"}, tmp_path)
    assert (config.github_url, config.git_url) == (f"https://{api}", f"https://{web}")
    assert github_address.graphql_url(config.github_url) == f"https://{graphql}"


def test_every_setting_says_what_it_means() -> None:
    schema = TypeAdapter(Config).json_schema()["properties"]
    assert {name for name, field in schema.items() if field.get("description")} == set(FIELDS)


def test_lines_are_changed_in_place_and_the_rest_stays() -> None:
    text = '# mine\nexport A=1\nB="x\ny" # two lines\n\nC=3'
    assert change_text(text, {"B": "2", "D": "4"}) == "# mine\nexport A=1\nB=2\n\nC=3\nD=4\n"
    assert change_text("", {"A": ""}) == "A=\n"
    for value in ("a b", "'a'", "#a", "a\nb"):
        with pytest.raises(ValueError, match="A would need quotes"):
            change_text("", {"A": value})


@pytest.mark.parametrize(
    ("named", "origin"),
    [
        ("https://Cardinal.Example:443/", "https://cardinal.example"),
        ("http://127.0.0.1:80", "http://127.0.0.1"),
        ("https://cardinal.example:8443", "https://cardinal.example:8443"),
        ("http://cardinal.example:443", "http://cardinal.example:443"),
    ],
)
def test_the_public_address_is_what_browsers_call_it(tmp_path: Path, named: str, origin: str) -> None:
    settings = {f"CARDINAL_{name}": text for name, text in (PAGES | {"PUBLIC_URL": named}).items()}
    assert read(settings, tmp_path).public_url == origin


@pytest.mark.parametrize("text", ["m", "m=1", "=1/2", "m=1/x", "m=-1/2", "m=nan/1", "m=1/2 n=1/2", "m=1e9/1"])
def test_a_price_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (problem,) = problems({"CARDINAL_PRICES": text}, tmp_path)
    assert "CARDINAL_PRICES: " in problem
    assert "must be MODEL=INPUT/OUTPUT" in problem


def test_prices_are_of_models_with_any_name(tmp_path: Path) -> None:
    prices = read({"CARDINAL_PRICES": "vendor/m:7b=0.6/2.50, a=b=0/0"}, tmp_path).prices
    assert prices == (TokenPrice("vendor/m:7b", 0.6, 2.5), TokenPrice("a=b", 0.0, 0.0))


ACCOUNT = '{"type": "service_account", "private_key": "sesame"}'
VERTEX = {"CARDINAL_VERTEX_PROJECT": "acme-1", "CARDINAL_VERTEX_CREDENTIALS": ACCOUNT}


def test_credentials_of_google_are_json_or_the_path_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "robot.json").write_text(ACCOUNT)
    for given in (ACCOUNT, "robot.json"):
        config = read(VERTEX | {"CARDINAL_VERTEX_CREDENTIALS": given}, tmp_path)
        assert config.vertex_credentials.reveal() == ACCOUNT
        assert "sesame" not in repr(config)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"VERTEX_CREDENTIALS": ""},
            "_PROJECT and CARDINAL_VERTEX_CREDENTIALS belong together",
        ),
        ({"VERTEX_PROJECT": ""}, "_PROJECT and CARDINAL_VERTEX_CREDENTIALS belong together"),
        ({"VERTEX_CREDENTIALS": "no.json"}, "neither JSON text nor a readable JSON file: FileNotFoundError"),
        ({"VERTEX_CREDENTIALS": '{"type": "external_account"}'}, "neither a service account's key nor"),
        ({"VERTEX_CREDENTIALS": "{sesame"}, "neither a service account's key nor"),
        ({"BEDROCK_REGION": "eu-west-1"}, "BEDROCK_REGION and CARDINAL_BEDROCK_PROFILE belong together"),
        ({"BEDROCK_ACCESS_KEY": "a"}, "BEDROCK_ACCESS_KEY and CARDINAL_BEDROCK_SECRET_KEY belong together"),
        ({"BEDROCK_ACCESS_KEY": "a", "BEDROCK_SECRET_KEY": "sesame"}, "without CARDINAL_BEDROCK_REGION"),
        ({"ANTHROPIC_KEY": "k"}, "CARDINAL_ANTHROPIC_KEY and CARDINAL_VERTEX_PROJECT would each pay"),
    ],
)
def test_a_payment_that_is_no_clear_one_is_refused(tmp_path: Path, given: dict[str, str], said: str) -> None:
    found = " ".join(problems(VERTEX | {f"CARDINAL_{name}": text for name, text in given.items()}, tmp_path))
    assert said in found
    assert "sesame" not in found


def test_a_subscription_is_handed_over_knowingly(tmp_path: Path) -> None:
    token = {"CARDINAL_SUBSCRIPTION_TOKEN": "sk-ant-oat01-sesame"}
    (problem,) = problems(token, tmp_path)
    assert "set CARDINAL_ALLOW_SUBSCRIPTION=true" in problem
    allowed = {"CARDINAL_ALLOW_SUBSCRIPTION": "true"}
    assert read(token | allowed, tmp_path).subscription_token.reveal() == "sk-ant-oat01-sesame"
    (problem,) = problems(allowed | {"CARDINAL_SUBSCRIPTION_TOKEN": "sk-ant-api03-sesame"}, tmp_path)
    assert "an API key belongs in CARDINAL_ANTHROPIC_KEY" in problem
    assert "sesame" not in problem
    assert read(allowed, tmp_path).allow_subscription


BEDROCK = {"CARDINAL_BEDROCK_REGION": "eu-west-1", "CARDINAL_BEDROCK_PROFILE": "eu"}


@pytest.mark.parametrize(
    ("environ", "lines", "key", "variable"),
    [
        ({"ANTHROPIC_API_KEY": "usual"}, "", "usual", "ANTHROPIC_API_KEY"),
        ({"ANTHROPIC_API_KEY": "usual", "CARDINAL_ANTHROPIC_KEY": ""}, "", "usual", "ANTHROPIC_API_KEY"),
        ({"ANTHROPIC_API_KEY": "usual", "CARDINAL_ANTHROPIC_KEY": "own"}, "", "own", ""),
        ({"ANTHROPIC_API_KEY": "usual"}, "CARDINAL_ANTHROPIC_KEY=own\n", "own", ""),
        ({"CARDINAL_ANTHROPIC_KEY": ""}, "CARDINAL_ANTHROPIC_KEY=own\n", "own", ""),
        ({"ANTHROPIC_API_KEY": ""}, "ANTHROPIC_API_KEY=filed\n", "filed", "ANTHROPIC_API_KEY"),
        ({"ANTHROPIC_API_KEY": "usual"}, "ANTHROPIC_API_KEY=filed\n", "usual", "ANTHROPIC_API_KEY"),
        ({"ANTHROPIC_API_KEY": "usual", **BEDROCK}, "", "", ""),
        ({}, "", "", ""),
    ],
)
def test_a_key_is_known_by_the_name_that_people_have_it_under(
    tmp_path: Path, environ: dict[str, str], lines: str, key: str, variable: str
) -> None:
    write_file(tmp_path, lines)
    config = read(environ, tmp_path)
    assert (config.anthropic_key.reveal(), config.anthropic_key.variable) == (key, variable)


def test_the_other_providers_key_has_its_usual_name_too(tmp_path: Path) -> None:
    config = read({"OPENAI_API_KEY": "sk", **BEDROCK}, tmp_path)
    assert (config.openai_key.reveal(), config.openai_key.variable) == ("sk", "OPENAI_API_KEY")
