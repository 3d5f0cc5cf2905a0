"""Which kinds of secrets are found, in which line, and in what time. All samples are random."""

import random
import re
import string
import subprocess
import sys
import time
from functools import cache
from importlib import metadata

import pytest
import yaml
from kingfisher_sdk import Rules

from runner.guards import builtin
from runner.guards.builtin import secrets
from runner.guards.builtin.secrets import RULES, find_secrets
from runner.run.run_spec import Guards
from tests.house.source import ROOT

LETTERS, DIGITS, HEX = string.ascii_letters, string.digits, "0123456789abcdef"
OF = {
    "A": string.ascii_uppercase + DIGITS,
    "a": string.ascii_lowercase + DIGITS,
    "h": HEX,
    "9": DIGITS,
    "X": LETTERS + DIGITS,
    "b": string.ascii_uppercase + "234567",
    "l": string.ascii_lowercase,
}
# `<X36>` stands for 36 random letters and digits, and so on; `~` for nothing: no scanner is to find this.
OURS = {
    "address-with-password": "redis+unix://worker:<X12>@cache.example/0",
    "artifactory-key": "key: AKC~p8<X65>",
    "authorization-header": "Authorization: ~Basic <X30>==",
    "aws-access-key-id": "id = AK~IA<b16>",
    "aws-secret-access-key": "aws_secret_access_~key = '<X40>'",
    "azure-storage-key": "Account~Key=<X86>==;EndpointSuffix=core.windows.net",
    "cloudant-key": "cloudant_~password: <l24>",
    "discord-bot-token": "bot.run('M<X23>.<X6>.<X27>')",
    "docker-login": '"au~th": "<X24>=="',
    "github-token": "gh~o_<X36>",
    "google-access-token": "ya~29.<X60>",
    "ibm-cloud-key": "ibm_cloud_~key <X44>",
    "ibm-cos-hmac-key": "cos_hmac_secret_~key: <h48>",
    "mailchimp-key": "<h32>-us~12",
    "model-provider-key": "s~k-<X40>",
    "npm-token": "//npm.example/:_auth~Token=<h36>",
    "password": "DB_PASS~WORD = '<X14>7'",
    "password-in-settings": "<app.pass~word><X14>7</app.password>",
    "private-key": "-----BEGIN ~OPENSSH PRIVATE KEY-----",
    "private-key-value": "private_~key = 0x<h64>",
    "pypi-token": "py~pi-AgENdGVzdC5weXBpLm9yZw<X120>",
    "slack-token": "xo~xe-<9 1>-<X60>",
    "softlayer-key": "softlayer_api_~key = '<a64>'",
    "square-oauth-secret": "sq0~csp-<X43>",
    "telegram-bot-token": "tg = <9 9>:AA~<X33>",
    "twilio-key": "A~C<h32>",
    "unquoted-password": "api_~key: <X20>7",
}
THEIRS = {
    "1password-secret-key": "A3~-<A6>-<A11>-<A5>-<A5>-<A5>",
    "age-secret-key": "AGE-SECRET-~KEY-1" + "QPZRY9X8GF" * 5 + "QPZRY9X8",
    "airtable-personnal-access-token": "pat~<X14>.<h64>",
    "atlassian-api-token": "AT~ATT3<X186>",
    "clojars-api-token": "CLO~JARS_<a60>",
    "databricks-api-token": "da~pi<h32>",
    "digitaloceanapikey": "do~p_v1_<h64>",
    "doppler-api-token": "dp.~pt.<X43>",
    "duffel-api-token": "duf~fel_test_<X43>",
    "dynatrace-api-token": "dt0~c01.<b24>.<b64>",
    "easypost-api-token": "EZ~AK<X54>",
    "flutterwave-encryption-key": "FLWSECK_~TEST-<h32>-X",
    "frameio-api-token": "fi~o-u-<X64>",
    "gcp-api-key": "AI~za<X35>",
    "gitlab-pat": "gl~pat-<X20>",
    "gitlab-ptt": "gl~ptt-<h40>",
    "gitlab-rrt": "GR13~48941<X20>",
    "grafana-service-account-token": "gl~sa_<X32>_<h8>",
    "hashicorp-tf-api-token": "<X14>.atlas~v1.<X64>",
    "herokuplatformkey": "HRKU-~AA<X58>",
    "huggingface-access-token": "h~f_<l34>",
    "infracost-api-token": "ic~o-<X32>",
    "linear-api-key": "lin_~api_<X40>",
    "mapbox-api-token": "mapbox = p~k.<a60>.<a22>",
    "notion-api-token": "nt~n_<9 11><X35>",
    "npmjsaccesstoken": "np~m_<a36>",
    "octopus-deploy-api-key": "API~-<A26>",
    "openshift-user-token": "sha~256~~<X43>",
    "perplexity-api-key": "pp~lx-<X48>",
    "planetscale-password": "pscale_~pw_<X40>",
    "postmanapikey": "PM~AK-<h24>-<h34>",
    "prefect-api-token": "pn~u_<a36>",
    "pulumi-api-token": "pu~l-<h40>",
    "readme-api-token": "rd~me_<a70>",
    "rubygems-api-token": "rubygems_~<h48>",
    "scalingo-api-token": "tk~-us-<X48>",
    "sendinblue-api-token": "xkey~sib-<h64>-<X16>",
    "sentry-user-token": "sn~tryu_<h64>",
    "shippo-api-token": "shippo_~live_<h40>",
    "shopify-access-token": "shp~at_<h32>",
    "shopify-shared-secret": "shp~ss_<h32>",
    "slack-webhook-url": "https://hooks.slack.com/~services/T<A8>/B<A8>/<X24>",
    "stripe-access-token": "s~k_live_<X24>",
    "vault-service-token": "hv~s.<X95>",
    "sendgrid": "S~G.<X22>.<X43>",
    "gitlab-deploy-token": "gl~dt-<X20>",
}


def sample(template: str, seed: int) -> str:
    chance = random.Random(seed)
    return re.sub(
        r"<(.) ?(\d+)>",
        lambda found: "".join(chance.choices(OF[found[1]], k=int(found[2]))),
        template.replace("~~", "\0").replace("~", "").replace("\0", "~"),
    )


def rules_in(*lines: str) -> list[tuple[int, str]]:
    return [(secret_line.line, secret_line.rule) for secret_line in find_secrets(lines)]


@cache
def catalog() -> set[str]:
    """Return the names of all rules, with the marks of where they come from taken off."""
    return {rule["id"].partition(".")[2].removeprefix("secrets/") for rule in Rules([RULES]).metadata()}


@pytest.mark.parametrize(("rule", "template"), [*OURS.items(), *THEIRS.items()], ids=[*OURS, *THEIRS])
def test_a_secret_is_found_by_the_rule_of_its_kind(rule: str, template: str) -> None:
    assert [found for seed in range(5) for found in rules_in(sample(template, seed))] == [(0, rule)] * 5


@pytest.mark.parametrize(
    "template",
    [
        *("Server=db;User Id=app;Pass~word=<X14>7;", "machine a.example login bob pass~word <X14>7"),
        *("api_~key: >-\n  <X20>7", "pass~word: |\n    <X20>7", "<client.sec~ret><X20>7</client.secret>"),
    ],
)
def test_a_password_is_found_in_settings_of_every_kind(template: str) -> None:
    lines = sample(template, 1).split("\n")
    assert "password-in-settings" in [rule for _, rule in rules_in(*lines)]


def test_what_settings_say_in_place_of_a_password_is_none() -> None:
    assert not rules_in("<password>${db.password}</password>", "<token>placeholder</token>")
    assert not rules_in(
        "private_key: /etc/x1.pem", '"auth": "required"', "login with a password is required1"
    )


def test_every_rule_of_cardinals_own_compiles_and_has_a_sample() -> None:
    own = [rule["id"] for rule in yaml.safe_load(RULES.read_text(encoding="utf-8"))["rules"]]
    assert sorted(own) == [f"cardinal.{rule}" for rule in sorted(OURS)]
    assert set(OURS) <= catalog()


def test_every_rule_that_is_doubtful_is_one() -> None:
    assert catalog() >= set(secrets._DOUBTFUL)


def test_a_secret_is_found_in_its_line_wherever_the_text_is_cut() -> None:
    secret = sample(THEIRS["gitlab-pat"], 1)
    gaps = random.Random(4)
    lines = [secret if n % 7 == 3 else "é" * gaps.randrange(600) for n in range(700)]
    assert [line for line, _ in rules_in(*lines)] == [n for n in range(700) if n % 7 == 3]
    assert all(
        rules_in("a", " " * at + secret + " .") == [(1, "gitlab-pat")] for at in range(9_970, 12_030, 9)
    )


@pytest.mark.parametrize(
    "sign", ["\u200b", "\u00ad", "\u2060", "\ufeff", "\u202e", "\x08", "\ufe0f", "\u3164"]
)
def test_a_sign_that_nobody_sees_hides_no_secret(sign: str) -> None:
    secret = sample(THEIRS["gitlab-pat"], 1)
    assert rules_in("a", f"k = {secret[:9]}{sign}{secret[9:]}", "b\rb") == [(1, "gitlab-pat")]


def test_letters_of_another_width_hide_no_secret() -> None:
    wide = "".join(chr(ord(c) + 0xFEE0) if c.isalnum() else c for c in sample(THEIRS["gitlab-pat"], 1))
    assert rules_in("a", wide) == [(1, "gitlab-pat")]


def test_a_comment_hides_nothing() -> None:
    marks = " ".join(
        f"{tool}:{word}" for tool in ("betterleaks", "gitleaks", "kingfisher") for word in ("allow", "ignore")
    )
    assert rules_in(f"k = '{sample(THEIRS['gitlab-pat'], 1)}'  # {marks} pragma: allowlist secret nosec") == [
        (0, "gitlab-pat")
    ]


def test_examples_and_names_are_no_secrets() -> None:
    harmless = (
        "AK" + "IAIOSFODNN7EXAMPLE",
        "password = 'correct-horse-battery'",
        "password = get_password2_from(vault)",
        "token_url = 'https://id.example/oauth2/v4/token'",
        "private_key: x25519.X25519PrivateKey",
        "gh" + "p_" + "a" * 40,
        "s" + "k-ant-" + "x" * 40,
        "secret = os.environ['SECRET_2024_KEY']",
        "password: ${DB_PASSWORD_1}",
        "digest = 'sha256:" + "0a" * 32 + "'",
        "key = lambda item2: item2.name",
        "git@github.com:acme/shop.git",
    )
    assert rules_in(*harmless) == []


def test_what_a_rule_matches_densely_costs_no_time_by_the_square() -> None:
    def seconds(times: int) -> float:
        begun = time.process_time()
        rules_in(
            'curl -H "Authorization: Bearer <X30>" https://a.example/x '.replace("<X30>", "aB3" * 10) * times
        )
        return time.process_time() - begun

    assert seconds(2_000) < 10 * seconds(500)  # without pieces, 16 times as long, and more


def test_what_searches_nothing_does_not_load_the_scanner() -> None:
    code = "import sys, runner.guards.builtin.secrets; print('kingfisher_sdk' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout == "False\n"


@pytest.mark.parametrize(("action", "loaded"), [("deny", 1), ("allow", 0)])
def test_a_guard_in_force_compiles_its_rules_beside_the_agent(action: str, loaded: int) -> None:
    secrets._compile_rules.cache_clear()
    builtin.load_ahead(Guards({"secrets": action})).join(60)
    assert secrets._compile_rules.cache_info().currsize == loaded


def test_the_page_names_the_version_of_the_rules() -> None:
    series = ".".join(metadata.version("kingfisher-secret-scanner").split(".")[:2])
    page = (ROOT / "docs/checks.md").read_text(encoding="utf-8")
    assert f"[Kingfisher](https://github.com/mongodb/kingfisher) {series} (" in page
    assert 0 <= len(catalog()) - int(re.search(r"Some (\d+) kinds", page)[1]) < 30  # type: ignore[index]
