"""What is sent of arguments that are null, empty, out of place or of another type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestrator.core.errors import ArgumentsInvalid
from orchestrator.core.record import JsonObject

if TYPE_CHECKING:
    from tests.integration.adapters.conftest import Caller, Provider


async def test_dates_booleans_and_numbers_are_written_as_json_writes_them(
    call: Caller, provider: Provider
) -> None:
    """A date is its ISO text, and a plus sign or a colon in it is encoded."""
    await call(
        "thing_dates",
        {
            "day": "2026-12-03",
            "at": "2026-12-03T09:30:00+01:00",
            "on": False,
            "flags": [True, False],
            "count": 2.0,
        },
    )

    query = provider.seen[0].target.partition("?")[2].split("&")
    assert [part for part in query if part.startswith("flags")] == ["flags=true", "flags=false"]
    assert set(query) == {
        "at=2026-12-03T09%3A30%3A00%2B01%3A00",
        "count=2",
        "day=2026-12-03",
        "flags=true",
        "flags=false",
        "on=false",
    }


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"day": "2026-13-03"}, "day must be a date like"),
        ({"at": "2026-12-03 09:30"}, "at must be a date and time"),
        ({"on": "yes"}, "on must be a boolean"),
        ({"count": 2.5}, "count must be an integer"),
    ],
)
async def test_values_of_another_type_are_refused(
    call: Caller, provider: Provider, arguments: JsonObject, problem: str
) -> None:
    """Before anything is sent, with the field and what it should be."""
    with pytest.raises(ArgumentsInvalid, match=problem):
        await call("thing_dates", arguments)

    assert provider.seen == []


async def test_an_optional_parameter_that_is_null_is_left_out(
    call: Caller, provider: Provider
) -> None:
    """No style can write null; in a JSON body it stands as it is."""
    await call("thing_dates", {"none": None})
    await call("thing_optional", {"b": None})

    assert provider.seen[0].target == "/dates"
    assert provider.seen[1].body == b'{"b":null}'


async def test_bodies_without_content(call: Caller, provider: Provider) -> None:
    """An optional body that nobody filled is not sent, a required one is an empty object."""
    await call("thing_optional")
    await call("thing_required")
    await call("thing_write")

    optional, required, none = provider.seen
    assert optional.body == none.body == b""
    assert "content-type" not in {*optional.headers, *none.headers}
    assert optional.headers["content-length"] == none.headers["content-length"] == "0"
    assert (required.body, required.headers["content-type"]) == (b"{}", "application/json")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"spaced": ["a b", "c"]}, "spaced holds a space"),
        ({"piped": ["a|b", "c"]}, r"piped holds a pipe"),
        ({"X-Tags": ["a,b", "c"]}, "X-Tags holds a comma"),
    ],
)
async def test_elements_that_could_not_be_told_apart_are_refused(
    call: Caller, provider: Provider, arguments: JsonObject, problem: str
) -> None:
    """These styles do not encode their delimiter, so the provider would read other elements."""
    with pytest.raises(ArgumentsInvalid, match=f"{problem}, which its style"):
        await call("thing_dates", arguments)

    assert provider.seen == []


async def test_no_argument_sets_a_header_of_the_connection(
    call: Caller, provider: Provider
) -> None:
    """Host would lead the request to another site of the same server."""
    with pytest.raises(ArgumentsInvalid, match="Host is a header that we set ourselves"):
        await call("thing_dates", {"Host": "internal.example"})

    assert provider.seen == []


async def test_a_header_is_sent_once(call: Caller, provider: Provider) -> None:
    """A document's own parameter stands in the place of ours, empty lists are left out."""
    await call("thing_dates", {"X-Request-Id": "theirs", "X-Tags": []})

    assert provider.seen[0].headers["x-request-id"] == "theirs"
    assert "x-tags" not in provider.seen[0].headers


async def test_no_argument_stands_where_a_credential_belongs(
    call: Caller, provider: Provider
) -> None:
    """An object that is spread over the query cannot bring a key of its own."""
    await call("thing_keyed", {"filter": {"key": "planner's", "size": "1"}})

    assert provider.seen[0].target == "/keyed?size=1&key=real-key"
