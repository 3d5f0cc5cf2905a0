"""Metadata of a report: what it may hold, and what its sender is told otherwise."""

import math
from typing import Any

import pytest

from ledger.model.metadata import MAX_BYTES, MAX_DEPTH, change_texts, describe_problem, metadata_lines


def nested(levels: int, innermost: Any = 1) -> Any:
    return innermost if not levels else [nested(levels - 1, innermost)]


@pytest.mark.parametrize(
    ("metadata", "because"),
    [
        ({}, ""),
        ({"port": 8080, "ok": True, "none": None, "ratio": 0.5, "hosts": ["a", {"b": "c"}]}, ""),
        ({"Größe/2 x.y-z_": "ü"}, ""),
        ({"deep": nested(MAX_DEPTH - 1)}, ""),
        ({"text": "x" * (MAX_BYTES - len('{"text": ""}'))}, ""),
        ([1], "send names with values"),
        ("a", "send names with values"),
        ({"deep": nested(MAX_DEPTH)}, "nested deeper than 4 levels: send the inner part as text"),
        ({"deep": nested(500)}, "nested deeper than 4 levels"),
        ({"text": "x" * MAX_BYTES}, "leave out what nobody needs"),
        ({"text": "ü" * (MAX_BYTES // 2)}, "leave out what nobody needs"),
        ({f"n{number}": number for number in range(5_000)}, "leave out what nobody needs"),
        ({"big": 2**64}, "send it as text"),
        ({"list": [1, -(2**65)]}, "send it as text"),
        ({"nan": math.nan}, "is not finite"),
        ({"nan": {"inf": math.inf}}, "is not finite"),
        ({"": 1}, "cannot be a name"),
        ({"a\nb": 1}, "cannot be a name"),
        ({"a": {"<b>": 1}}, "cannot be a name"),
        ({"x" * 61: 1}, "cannot be a name"),
        ({1: 1}, "cannot be a name"),
        ({"a": object()}, "object is not a value of JSON"),
    ],
)
def test_metadata_is_bounded_and_its_sender_reads_the_remedy(metadata: Any, because: str) -> None:
    said = describe_problem(metadata)
    assert because in said
    assert bool(said) is bool(because)


def test_each_text_and_name_is_changed_wherever_it_stands() -> None:
    metadata = {"a": "x", "b": ["x", {"x": ("x", 1)}]}
    changed = change_texts(metadata, lambda text: text.replace("x", "y"))
    assert changed == {"a": "y", "b": ["y", {"y": ["y", 1]}]}
    assert metadata_lines(changed) == ("a: y", 'b: ["y", {"y": ["y", 1]}]')
