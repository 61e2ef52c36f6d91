"""What leaves: the bytes that a provider really receives."""

import json
from collections.abc import Callable
from http.cookies import SimpleCookie
from typing import Any

import pytest
from opentelemetry import baggage
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider

from orchestrator.adapters.telemetry.instruments import Telemetry
from orchestrator.core.errors import ArgumentsInvalid, EgressRefused, SecretMissing
from tests.fakes import MemorySecrets


async def test_path_values_cannot_reach_another_path(call: Any, provider: Any) -> None:
    """A slash, a question mark or a percent sign in a value stays part of its segment."""
    await call("item_get", {"item_id": "a/b?c#d%2Fé 1"})

    assert provider.seen[0].target == "/shop/items/a%2Fb%3Fc%23d%252F%C3%A9%201"


async def test_arguments_too_long_for_a_url_are_refused(call: Any, provider: Any) -> None:
    """What no server would read is not sent."""
    with pytest.raises(ArgumentsInvalid, match="too long for a URL"):
        await call("item_get", {"item_id": "x" * 70_000})

    assert provider.seen == []


async def test_numbers_that_json_cannot_write_are_refused(call: Any, provider: Any) -> None:
    """Infinity is no JSON, so no body could carry it."""
    with pytest.raises(ArgumentsInvalid, match="not finite"):
        await call("form_send", {"size": {"w": float("inf")}})

    assert provider.seen == []


async def test_headers_and_cookies_arrive_as_given(call: Any, provider: Any) -> None:
    """Header parameters are sent in UTF-8, cookie parameters in the Cookie header."""
    await call("item_get", {"item_id": "1", "X-Tenant": "Zürich", "session": "abc"})

    headers = provider.seen[0].headers
    assert headers["x-tenant"].encode("latin-1").decode() == "Zürich"
    assert headers["cookie"] == "session=abc"


async def test_a_header_value_cannot_begin_another_header(call: Any, provider: Any) -> None:
    """A line break in a header parameter is refused before anything is sent."""
    with pytest.raises(ArgumentsInvalid, match="X-Tenant holds characters"):
        await call("item_get", {"item_id": "1", "X-Tenant": "a\r\nX-Admin: 1"})

    assert provider.seen == []


async def test_every_call_carries_its_id_and_says_what_it_reads(call: Any, provider: Any) -> None:
    """X-Request-Id attributes effects of tools that take no key; Accept asks for JSON."""
    await call("item_get", {"item_id": "1"})

    headers = provider.seen[0].headers
    assert headers["x-request-id"] == "m1.leg.1"
    assert headers["accept"].startswith("application/json")
    assert "idempotency-key" not in headers


async def test_a_call_that_is_traced_carries_the_w3c_context_and_no_baggage(
    call_at: Any, provider: Any
) -> None:
    """By the standard's own header: version, trace, span, and whether it is kept."""
    held = baggage.set_baggage("person", "Ada")
    tracer = TracerProvider().get_tracer("t")
    telemetry = Telemetry.on(tracer, MeterProvider().get_meter("t"))
    with tracer.start_as_current_span("leg", context=held) as span:
        for sends_trace in (True, False):
            call = call_at(provider.port, telemetry=telemetry, sends_trace=sends_trace)
            await call("item_get", {"item_id": "1"})
    traced, untraced = (seen.headers for seen in provider.seen)

    version, trace_id, span_id, flags = traced["traceparent"].split("-")
    assert (version, int(flags, 16) & 1) == ("00", 1)
    assert trace_id == f"{span.get_span_context().trace_id:032x}"
    assert span_id != f"{span.get_span_context().span_id:016x}"
    assert "traceparent" not in untraced
    assert "baggage" not in traced


async def test_the_key_goes_where_the_tool_declares_it(call: Any, provider: Any) -> None:
    """The idempotency key is sent in the declared header, and the body is JSON."""
    await call("booking_create", {"offer_id": "o1", "traveler_id": "pii:traveler_id"}, key="m1.k")

    seen = provider.seen[0]
    assert seen.headers["idempotency-key"] == "m1.k"
    assert seen.headers["content-type"] == "application/json"
    assert json.loads(seen.body) == {"offer_id": "o1", "traveler_id": "T-100942"}


async def test_a_required_key_that_is_not_given_stops_the_call(call: Any, provider: Any) -> None:
    """A side effect is never sent without the key that its contract requires."""
    with pytest.raises(ArgumentsInvalid, match="Idempotency-Key is missing"):
        await call("booking_create", {"offer_id": "o1", "traveler_id": "pii:traveler_id"}, key=None)

    assert provider.seen == []


async def test_credentials_are_attached_where_the_scheme_says(call: Any, provider: Any) -> None:
    """ApiKey in header, query and cookie; bearer and basic in Authorization."""
    for scheme in ("key_header", "key_query", "key_cookie", "bearer", "basic"):
        await call(f"secured_{scheme}")

    header, query, cookie, bearer, basic = provider.seen
    assert header.headers["x-api-key"] == "k-header-secret"
    assert query.target.endswith("?key=k%20query%26secret")
    assert SimpleCookie(cookie.headers["cookie"])["sid"].value == "k-cookie-secret"
    assert bearer.headers["authorization"] == "Bearer bearer-t0ken-value"
    assert basic.headers["authorization"] == "Basic dXNlcjpwYXNzLXcwcmQtbG9uZw=="


async def test_a_missing_credential_stops_the_call(
    call_at: Callable[..., Any], provider: Any
) -> None:
    """The error names the secret; nothing is sent without it."""
    call = call_at(provider.port, secrets=MemorySecrets())

    with pytest.raises(SecretMissing, match="shop__bearer"):
        await call("secured_bearer")

    assert provider.seen == []


async def test_only_declared_hosts_are_called(call_at: Callable[..., Any], provider: Any) -> None:
    """A tool whose server is not one of its document's is refused before a connection is made."""
    call = call_at(provider.port)
    tool = call.catalog.tool("item_get").model_copy(
        update={"server": f"http://localhost:{provider.port}/shop"}
    )

    with pytest.raises(EgressRefused, match="localhost"):
        await call.client.call(
            call.catalog,
            tool,
            {"item_id": "1"},
            call_id="c",
            idempotency_key=None,
            timeout_s=1,
        )

    assert provider.seen == []
