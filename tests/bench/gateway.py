"""What a gateway adds: to the first byte of an answer, to a core for a long stream, and to memory."""

import http.client
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil

from runner.gateway.control.link import Gateway, warm
from tests.bench.figures import Figure
from tests.runner.gateway.upstream import Answer, Upstream, event, messages, provider
from tests.runner.gateway.world import PATHS, TERMS, Ears, Line, Scene, ask, providers, scene

CALLS, FEW_CALLS = 300, 10
STREAM_BYTES, SHORT_BYTES = 500_000_000, 5_000_000
GATEWAYS, FEW_GATEWAYS = 50, 3
EACH_MB = 30
PROMPT_BYTES = 50_000
MB = 1_000_000
WORDS = "word " * 8  # about what one event of a real answer holds


def measure(*, quick: bool) -> Iterator[Figure]:
    """Measure with a provider on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _first_bytes(Path(folder), FEW_CALLS if quick else CALLS)
        yield from _stream(Path(folder), SHORT_BYTES if quick else STREAM_BYTES)
        yield from _memory(Path(folder), FEW_GATEWAYS if quick else GATEWAYS)


def _first_bytes(folder: Path, calls: int) -> Iterator[Figure]:
    body = json.dumps(ask(x="y" * PROMPT_BYTES)).encode()
    with scene(folder, replace(TERMS, calls_per_minute=10 * calls)) as world:
        world.upstream.answers.append(Answer(messages("hi", usage={"input_tokens": 3})))
        world.open(usd_left=1000)
        straight = http.client.HTTPConnection(world.upstream.url.removeprefix("http://"))
        through = Line(world.gateway.folder)
        direct, behind = [], []
        for _ in range(calls):  # in turns, so that both see the same machine
            direct.append(_first_byte_ms(straight, "/v1/messages", body))
            behind.append(_first_byte_ms(through, PATHS["messages"], body))
            world.ears.hear(0.01)
        straight.close()
        through.close()
    added = statistics.median(behind) - statistics.median(direct)
    note = (
        f"median of {calls} calls with {PROMPT_BYTES // 1000} KB, {statistics.median(direct):.1f} ms direct"
    )
    yield Figure("gateway_first_byte_added", added, "ms", 5, note)


def _first_byte_ms(line: http.client.HTTPConnection, path: str, body: bytes) -> float:
    start = time.perf_counter()
    line.request("POST", path, body)
    answer = line.getresponse()
    answer.read1(1)
    took_s = time.perf_counter() - start
    answer.read()
    return took_s * 1000


def _stream(folder: Path, count_bytes: int) -> Iterator[Figure]:
    delta = event("content_block_delta", index=0, delta={"type": "text_delta", "text": WORDS})
    piece = delta * (65_536 // len(delta))
    first, *_, last, end = messages(usage={"input_tokens": 3})
    with scene(folder) as world:
        pieces = (first, *[piece] * (count_bytes // len(piece)), last, end)
        world.upstream.answers.append(Answer(pieces))
        world.open(usd_left=1_000_000)
        gateway = psutil.Process(world.gateway.pid)
        before = gateway.cpu_times()
        line = world.begin(PATHS["messages"], ask())
        answer = line.getresponse()
        read = 0
        while got := answer.read(1 << 20):
            read += len(got)
        line.close()
        after = gateway.cpu_times()
    core_s = after.user + after.system - before.user - before.system
    note = f"core seconds of the gateway, from {read / MB:.0f} MB in events of {len(delta)} bytes"
    yield Figure("gateway_500_mb_streamed", core_s / read * 500 * MB, "s", 60, note)


def _memory(folder: Path, count: int) -> Iterator[Figure]:
    warm()
    with provider() as upstream:
        upstream.answers.append(Answer(messages("hi", usage={"input_tokens": 3})))
        start = time.perf_counter()
        gateways = [
            Gateway.spawn(folder / str(number), TERMS, providers(upstream.url)) for number in range(count)
        ]
        spawned_s = (time.perf_counter() - start) / count
        try:
            for gateway in gateways:
                _use(gateway, upstream)
            sizes = [psutil.Process(one.pid).memory_full_info().pss for one in gateways]
        finally:
            for gateway in gateways:
                gateway.close()
    yield Figure("gateway_spawn", spawned_s * 1000, "ms", note="forked from a warm parent until it is ready")
    note = f"{count} at once, each after two calls"
    yield Figure(f"gateways_{count}_pss", sum(sizes) / MB, "MB", EACH_MB * count, note)


def _use(gateway: Gateway, upstream: Upstream) -> None:
    world = Scene(upstream, gateway, Ears(gateway))
    world.open()
    for _ in range(2):
        assert world.post(PATHS["messages"], ask()).status == 200
