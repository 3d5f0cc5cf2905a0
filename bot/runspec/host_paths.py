"""Where this host keeps what belongs to runs: its folders, and the store that hosts may share."""

from sqlalchemy import Engine

from bot.runspec.store_mark import mark_store
from bot.system.config import Config
from runner.artifacts.store import Store, store_of
from runner.run.run_spec import HostPaths, StoreSpec


def make_host_paths(config: Config) -> HostPaths:
    """Return the folders of runs, and the store of all hosts."""
    root = config.home
    store = StoreSpec(
        address=config.store,
        endpoint=config.store_url,
        region=config.store_region,
        access_key=config.store_access_key,
        secret_key=config.store_secret_key.reveal(),
        encryption_key=config.store_encryption_key.reveal(),
    )
    return HostPaths(
        root / "mirrors",
        root / "workspaces",
        root / "logs",
        config.scenarios,
        store=store,
        packages=config.packages,
        runtime=config.runtime,
        agents=config.agents,
    )


def open_host_store(config: Config, engine: Engine) -> Store:
    """Return the store; what it then does raises StoreError where a shared folder is not the ledger's."""
    return store_of(mark_store(make_host_paths(config), engine))


def read_stored_text(config: Config, engine: Engine, digest: str, *, most_bytes: int) -> str | None:
    """Return the beginning of a stored text; None where its file is missing or damaged. Raises StoreError."""
    file = open_host_store(config, engine).opened(digest)
    if file is None:
        return None
    with file:
        return file.read(most_bytes).decode("utf-8", "replace")
