"""What `deploy/` names is there: metrics, settings, commands."""

import dataclasses
import json
import re
from pathlib import Path

import pytest
import yaml
from click import Context
from prometheus_client.metrics_core import Metric

from bot.cli import main
from bot.github.shared_records import home_records
from bot.system import config as configuration
from bot.system.clock import utc_now
from bot.system.config import Config
from bot.web.metrics import Metrics
from ledger.lifecycle.open import open_ledger
from tests.house.source import ROOT, tracked

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
