"""Claude on Amazon Bedrock: the agent speaks the Messages protocol, the gateway signs and unframes."""

import asyncio
import base64
import json
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from runner.agents.contract import Usage
from runner.gateway.control.messages import CallRefusal, ProviderFailure
from runner.gateway.models.bedrock import FRAMES, Bedrock, Frames, model_id, root, translate
from runner.gateway.models.prices import UnknownPriceError, price_of
from runner.gateway.models.protocol import ModelRequest
from runner.gateway.models.upstream import AgentRequest, CredentialsError
from runner.run.provider import BedrockProvider, Provider, TokenPrice
from tests.runner.gateway.upstream import Answer, Got, messages
from tests.runner.gateway.world import PATHS, TERMS, Scene, ask, scene

OPUS = "claude-opus-5-5"
ACCESS, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
USAGE = {"input_tokens": 1000, "cache_read_input_tokens": 4000}


def bedrock_of(url: str = "", **more: Any) -> BedrockProvider:
    given = {"region": "eu-central-1", "profile": "eu", "access_key": ACCESS, **more}
    return BedrockProvider("bedrock", url, given.pop("key", SECRET), given.pop("prices", ()), **given)


@contextmanager
def bedrock(folder: Path, models: tuple[str, ...] = (OPUS,), **more: Any) -> Iterator[Scene]:
    """Run a gateway that pays for Anthropic's models on Bedrock."""
    terms = type(TERMS)(models=models)
    with scene(folder, terms, others=lambda url: {"anthropic": bedrock_of(url, **more)}) as world:
        yield world


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    """Return one message of Amazon's event stream (smithy.io/2.0/aws/amazon-eventstream.html)."""
    packed = b"".join(
        struct.pack("!B", len(name))
        + name.encode()
        + b"\x07"
        + struct.pack("!H", len(value))
        + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack("!II", 12 + len(packed) + len(payload) + 4, len(packed))
    prelude += struct.pack("!I", zlib.crc32(prelude))
    whole = prelude + packed + payload
    return whole + struct.pack("!I", zlib.crc32(whole))


def chunk(event: bytes) -> bytes:
    """Return the frame of a server-sent event's payload."""
    data = event.partition(b"data: ")[2].strip()
    body = json.dumps({"bytes": base64.b64encode(data).decode(), "p": "abcd"}).encode()
    return frame(
        {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}, body
    )


def fault(kind: str, text: str) -> bytes:
    body = json.dumps({"message": text}).encode()
    return frame({":exception-type": kind, ":message-type": "exception"}, body)


def signature_of(got: Got, secret: str) -> str:
    """Return the signature that botocore's own signer puts on the request as it arrived."""
    (authorization,) = got.header("authorization")
    names = re.search(r"SignedHeaders=([^,]+)", authorization)
    assert names is not None
    headers = {name: got.header(name)[0] for name in names[1].split(";")}
    request = AWSRequest("POST", f"http://{headers['host']}{got.path}", headers, got.body)
    request.context["timestamp"] = headers["x-amz-date"]
    signer = SigV4Auth(Credentials(ACCESS, secret), "bedrock", "eu-central-1")
    signer_said = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    return str(signer_said)


def test_a_call_is_signed_unframed_and_metered(tmp_path: Path) -> None:
    pieces = messages("Grüße", "漢字", usage=USAGE, output_tokens=500)
    framed = b"".join(map(chunk, pieces))
    with bedrock(tmp_path) as world:
        world.upstream.answers.append(Answer((framed[:100], framed[100:777], framed[777:]), kind=FRAMES))
        betas = "claude-code-20250219,context-management-2025-06-27"
        headers = {"anthropic_beta": betas, "authorization": "Bearer none"}
        reply = world.post(PATHS["messages"] + "?beta=true", ask(OPUS, max_tokens=700), **headers)
        assert (reply.status, reply.headers["content-type"]) == (200, "text/event-stream")
        assert reply.body == b"".join(pieces)
        got = world.upstream.got[0]
        assert got.path == f"/model/eu.anthropic.{OPUS}/invoke-with-response-stream"
        body = json.loads(got.body)
        assert (body["anthropic_version"], body["max_tokens"]) == ("bedrock-2023-05-31", 700)
        assert body["anthropic_beta"] == ["context-management-2025-06-27"]
        assert body.keys().isdisjoint({"model", "stream"})
        (authorization,) = got.header("authorization")
        assert f"Credential={ACCESS}/" in authorization
        assert authorization.endswith(f"Signature={signature_of(got, SECRET)}")
        assert signature_of(got, SECRET + "x") not in authorization
        (used,) = world.ears.wait(Usage)
        plain = 1000 * 4.4e-6 + 4000 * 0.22e-6 + 500 * 22e-6  # of a region's profile, by the price list
        assert used == Usage(pytest.approx(plain), 5000, 500, 1)  # type: ignore[arg-type]


def test_the_signature_is_of_the_bytes_that_arrive_whatever_the_models_name(tmp_path: Path) -> None:
    arn = "arn:aws:bedrock:eu-central-1:1234:application-inference-profile/a+b~c"
    whole = json.dumps({"content": [], "usage": {**USAGE, "output_tokens": 7}}).encode()
    with bedrock(tmp_path, (arn,), prices=(TokenPrice(arn, 1.0, 2.0),)) as world:
        world.upstream.answers.append(Answer((whole,), kind="application/json"))
        assert world.post(PATHS["messages"], ask(arn, stream=False)).body == whole
        got = world.upstream.got[0]
        assert got.path.endswith("application-inference-profile%2Fa%2Bb~c/invoke")
        assert got.header("authorization")[0].endswith(f"Signature={signature_of(got, SECRET)}")
        assert world.ears.wait(Usage)[0].output_tokens == 7


def test_a_fault_in_the_stream_reaches_the_agent_in_its_own_protocol(tmp_path: Path) -> None:
    start = messages("hi", usage=USAGE)[:4]
    framed = b"".join(map(chunk, start)) + fault("throttlingException", "too many tokens")
    with bedrock(tmp_path) as world:
        world.upstream.answers.append(Answer((framed,), kind=FRAMES))
        reply = world.post(PATHS["messages"], ask(OPUS))
        last = json.loads(reply.body.rpartition(b"data: ")[2])
        assert last == {"type": "error", "error": {"type": "rate_limit_error", "message": "too many tokens"}}
        (failure,) = world.ears.wait(ProviderFailure)
        assert "bedrock broke off its answer: too many tokens" in failure.detail


def test_frames_that_cannot_be_read_are_a_failure(tmp_path: Path) -> None:
    with bedrock(tmp_path) as world:
        world.upstream.answers.append(
            Answer((chunk(messages("x", usage=USAGE)[0])[:-1] + b"?" * 40,), kind=FRAMES)
        )
        assert not world.post(PATHS["messages"], ask(OPUS)).whole
        (failure,) = world.ears.wait(ProviderFailure)
        assert "its frames cannot be read: ChecksumMismatch" in failure.detail


def test_the_budget_cuts_a_framed_answer_and_refuses_the_next(tmp_path: Path) -> None:
    long = messages(*["word " * 8_000] * 12, usage=USAGE, output_tokens=40_000)
    with bedrock(tmp_path) as world:
        world.open(usd_left=0.1)
        world.upstream.answers.append(Answer(tuple(map(chunk, long)), kind=FRAMES))
        reply = world.post(PATHS["messages"], ask(OPUS, max_tokens=64_000))
        assert json.loads(world.upstream.got[0].body)["max_tokens"] < 8_000
        assert reply.body.endswith(b"\n\n")
        assert b"the budget is used up" in reply.body.rpartition(b"data: ")[2]
        assert world.ears.wait(Usage)[0].usd < 0.5  # all of it would cost over a dollar
        assert world.post(PATHS["messages"], ask(OPUS)).status == 400
        assert {call_refusal.kind for call_refusal in world.ears.wait(CallRefusal, 2)} == {"budget"}
        assert len(world.upstream.got) == 1


def test_a_refused_signature_ends_the_run_with_the_setting(tmp_path: Path) -> None:
    with bedrock(tmp_path) as world:
        told = json.dumps({"message": f"The Canonical String should have been {SECRET}"}).encode()
        world.upstream.answers.append(Answer((told,), status=403, kind="application/json"))
        reply = world.post(PATHS["messages"], ask(OPUS))
        (failure,) = world.ears.wait(ProviderFailure)
        assert (reply.status, failure.final) == (403, True)
        assert "check CARDINAL_BEDROCK_SECRET_KEY, and that it may use the model, then" in failure.detail
        assert SECRET not in reply.body.decode() + failure.detail


def test_an_error_of_bedrock_is_counted_with_its_words_and_counting_is_left_to_the_agent(
    tmp_path: Path,
) -> None:
    with bedrock(tmp_path) as world:
        told = b'{"message": "Bedrock is unable to process your request."}'
        world.upstream.answers.append(Answer((told,), status=503, kind="application/json"))
        assert world.post(PATHS["messages"], ask(OPUS)).status == 503
        (failure,) = world.ears.wait(ProviderFailure)
        assert "bedrock answered 503: Bedrock is unable to process" in failure.detail
        assert world.post(PATHS["messages"] + "/count_tokens", ask(OPUS, stream=False)).status == 404
        assert len(world.upstream.got) == 1


@pytest.mark.parametrize(
    ("model", "known_as"),
    [
        (OPUS, f"eu.anthropic.{OPUS}"),
        ("global.anthropic.claude-x-v1:0", "global.anthropic.claude-x-v1:0"),
        ("arn:aws:bedrock:x", "arn:aws:bedrock:x"),
        ("../x", "eu.anthropic.../x"),
    ],
)
def test_a_request_is_translated(model: str, known_as: str) -> None:
    path, body = translate(bedrock_of(), {"model": model, "stream": True, "max_tokens": 7}, ())
    assert model_id(bedrock_of(), model) == known_as
    assert path == f"/model/{known_as.replace('/', '%2F').replace(':', '%3A')}/invoke-with-response-stream"
    assert json.loads(body) == {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 7}


def test_each_profile_has_its_price_and_an_unknown_model_none() -> None:
    told = [price_of(bedrock_of(profile=profile), OPUS).model.id for profile in ("eu", "global")]
    assert told == [f"regional.anthropic.{OPUS}", f"global.anthropic.{OPUS}"]
    with pytest.raises(UnknownPriceError, match="CARDINAL_PRICES=arn:x="):
        price_of(bedrock_of(), "arn:x")
    assert root(bedrock_of()) == "https://bedrock-runtime.eu-central-1.amazonaws.com"


def test_a_stream_is_read_in_pieces_of_any_size() -> None:
    pieces = messages("a", "b", usage=USAGE)
    framed = b"".join(map(chunk, pieces))
    for size in (1, 7, 64, 100_000):
        frames = Frames()
        read = b"".join(frames.feed(framed[at : at + size]) for at in range(0, len(framed), size))
        assert read == b"".join(pieces)


def test_without_an_access_key_the_machines_own_credentials_sign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "credentials"
    file.write_text(
        "[default]\naws_access_key_id = AKMACHINE\naws_secret_access_key = s\naws_session_token = t\n"
    )
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    request = ModelRequest(OPUS, True, 1, {"model": OPUS}, b"{}", ())
    upstream = Bedrock(bedrock_of(key="", access_key=""))
    outgoing = asyncio.run(upstream.outgoing(AgentRequest("/v1/messages", b"", request, ())))
    headers = dict(outgoing.headers)
    assert b"Credential=AKMACHINE/" in headers[b"authorization"]
    assert headers[b"x-amz-security-token"] == b"t"
    file.write_text("")
    with pytest.raises(CredentialsError, match="no access key"):
        asyncio.run(Bedrock(bedrock_of(key="", access_key="")).outgoing(AgentRequest("", b"", request, ())))


def test_no_secret_is_in_what_a_provider_prints() -> None:
    assert SECRET not in repr(bedrock_of())
    assert "sesame" not in repr(Provider("anthropic", "", "sesame"))
