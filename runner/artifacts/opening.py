"""Opens the store of a host, as its settings name it."""

from pathlib import Path

from runner.artifacts.blobs import BlobStore
from runner.artifacts.folder import FolderStore
from runner.artifacts.s3 import S3Store
from runner.artifacts.sealing import key_of
from runner.run.run_spec import StoreSpec


def open_store(spec: StoreSpec, own: Path) -> BlobStore:
    """Return the store; `own` is the folder of a home that shares none. Nothing is connected to yet."""
    key = key_of(spec.encryption_key)
    if spec.address.startswith("s3://"):
        return BlobStore(S3Store(spec), key)
    folder = FolderStore(Path(spec.address), spec.mark) if spec.address else FolderStore(own)
    return BlobStore(folder, key)
