"""Google's Gemini API: its paths, its figures, its errors, and what it could cost or reach."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from runner.agents.contract import Usage
from runner.gateway.control.messages import CallRefusal, ProviderFailure, Warned
from runner.gateway.control.terms import Terms
from runner.gateway.models.gemini import Counting, Gemini
from runner.gateway.models.protocol import UnreadableCallError, parse_request
from runner.gateway.models.request_contents import UnknownCostError, Weight, estimate_tokens
from runner.gateway.models.routes import route_of
from runner.run.provider import Provider
from tests.runner.gateway.test_money import price
from tests.runner.gateway.upstream import Answer
from tests.runner.gateway.world import KEY, Reply, Scene, scene

MODEL = "gemini-3.8-flash"
STREAM = f"/gemini/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
WHOLE = f"/gemini/v1beta/models/{MODEL}:generateContent"
FIGURES = {
    "promptTokenCount": 54_200,
    "cachedContentTokenCount": 50_000,
    "candidatesTokenCount": 200,
    "thoughtsTokenCount": 500,
    "toolUsePromptTokenCount": 300,
    "totalTokenCount": 55_200,
}
HI = [{"role": "user", "parts": [{"text": "hi"}]}]
FUNCTION = {"functionDeclarations": [{"name": "t"}]}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    terms = Terms(models=(MODEL, "no-price-1"))
    others = {"others": lambda url: {"gemini": Provider("gemini", f"{url}/v1beta/", KEY)}}
    with scene(tmp_path_factory.mktemp("gemini"), terms, **others) as new_scene:  # type: ignore[arg-type]
        yield new_scene


@pytest.fixture(autouse=True)
def _fresh(world: Scene) -> None:
    world.upstream.answers.clear()
    world.upstream.got.clear()
    world.ears.hear(0.05)
    world.ears.told.clear()
    world.open()


def chunk(text: str = "", figures: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    candidate = {"index": 0, "content": {"role": "model", "parts": [{"text": text}]}, **more}
    return {"candidates": [candidate], "usageMetadata": figures or {}, "modelVersion": MODEL}


def stream(*chunks: Mapping[str, Any]) -> Answer:
    return Answer(tuple(b"data: " + json.dumps(each).encode() + b"\r\n\r\n" for each in chunks))


def post(world: Scene, answer: Answer | None, path: str = STREAM, **fields: Any) -> Reply:
    if answer is not None:
        world.upstream.answers.clear()
        world.upstream.answers.append(answer)
    return world.post(path, {"contents": HI, "tools": [FUNCTION], **fields}, x_goog_api_key="dummy")


def test_an_answer_costs_what_its_figures_say_with_thoughts_cache_and_tools(world: Scene) -> None:
    early = {"promptTokenCount": 54_200, "thoughtsTokenCount": 90, "totalTokenCount": 54_290}
    reply = post(world, stream(chunk("Grüße", early), chunk("", FIGURES, finishReason="STOP")))
    assert (reply.status, reply.whole, "Gr\\u00fc" in reply.body.decode()) == (200, True, True)
    expected = price(
        "google",
        MODEL,
        input_tokens=54_500,
        input_tool_tokens=300,
        cache_read_tokens=50_000,
        output_tokens=700,
        output_reasoning_tokens=500,
    )
    assert expected == pytest.approx((4_500 * 0.75 + 50_000 * 0.075 + 700 * 3.75) / 1e6)
    usage = Usage(pytest.approx(expected, abs=1e-9), 54_500, 700, 1)  # type: ignore[arg-type]
    assert world.ears.wait(Usage) == [usage]
    body = json.dumps(chunk("hi", FIGURES, finishReason="STOP")).encode()
    assert post(world, Answer((body,), kind="application/json"), WHOLE).status == 200
    assert world.ears.wait(Usage, 2)[1] == usage
    assert world.ears.all(Warned) == []


def test_the_key_is_added_outside_and_the_answer_is_limited_in_its_own_field(world: Scene) -> None:
    config = {"maxOutputTokens": 900_000, "thinkingConfig": {"thinkingBudget": 900_000}, "topK": 3}
    answer = stream(chunk("", FIGURES, finishReason="STOP"))
    world.open(usd_left=0.5)
    post(world, answer, f"{STREAM}&key=dummy&fields=candidates", generationConfig=config)
    (got,) = world.upstream.got
    assert got.path == f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
    assert (got.header("x-goog-api-key"), got.header("authorization")) == ([KEY], [])
    sent = json.loads(got.body)["generationConfig"]
    assert 2_500 <= sent["maxOutputTokens"] <= 128_000
    assert sent["thinkingConfig"] == {"thinkingBudget": sent["maxOutputTokens"] // 2}
    assert sent["topK"] == 3


def test_a_search_costs_what_the_list_says_for_each_query(world: Scene) -> None:
    found = {"groundingMetadata": {"webSearchQueries": ["a", "b"]}, "finishReason": "STOP"}
    post(world, stream(chunk("hi", {"promptTokenCount": 10, "totalTokenCount": 10}, **found)))
    assert world.ears.wait(Usage)[0].usd == pytest.approx(2 * 0.014 + 10 * 0.75e-6)


def test_an_answer_without_final_figures_is_an_estimate_and_said_to_be_one(world: Scene) -> None:
    reply = post(world, stream(chunk("x" * 4000), chunk("", finishReason="STOP")))
    assert reply.status == 200
    assert world.ears.wait(Usage)[0].output_tokens >= 1000
    assert "gemini did not report the final usage" in world.ears.wait(Warned)[0].text


def test_an_answer_that_runs_over_the_budget_is_cut_in_googles_words(world: Scene) -> None:
    world.open(usd_left=0.05)
    written = [chunk("word " * 400)] * 200
    reply = post(world, stream(*written, chunk("", FIGURES, finishReason="STOP")))
    head, _, last = reply.body.rstrip().rpartition(b"data: ")
    assert 0 < head.count(b"data: ") < len(written)
    error = json.loads(last)["error"]
    assert (error["status"], "the budget is used up" in error["message"]) == ("FAILED_PRECONDITION", True)
    assert post(world, None).status == 400
    assert {refusal.kind for refusal in world.ears.wait(CallRefusal, 2)} == {"budget"}
    assert world.ears.wait(Usage)[0].usd >= 0.05


def test_an_answer_of_too_many_parts_is_passed_on_unread_and_its_cost_an_estimate(world: Scene) -> None:
    body = (
        b'{"candidates": [' + b"[]," * 300_000 + b"[]]," + json.dumps({"usageMetadata": FIGURES}).encode()[1:]
    )
    assert json.loads(body)["usageMetadata"] == FIGURES
    assert post(world, Answer((body,), kind="application/json"), WHOLE).body == body
    assert 0 < world.ears.wait(Usage)[0].input_tokens < 54_500


def test_a_prompt_that_google_blocks_costs_its_input_and_is_no_failure(world: Scene) -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    figures = {"usageMetadata": {"promptTokenCount": 10, "totalTokenCount": 10}}
    post(world, stream({**blocked, **figures}))
    assert (world.ears.wait(Usage)[0].input_tokens, world.ears.all(ProviderFailure)) == (10, [])


def test_a_stream_that_breaks_off_or_says_an_error_is_a_failure(world: Scene) -> None:
    post(world, stream(chunk("hi")))
    post(world, stream(chunk("hi"), {"error": {"code": 503, "message": "overloaded", "status": "X"}}))
    details = [failure.detail for failure in world.ears.wait(ProviderFailure, 2)]
    assert "in the middle" in details[0]
    assert "overloaded" in details[1]


def test_refusals_are_in_googles_words_and_nothing_is_sent(world: Scene) -> None:
    cases: list[tuple[str, dict[str, Any], str, str]] = [
        (STREAM.replace(MODEL, "gemini-9"), {}, "INVALID_ARGUMENT", "gemini-9"),
        (STREAM.replace(MODEL, "no-price-1"), {}, "INVALID_ARGUMENT", "CARDINAL_PRICES=no-price-1="),
        (STREAM, {"cachedContent": "cachedContents/1"}, "INVALID_ARGUMENT", "cachedContent"),
        (STREAM, {"tools": [{"googleSearch": {}}]}, "INVALID_ARGUMENT", "googleSearch"),
        (STREAM, {"tools": [{"url_context": {}}]}, "INVALID_ARGUMENT", "url_context"),
    ]
    for path, fields, status, message in cases:
        error = post(world, None, path, **fields).json["error"]
        assert (error["code"], error["status"], message in error["message"]) == (400, status, True), error
    world.open(usd_left=0.0)
    error = post(world, None).json["error"]
    assert (error["code"], error["status"]) == (400, "FAILED_PRECONDITION")  # not tried again
    assert [each.kind for each in world.ears.wait(CallRefusal, 6)][-2:] == ["network", "budget"]
    for path in (
        STREAM.partition("?")[0],
        f"{WHOLE[:-15]}embedContent",
        "/gemini/v1beta/models/a/b:generateContent",
    ):
        reply = post(world, None, path)
        assert (reply.status, reply.json["error"]["status"]) == (404, "NOT_FOUND"), path
    assert world.upstream.got == []


def test_a_key_that_google_does_not_know_is_final_at_once_and_not_shown(world: Scene) -> None:
    reason = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    error = {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT", "details": [reason]}
    answer = Answer((json.dumps({"error": error}).encode(),), status=400, kind="application/json")
    post(world, answer)
    (failure,) = world.ears.wait(ProviderFailure)
    assert (failure.final, "check CARDINAL_GEMINI_KEY" in failure.detail) == (True, True)


def test_counting_tokens_is_free_and_the_list_of_models_is_the_policys(world: Scene) -> None:
    world.upstream.answers.append(Answer((b'{"totalTokens": 42}',), kind="application/json"))
    path = f"/gemini/v1beta/models/{MODEL}:countTokens"
    assert world.post(path, {"contents": HI}).json == {"totalTokens": 42}
    assert world.upstream.got[0].path == path.removeprefix("/gemini")
    assert [each["name"] for each in world.get("/gemini/v1beta/models").json["models"]] == [
        f"models/{MODEL}", "models/no-price-1",
    ]  # fmt: skip
    assert world.ears.all(Usage) == []


def test_counting_opens_no_address_and_no_stored_file(world: Scene) -> None:
    path = f"/gemini/v1beta/models/{MODEL}:countTokens"
    inner = {"functionResponse": {"name": "t", "parts": [{"fileData": {"fileUri": "https://e.x/?said"}}]}}
    for part in (
        {"fileData": {"fileUri": "https://e.x/?said"}},
        {"file_data": {"file_uri": "files/1"}},
        inner,
    ):
        reply = world.post(path, said(part))
        assert (reply.status, b"stored at the provider" in reply.body) == (400, True), reply
    assert world.upstream.got == []


def test_no_header_of_the_agent_hides_the_usage_or_names_another_payer(world: Scene) -> None:
    world.upstream.answers.append(stream(chunk("hi", FIGURES, finishReason="STOP")))
    named = {"X_Goog_FieldMask": "candidates", "X_Goog_User_Project": "x", "X_Goog_Api_Key": "k"}
    world.post(STREAM, {"contents": HI}, X_HTTP_Method_Override="GET", X_Server="1", **named)
    (got,) = world.upstream.got
    sent = {name: value for name, value in got.headers if name.startswith("x-")}
    assert sent == {"x-server": "1", "x-goog-api-key": KEY}


def weigh(**fields: Any) -> Weight:
    given = {"contents": HI, **fields}
    request = parse_request(Gemini(), given, json.dumps(given).encode(), model=MODEL)
    return sum((weight for _, weight in estimate_tokens(given, Gemini().weigh, request.model)), Weight())


def said(*parts: Any) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": list(parts)}]}


def data(kind: str, size: int = 4000) -> dict[str, Any]:
    return {"inlineData": {"mimeType": kind, "data": "A" * size}}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"batch": {}}, "batch"),
        ({"generation_config": {"candidateCount": 8}}, "generation_config"),
        ({"generationConfig": {"candidateCount": 8}}, "candidateCount"),
        ({"generationConfig": {"candidate_count": 8}}, "candidate_count"),
        ({"generationConfig": {"responseModalities": ["TEXT", "IMAGE"]}}, "responseModalities"),
        ({"generationConfig": {"speechConfig": {}}}, "speechConfig"),
        ({"generationConfig": {"imageConfig": {"imageSize": "4K"}}}, "imageConfig"),
        ({"serviceTier": "priority"}, "serviceTier"),
        ({"tools": [{"codeExecution": {}}]}, "codeExecution"),
        ({"tools": [FUNCTION, {"code_execution": {}}]}, "code_execution"),
        ({"tools": [{"fileSearch": {}}]}, "fileSearch"),
        ({"tools": [{"googleMaps": {}}]}, "googleMaps"),
        ({"tools": ["googleSearch"]}, "a tool"),
        (said({"fileData": {"fileUri": "https://e.x/a.mp4"}}), "stored"),
        (said(data("video/mp4")), "video/mp4"),
        (said(data("audio/wav")), "audio/wav"),
        (said({"videoMetadata": {}, "text": "x"}), "videoMetadata"),
        (said({"functionResponse": {"name": "t", "parts": [data("audio/wav")]}}), "audio/wav"),
        ({"systemInstruction": {"parts": [{"fileData": {"fileUri": "files/1"}}]}}, "stored"),
        ({"contents": [{"parts": [{"text": "x"}] * 10_001}]}, "10,000"),
    ],
)  # fmt: skip
def test_what_nobody_can_estimate_is_refused_with_its_name(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(UnknownCostError, match=named):
        weigh(**fields)


@pytest.mark.parametrize(
    ("fields", "pictures", "files"),
    [
        ({"generationConfig": {"candidateCount": 1, "responseModalities": ["TEXT"]}, "store": False}, 0, 0),
        (said(data("image/png"), {"text": "x", "thought": True, "thoughtSignature": "A"}), 1, 0),
        (said({"functionResponse": {"name": "t", "response": {}, "parts": [data("image/png")]}}), 1, 0),
        (said(data("application/pdf")), 0, 1),
        (said({"functionCall": {"name": "t", "args": {"fileData": 1}}}), 0, 0),
        ({"tools": [{"google_search": {}}, {"urlContext": {}}, FUNCTION]}, 0, 2),
    ],
)  # fmt: skip
def test_pictures_and_files_do_not_count_by_their_bytes(
    fields: dict[str, Any], pictures: int, files: int
) -> None:
    weight = weigh(**fields)
    assert (weight.pictures, weight.files) == (pictures, files)
    assert weight.text_bytes < 1000


@pytest.mark.parametrize("config", [{"maxOutputTokens": "8"}, {"maxOutputTokens": -1}, [1], "x"])
def test_a_limit_that_cannot_be_read_is_refused(config: object) -> None:
    with pytest.raises(UnreadableCallError):
        weigh(generationConfig=config)


def test_counting_takes_contents_alone() -> None:
    with pytest.raises(UnknownCostError, match="generateContentRequest"):
        Counting().check({"generateContentRequest": {"model": "models/dear"}})


def test_a_path_names_one_model_and_one_verb() -> None:
    for path in ("/v1beta/models/a%2fb", "/v1/models/a", "/v1beta/tunedModels/a", "/v1beta/models/"):
        path = f"/gemini{path}:generateContent"
        assert route_of(path, b"alt=sse") is None
    assert route_of("/gemini/v1beta/models/a:streamGenerateContent", b"alt=json&alt=sse") is None
