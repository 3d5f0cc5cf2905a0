"""The compose file gives each service what it works with, and nothing besides."""

import yaml

from tests.house.source import ROOT

HOME = "${CARDINAL_HOME:-/var/lib/cardinal}"
SERVICES = yaml.safe_load((ROOT / "docker/compose.yml").read_text(encoding="utf-8"))["services"]


def test_a_compose_file_without_a_registry_names_only_images_that_are_built_here() -> None:
    built = {"cardinal:latest", "cardinal/postgres:latest"}
    assert {service["image"] for service in SERVICES.values()} == built
    assert [name for name, service in SERVICES.items() if "build" in service] == []
    images = (ROOT / "scripts/images").read_text(encoding="utf-8")
    assert all(f"build {image} " in images for image in built)


def test_the_web_server_sees_its_own_settings_the_ledger_and_what_runs_left_to_be_read() -> None:
    assert SERVICES["web"]["volumes"] == [
        f"{HOME}/web:{HOME}",
        f"{HOME}/data:{HOME}/data",
        f"{HOME}/artifacts:{HOME}/artifacts:ro",
    ]


def test_only_the_workers_see_the_home_and_the_engine() -> None:
    mounts = {name: set(service.get("volumes", ())) for name, service in SERVICES.items()}
    seeing = [name for name, found in mounts.items() if f"{HOME}:{HOME}" in found]
    reaching = [name for name, found in mounts.items() if any(".sock" in one for one in found)]
    assert (seeing, reaching) == (["workers"], ["workers", "workers-b"])


def test_no_secret_is_in_a_services_environment() -> None:
    given = {name: set(service.get("environment", ())) for name, service in SERVICES.items()}
    assert set().union(*given.values()) == {"CARDINAL_HOME", "CARDINAL_HOST"}
