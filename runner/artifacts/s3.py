"""A store in a bucket of Amazon S3, or of a server that speaks its protocol.

boto3 is the library, and an extra: it is Amazon's own, finds the credentials of a machine's role, and starts
no thread here. obstore is lighter (16 MB instead of 36), but its threads do not survive the forks of workers.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import cache
from io import FileIO
from typing import Any, BinaryIO

from runner.artifacts.backend import (
    DIGEST,
    MAX_BLOB_BYTES,
    MAX_TRANSFER_S,
    Beat,
    Listed,
    OversizedBlobError,
    StoreError,
    pieces,
    slow,
    unheard,
)
from runner.run.run_spec import StoreSpec

CONNECT_S, SILENCE_S = 5.0, 30.0
ATTEMPTS = 3
_SERVERS_FAULT = 500  # and above: statuses of HTTP
_ABSENT = ("404", "NoSuchKey", "NotFound")
_REGION = "us-east-1"  # servers other than Amazon's want some name, and do not care which
_INSTALL = "install it: `pip install 'cardinal-board[s3]'`"
_REMEDIES = {
    "NoSuchBucket": "make the bucket, or correct CARDINAL_STORE",
    "AccessDenied": "let the credentials read, write, list and delete objects there",
    "403": "let the credentials read, write, list and delete objects there",
    "InvalidAccessKeyId": "correct CARDINAL_STORE_ACCESS_KEY",
    "SignatureDoesNotMatch": "correct CARDINAL_STORE_SECRET_KEY",
}
_AWAY = "look at CARDINAL_STORE_URL, and whether its server answers, then retry"


class S3Store:
    """Objects named `<prefix>/<two digits>/<digest>`. Nothing else in the bucket is looked at."""

    def __init__(self, spec: StoreSpec) -> None:
        bucket, _, prefix = spec.address.removeprefix("s3://").partition("/")
        self._spec, self._bucket = spec, bucket
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""

    @property
    def address(self) -> str:
        return self._spec.address

    def put(self, source: BinaryIO, name: str, *, beat: Beat = unheard) -> None:
        """Send the bytes in one request, from the file."""
        size_bytes = source.seek(0, os.SEEK_END)
        if size_bytes > MAX_BLOB_BYTES:
            raise OversizedBlobError(self.address, "written")
        body = _Body(source, self.address, beat)
        try:
            self._call("written", "put_object", Key=self._key(name), Body=body, ContentLength=size_bytes)
        except StoreError:
            if body.fault is not None:  # the library wraps whatever a body raises
                raise body.fault from None
            raise

    def get(self, name: str, *, beat: Beat = unheard) -> FileIO | None:
        answer = self._find("read", "get_object", name)
        if answer is None:
            return None
        with ExitStack() as until_whole, self._report_errors("read"):
            file = until_whole.enter_context(tempfile.TemporaryFile(buffering=0))
            with answer["Body"] as body:
                for chunk in pieces(body, self.address, "read", beat):
                    file.write(chunk)
            file.seek(0)
            until_whole.pop_all()
            return file

    def age_s(self, name: str) -> float | None:
        """Return the seconds since the object was last written, by the server's clock."""
        answer = self._find("read", "head_object", name)
        return None if answer is None else _age_s(answer["LastModified"], answer)

    def listing(self) -> Iterator[Listed]:
        """Yield the objects, page by page."""
        more: dict[str, str] = {}
        while True:
            page = self._call("read", "list_objects_v2", Prefix=self._prefix, **more)
            for row in page.get("Contents", ()):
                name = row["Key"].rpartition("/")[2]
                if DIGEST.fullmatch(name) and row["Key"] == self._key(name):
                    yield Listed(name, _age_s(row["LastModified"], page))
            if not page.get("IsTruncated"):
                return
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def delete(self, name: str) -> None:
        """Remove the object; S3 does not mind a missing one."""
        if DIGEST.fullmatch(name):
            self._call("written", "delete_object", Key=self._key(name))

    def _key(self, digest: str) -> str:
        return f"{self._prefix}{digest[:2]}/{digest}"

    def _find(self, what: str, operation: str, digest: str) -> Any:
        """Return the answer about an object; None where it does not exist."""
        if not DIGEST.fullmatch(digest):
            return None
        from botocore.exceptions import ClientError

        with self._report_errors(what):
            try:
                return getattr(self._client(), operation)(Bucket=self._bucket, Key=self._key(digest))
            except ClientError as error:
                if str(error.response.get("Error", {}).get("Code")) in _ABSENT:
                    return None
                raise

    def _call(self, what: str, operation: str, **given: object) -> Any:
        with self._report_errors(what):
            return getattr(self._client(), operation)(Bucket=self._bucket, **given)

    def _client(self) -> Any:
        return _client(os.getpid(), self._spec)

    @contextmanager
    def _report_errors(self, what: str) -> Iterator[None]:
        try:
            from botocore.exceptions import BotoCoreError, ClientError
        except ImportError as error:
            raise StoreError(self.address, what, "the package boto3 is not there", _INSTALL) from error
        try:
            yield
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            remedy = _REMEDIES.get(code, "see what its server says of it")
            away = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= _SERVERS_FAULT
            raise StoreError(self.address, what, code or "it was refused", remedy, away=away) from error
        except (BotoCoreError, OSError) as error:
            raise StoreError(self.address, what, type(error).__name__, _AWAY, away=True) from error


@cache
def _client(pid: int, spec: StoreSpec) -> Any:  # noqa: ARG001 - of this process alone: a fork shares no connection
    import boto3
    from botocore.config import Config

    config = Config(
        connect_timeout=CONNECT_S,
        read_timeout=SILENCE_S,
        retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
        # Servers other than Amazon's do not know the newer check sums; the digest is checked here.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path" if spec.endpoint else "auto"},
    )
    keys = {"aws_access_key_id": spec.access_key, "aws_secret_access_key": spec.secret_key}
    return boto3.session.Session().client(
        "s3",
        endpoint_url=spec.endpoint or None,
        region_name=spec.region or (_REGION if spec.endpoint else None),
        config=config,
        **(keys if spec.access_key else {}),
    )


class _Body:
    """A file on its way out: it beats for each piece, and ends a request that takes too long."""

    def __init__(self, source: BinaryIO, address: str, beat: Beat) -> None:
        self._source, self._address, self._beat = source, address, beat
        self._until = time.monotonic() + MAX_TRANSFER_S
        self.fault: Exception | None = None
        source.seek(0)

    def read(self, most: int = -1) -> bytes:
        try:
            self._beat()
            if time.monotonic() > self._until:
                raise slow(self._address, "written")
        except Exception as error:
            self.fault = error
            raise
        return self._source.read(most)

    def seek(self, at: int, whence: int = os.SEEK_SET) -> int:
        return self._source.seek(at, whence)

    def tell(self) -> int:
        return self._source.tell()


def _age_s(written: datetime, answer: dict[str, Any]) -> float:
    """Return the seconds from then to the answer's own date, which HTTP demands (RFC 9110, 6.6.1)."""
    date = parsedate_to_datetime(answer["ResponseMetadata"]["HTTPHeaders"]["date"])
    return (date - written).total_seconds()
