"""A real server that speaks S3, on this machine alone."""

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from botocore.session import Session

from runner.run.run_spec import StoreSpec

START_S = 60
_LISTENS = re.compile(rb"Running on (http://[\d.]+:\d+)")


@contextmanager
def s3_server(prefix: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the address of moto's server, which has one bucket, `runs`; `prefix` is what starts it."""
    server = subprocess.Popen(
        (*prefix, sys.executable, "-m", "moto.server", "-p", "0"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert server.stderr is not None
    errors = server.stderr
    try:
        said, until = b"", time.monotonic() + START_S
        while not (listens := _LISTENS.search(said)):
            ready = select.select([errors], [], [], max(0.0, until - time.monotonic()))[0]
            chunk = os.read(errors.fileno(), 1 << 16) if ready else b""
            assert chunk, said
            said += chunk
        address = listens[1].decode()
        client = Session().create_client(
            "s3",
            endpoint_url=address,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )
        client.create_bucket(Bucket="runs")
        client.close()
        yield address
    finally:
        server.kill()
        server.wait()
        errors.close()


def in_bucket(address: str, **more: str) -> StoreSpec:
    """Return the settings of a store in that server's bucket."""
    return StoreSpec("s3://runs/cardinal", address, "us-east-1", "test", "test", **more)
