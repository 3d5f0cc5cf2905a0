"""A store gives back what it took, in a folder and in a bucket alike, or says in a sentence why it cannot."""

import hashlib
import io
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from runner.artifacts import backend, s3
from runner.artifacts.backend import OversizedBlobError, StoreError
from runner.artifacts.folder import FolderStore
from runner.artifacts.store import BlobStore, open_store
from runner.run.run_spec import StoreSpec
from tests.runner.artifacts.bucket import in_bucket, s3_server

KEY = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
OTHER = "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="
LARGE = bytes(range(256)) * 10_000  # more than two pieces
TEXT = b"a secret plan\n"
Make = Callable[..., BlobStore]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as address:
        yield address


@pytest.fixture(params=["folder", "bucket"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Return how the store is opened, with settings of its own."""
    if request.param == "folder":
        return lambda **more: open_store(StoreSpec(str(tmp_path / "shared"), **more), tmp_path)
    address: str = request.getfixturevalue("server")
    return lambda **more: open_store(in_bucket(address, **more), tmp_path)


def put(store: BlobStore, raw: bytes) -> str:
    digest = hashlib.sha256(raw).hexdigest()
    store.put(io.BytesIO(raw), digest)
    return digest


def read(store: BlobStore, digest: str) -> bytes | None:
    file = store.get(digest)
    if file is None:
        return None
    with file:
        return file.read()


@pytest.mark.parametrize("key", ["", KEY])
@pytest.mark.parametrize("raw", [b"", TEXT, LARGE])
def test_what_was_put_is_got_again_and_listed_until_it_is_deleted(make: Make, raw: bytes, key: str) -> None:
    store = make(encryption_key=key)
    digest = put(store, raw)
    assert put(store, raw) == digest
    assert read(store, digest) == raw
    age_s = store.age_s(digest)
    assert age_s is not None
    assert -60 < age_s < 60
    assert [blob.name for blob in store.listing() if blob.name == digest] == [digest]
    store.delete(digest)
    store.delete(digest)
    assert (store.get(digest), store.age_s(digest)) == (None, None)


# Puts a blob and prints the ages that are seen of it.
AGES = """\
import hashlib, io, json, pathlib, sys
from runner.run.run_spec import StoreSpec
from runner.artifacts.store import open_store
store = open_store(StoreSpec(**json.loads(sys.argv[1])), pathlib.Path("."))
digest = hashlib.sha256(b"").hexdigest()
store.put(io.BytesIO(), digest)
print(json.dumps([store.age_s(digest), *(blob.age_s for blob in store.listing() if blob.name == digest)]))
"""


@pytest.mark.parametrize("kind", ["folder", "bucket"])
def test_a_host_whose_clock_is_off_sees_the_age_that_all_others_see(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    if shutil.which("faketime") is None:
        pytest.skip("needs faketime: run scripts/services as root")
    spec = StoreSpec(str(tmp_path)) if kind == "folder" else in_bucket(request.getfixturevalue("server"))
    args = ("faketime", "-f", "+2h", sys.executable, "-c", AGES, json.dumps(asdict(spec)))
    # Files keep true times, whoever reads them: as from a server with a clock of its own.
    said = subprocess.check_output(args, env={**os.environ, "NO_FAKE_STAT": "1"}, timeout=120)
    ages = json.loads(said)
    assert len(ages) == 2
    assert all(-60 < age_s < 60 for age_s in ages), ages


def test_other_bytes_under_a_digest_are_not_given_out(make: Make) -> None:
    store = make()
    digest = hashlib.sha256(TEXT).hexdigest()
    store.put(io.BytesIO(b"other"), digest)
    assert store.get(digest) is None
    store.delete(digest)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "a" * 63, "A" * 64, "a" * 64 + "/"])
def test_nothing_but_a_digest_is_a_name(make: Make, name: str) -> None:
    assert make().get(name) is None


def test_what_lies_in_an_encrypted_store_is_read_with_its_key_alone(make: Make) -> None:
    plain, sealed = make(), make(encryption_key=KEY)
    before = put(plain, LARGE)
    digest = put(sealed, TEXT)
    assert read(sealed, before) == LARGE  # of the time without a key
    for other in (plain, make(encryption_key=OTHER)):
        with pytest.raises(StoreError, match="CARDINAL_STORE_ENCRYPTION_KEY"):
            other.get(digest)


def test_nothing_of_the_text_is_in_an_encrypted_file_and_a_piece_less_is_noticed(tmp_path: Path) -> None:
    store = open_store(StoreSpec(encryption_key=KEY), tmp_path)
    digest = put(store, TEXT + LARGE)
    (file,) = tmp_path.glob("??/*")
    sealed = file.read_bytes()
    assert TEXT.strip() not in sealed
    file.write_bytes(sealed[: (1 << 20) + 200])
    with pytest.raises(StoreError, match="another key"):
        store.get(digest)


def test_a_blob_over_the_bound_is_neither_taken_nor_given(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make()
    digest = put(store, LARGE)
    for module in (backend, s3):
        monkeypatch.setattr(module, "MAX_BLOB_BYTES", 100_000)
    with pytest.raises(OversizedBlobError):
        store.put(io.BytesIO(LARGE), digest)
    with pytest.raises(OversizedBlobError):
        store.get(digest)


def test_who_is_stopped_meanwhile_stops_and_leaves_nothing_half_written(make: Make, tmp_path: Path) -> None:
    class Stopped(Exception):
        """As a run that lost its claim."""

    def beat() -> None:
        raise Stopped

    store, raw = make(), LARGE + b"stopped"
    digest = hashlib.sha256(raw).hexdigest()
    with pytest.raises(Stopped):
        store.put(io.BytesIO(raw), digest, beat=beat)
    assert store.age_s(digest) is None
    assert list(tmp_path.glob("shared/??/*.new")) == []


def test_a_transfer_that_takes_too_long_ends(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (backend, s3):
        monkeypatch.setattr(module, "MAX_TRANSFER_S", -1.0)
    with pytest.raises(StoreError, match="took longer"):
        put(make(), LARGE)


def test_a_bucket_that_is_not_there_is_named_with_what_to_do(server: str, tmp_path: Path) -> None:
    store = open_store(StoreSpec("s3://gone", server, "us-east-1", "test", "test"), tmp_path)
    with pytest.raises(StoreError, match=r"s3://gone could not be written \(NoSuchBucket\): make the bucket"):
        put(store, TEXT)


def test_a_server_that_says_nothing_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "SILENCE_S", 0.2)
    monkeypatch.setattr(s3, "ATTEMPTS", 1)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        spec = StoreSpec("s3://runs", f"http://127.0.0.1:{mute.getsockname()[1]}", "", "test", "test")
        with pytest.raises(StoreError, match=r"ReadTimeoutError\): look at CARDINAL_STORE_URL"):
            put(open_store(spec, tmp_path), TEXT)


def test_a_marked_folder_whose_mount_is_gone_is_away_and_gets_nothing(tmp_path: Path) -> None:
    root, mounted = tmp_path / "shared", tmp_path / "mounted"
    mark = FolderStore(root).mark()
    assert FolderStore(root).mark() == mark
    store = open_store(StoreSpec(str(root), mark=mark), tmp_path)
    digest = put(store, TEXT)
    root.rename(mounted)
    root.mkdir()
    acts: tuple[Callable[[], object], ...] = (
        lambda: put(store, TEXT),
        lambda: store.get(digest),
        lambda: store.age_s(digest),
        lambda: list(store.listing()),
        lambda: store.delete(digest),
    )
    for act in acts:
        with pytest.raises(StoreError, match=r"not there.*mount the store there again") as raised:
            act()
        assert raised.value.away
    assert list(root.iterdir()) == []
    FolderStore(root).mark()  # as a Cardinal with another ledger
    with pytest.raises(StoreError, match="that of another store"):
        store.get(digest)
    shutil.rmtree(root)
    mounted.rename(root)
    assert read(store, digest) == TEXT


def test_a_folder_where_nobody_may_write_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="CARDINAL_STORE"):
        put(open_store(StoreSpec(str(tmp_path / "file")), tmp_path), TEXT)
