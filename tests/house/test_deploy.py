"""What `deploy/` names is there: metrics, settings, commands."""

import dataclasses
import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from click import Context
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from bot.cli import main
from bot.github.shared_records import home_records
from bot.system import config as configuration
from bot.system.clock import utc_now
from bot.system.config import Config, ConfigError
from bot.web.metrics import Metrics
from ledger.lifecycle.open import open_ledger
from tests.house.source import ROOT, tracked

CLUSTER = list(yaml.safe_load_all((ROOT / "deploy/kubernetes.yml").read_text(encoding="utf-8")))
COMPOSE = yaml.safe_load((ROOT / "docker/compose.yml").read_text(encoding="utf-8"))["services"]
FILES = [path for path in tracked() if path.startswith("deploy/")]
SETTINGS = {f"CARDINAL_{field.name.upper()}" for field in dataclasses.fields(Config)}


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> list[Metric]:
    """Return what a scrape of an empty ledger shows."""
    config = configuration.read({"CARDINAL_HOME": str(tmp_path_factory.mktemp("home"))}, Path("/"))
    engine = open_ledger(config.database_url)
    try:
        return list(Metrics(config, engine, home_records(config, utc_now)).collector().collect())
    finally:
        engine.dispose()


@pytest.mark.parametrize("path", ["deploy/alerts.yml", "deploy/grafana.json"])
def test_alerts_and_panels_ask_for_metrics_that_are_there(path: str, metrics: list[Metric]) -> None:
    known = {sample.name for metric in metrics for sample in metric.samples} | {
        metric.name for metric in metrics
    }
    named = set(re.findall(r"\bcardinal_[a-z_]+", text_of(path)))
    assert named
    assert named <= known


@pytest.mark.parametrize("path", ["deploy/alerts.yml", "deploy/grafana.json"])
def test_alerts_and_panels_ask_for_labels_that_are_there(path: str, metrics: list[Metric]) -> None:
    labels = {
        label: value
        for metric in metrics
        for sample in metric.samples
        for label, value in sample.labels.items()
    }
    values = {value for metric in metrics for sample in metric.samples for value in sample.labels.values()}
    text = text_of(path)
    by = {label.strip() for names in re.findall(r" by \(([^)]*)\)", text) for label in names.split(",")}
    assert by | set(re.findall(r"{{(\w+)}}", text)) <= {*labels, "quantile"}
    matched = re.findall(r'(\w+)=~?\\?"([^"\\]+)\\?"', text)
    assert {value for _, alternatives in matched for value in alternatives.split("|")} <= values


@pytest.mark.soak(instead="tests/house/test_deploy.py::test_alerts_and_panels_ask_for_labels_that_are_there")
def test_prometheus_itself_takes_rules_settings_and_a_scrape(tmp_path: Path, metrics: list[Metric]) -> None:
    for command in (
        ["apt-get", "download", "--quiet", "prometheus"],
        ["dpkg-deb", "-x", "prometheus.deb", "."],
    ):
        subprocess.run(command, cwd=tmp_path, check=True, timeout=300)
        for package in tmp_path.glob("prometheus_*.deb"):
            package.rename(tmp_path / "prometheus.deb")
    (tmp_path / "metrics.token").write_text("word", encoding="utf-8")
    for name in ("alerts.yml", "prometheus.yml"):
        (tmp_path / name).write_text(text_of(f"deploy/{name}"), encoding="utf-8")
    registry = CollectorRegistry()
    registry.register(type("Scraped", (Collector,), {"collect": lambda _: iter(metrics)})())
    scrape = generate_latest(registry).decode()
    promtool = tmp_path / "usr/bin/promtool"
    for words, given in (
        ("check config --lint=all --lint-fatal prometheus.yml", ""),
        ("check rules --lint=all --lint-fatal alerts.yml", ""),
        ("check metrics", scrape),
    ):
        told = subprocess.run(
            [promtool, *words.split()], cwd=tmp_path, input=given, capture_output=True, text=True, timeout=60
        )
        assert told.returncode == 0, told.stdout + told.stderr


def test_each_alert_says_what_to_do() -> None:
    rules = [
        rule for group in yaml.safe_load(text_of("deploy/alerts.yml"))["groups"] for rule in group["rules"]
    ]
    assert rules
    for rule in rules:
        assert rule["alert"].startswith("Cardinal")
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"].endswith(".")


def test_the_board_of_grafana_has_no_two_panels_in_one_place() -> None:
    panels = json.loads(text_of("deploy/grafana.json"))["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}) == len(panels)


@pytest.mark.parametrize("path", FILES)
def test_settings_and_commands_that_a_file_names_are_there(path: str) -> None:
    text = text_of(path)
    assert set(re.findall(r"CARDINAL_[A-Z_]+", text)) <= SETTINGS
    assert set(re.findall(r"`cardinal ([a-z-]+)", text)) <= set(main.list_commands(Context(main)))


@pytest.mark.parametrize("created", CLUSTER, ids=lambda it: f"{it['kind']} {it['metadata']['name']}")
def test_kubernetes_knows_each_key(created: dict[str, Any]) -> None:
    kubernetes_validate.validate(created, "1.37", strict=True)
    unknown = {**created, "spec": {**created["spec"], "selectors": {}}}
    with pytest.raises(kubernetes_validate.ValidationError, match="'selectors' was unexpected"):
        kubernetes_validate.validate(unknown, "1.37", strict=True)


def service_links() -> dict[str, str]:
    """Return the environment that a pod gets for the services beside it, unless it wants none.

    Source: kubernetes.io/docs/concepts/services-networking/service, "Environment variables".
    """
    links = {}
    for service in (made for made in CLUSTER if made["kind"] == "Service"):
        prefix = service["metadata"]["name"].upper().replace("-", "_")
        links[f"{prefix}_SERVICE_HOST"] = "10.96.0.7"
        for port in service["spec"]["ports"]:
            links[f"{prefix}_SERVICE_PORT_{port['name'].upper()}"] = str(port["port"])
            links[f"{prefix}_PORT_{port['port']}_TCP"] = f"tcp://10.96.0.7:{port['port']}"
    return links


def test_a_pod_gets_no_settings_that_cardinal_refuses(tmp_path: Path) -> None:
    home = {"CARDINAL_HOME": str(tmp_path)}
    with pytest.raises(ConfigError, match="CARDINAL_WEB_SERVICE_HOST is not a setting"):
        configuration.read(home | service_links(), tmp_path)
    for spec, container in containers().values():
        given = {one["name"]: one.get("value", "a") for one in container.get("env", ())} | home
        configuration.read(
            given | (service_links() if spec.get("enableServiceLinks", True) else {}), tmp_path
        )


def containers() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return each pod's specification and its container, by the container's name."""
    specs = [made["spec"]["template"]["spec"] for made in CLUSTER if made["kind"] != "Service"]
    return {spec["containers"][0]["name"]: (spec, spec["containers"][0]) for spec in specs}


def test_kubernetes_runs_what_compose_does_under_the_same_locks() -> None:
    for name, (spec, container) in containers().items():
        service = COMPOSE[name]
        assert container["image"] == service["image"]
        assert container.get("command", service.get("command")) == service.get("command")
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert spec["securityContext"]["runAsNonRoot"]
        assert spec["automountServiceAccountToken"] is False
    assert containers().keys() == {"web", "workers", "redis", "database"}


def test_only_the_workers_of_a_cluster_see_the_machine_and_its_engine() -> None:
    paths = {
        name: {volume["hostPath"]["path"] for volume in spec["volumes"] if "hostPath" in volume}
        for name, (spec, _) in containers().items()
    }
    assert paths.pop("workers") == {"/var/lib/cardinal", "/var/run/docker.sock"}
    assert set().union(*paths.values()) == set()
    for spec, container in containers().values():
        claims = {"data"} if container["name"] == "database" else set()
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in spec["volumes"]} | claims


def test_each_secret_and_service_of_a_cluster_is_there() -> None:
    created = set(re.findall(r"create secret generic (\S+)", text_of("deploy/kubernetes.yml")))
    named = set(re.findall(r"secret(?:Name: |Ref: {name: )([\w-]+)", text_of("deploy/kubernetes.yml")))
    assert named == created == {f"cardinal-{name}" for name in ("web", "workers", "key", "redis", "database")}
    # A secret's files belong to root: only the group of `fsGroup` may read them.
    for spec, _ in containers().values():
        assert spec["securityContext"]["fsGroup"] == spec["securityContext"]["runAsUser"]
    pods = [made["spec"]["template"]["metadata"]["labels"] for made in CLUSTER if made["kind"] != "Service"]
    services = [made for made in CLUSTER if made["kind"] == "Service"]
    assert all(service["spec"]["selector"] in pods for service in services)
    assert {service["metadata"]["name"] for service in services} == {"cardinal-web", "redis", "database"}


def test_the_unit_is_that_of_the_first_half_hour() -> None:
    page = (ROOT / "docs/thirty-minutes.md").read_text(encoding="utf-8")
    assert f"```ini\n{text_of('deploy/cardinal.service')}```" in page


def test_old_back_ups_go_and_nothing_else(tmp_path: Path) -> None:
    backups = tmp_path / ".cardinal/backups"
    backups.mkdir(parents=True)
    old = time.time() - 20 * 86_400
    for name, at in (("ledger-1.db", old), ("ledger-2.db", time.time()), ("mine.db", old)):
        (backups / name).touch()
        os.utime(backups / name, (at, at))
    backup, find = re.findall(r"^ExecStart=(.*)$", text_of("deploy/cardinal-backup.service"), re.MULTILINE)
    assert backup.endswith("/bin/cardinal backup")
    subprocess.run(find.split(), cwd=tmp_path, check=True, timeout=60)
    assert sorted(path.name for path in backups.iterdir()) == ["ledger-2.db", "mine.db"]


def test_githubs_command_line_runs_cardinals(tmp_path: Path) -> None:
    extension, cardinal = ROOT / "deploy/gh-cardinal", tmp_path / "cardinal"
    cardinal.write_text('#!/bin/sh\nprintf "%s|" "$@"\nexit 3\n', encoding="utf-8")
    cardinal.chmod(0o755)

    def run(path: str) -> tuple[int, str]:
        command = (extension, "card", "a b", "$x")
        done = subprocess.run(
            command, env={"PATH": path}, capture_output=True, text=True, timeout=60, check=False
        )
        return done.returncode, done.stdout + done.stderr

    assert run(f"{tmp_path}:/bin") == (3, "card|a b|$x|")
    code, said = run("/nowhere")
    assert (code, "install its wheel with pipx" in said) == (2, True)
