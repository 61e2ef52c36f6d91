"""Personal values and credentials: on the wire, and nowhere else."""

import json
import logging
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.responses import JSONResponse, Response

from orchestrator.adapters.telemetry.instruments import Telemetry
from orchestrator.core.errors import ArgumentsInvalid, PiiMissing
from tests.fakes import MemoryPii

BOOKING = {"offer_id": "o1", "traveler_id": "pii:traveler_id"}
VALUE = "T-100942"


async def test_handles_become_values_at_any_depth(call: Any, provider: Any) -> None:
    """Alone they take the type of their field; inside text they become text."""
    await call(
        "booking_create",
        {
            **BOOKING,
            "birth_year": "pii:birth_year",
            "note": "for pii:traveler_id.",
            "guests": [{"id": "pii:traveler_id"}],
        },
    )

    assert b'"traveler_id":"T-100942"' in provider.seen[0].body
    assert b'"birth_year":1984' in provider.seen[0].body
    assert b'"note":"for T-100942."' in provider.seen[0].body
    assert b'"guests":[{"id":"T-100942"}]' in provider.seen[0].body


async def test_values_that_a_provider_repeats_come_back_as_handles(
    call: Any, provider: Any
) -> None:
    """In the body, its keys, the kept headers and the report of a breach."""
    provider.answer = JSONResponse(
        {"booking_id": f"B-{VALUE}-7", "who": {"t-100942": [VALUE]}, VALUE: 1},
        201,
        headers={"Location": f"/bookings/{VALUE}"},
    )

    outcome = await call("booking_create", BOOKING)

    assert VALUE.lower() not in outcome.model_dump_json().lower()
    assert outcome.body["booking_id"] == "B-pii:traveler_id-7"
    assert outcome.headers == {"location": "/bookings/pii:traveler_id"}


async def test_an_id_made_from_a_value_reaches_its_cancel_whole(call: Any, provider: Any) -> None:
    """The cancel tool declares no personal field, and still cancels the booking by its real id."""
    provider.answer = JSONResponse({"booking_id": f"B-{VALUE}-7"}, 201)
    booked = await call("booking_create", BOOKING)
    provider.answer = JSONResponse({})

    await call("booking_cancel", {"booking_id": booked.body["booking_id"]})

    assert provider.seen[1].body == b'{"booking_id":"B-T-100942-7"}'


async def test_a_refusal_that_quotes_a_value_is_masked(call: Any, provider: Any) -> None:
    """The reason that a planner reads holds the handle."""
    provider.answer = JSONResponse({"detail": f"traveler {VALUE} is unknown"}, 422)

    outcome = await call("booking_create", BOOKING)

    assert outcome.reason.endswith(": traveler pii:traveler_id is unknown")


@pytest.mark.parametrize("pad", [940, 962, 1_940, 1_962])
@pytest.mark.parametrize("media_type", ["application/json", "text/plain"])
async def test_a_refusal_is_cut_after_it_is_masked(
    call: Any, provider: Any, pad: int, media_type: str
) -> None:
    """Where its end falls into a value, no part of that is kept."""
    text = "x" * pad + f" {VALUE} {VALUE} {VALUE} {VALUE}"
    body = json.dumps({"detail": text}) if media_type == "application/json" else text
    provider.answer = Response(body, 422, media_type=media_type)

    outcome = await call("booking_create", BOOKING)

    assert len(outcome.reason) <= 1_000
    assert VALUE[:5] not in str(outcome)


async def test_a_long_name_of_a_file_is_cut_after_it_is_masked(call: Any, provider: Any) -> None:
    """Its middle is left out, and with it no half of a value comes."""
    name = f"{'x' * 92}-{VALUE}-of-the-traveller.pdf"
    provider.answer = Response(
        b"%PDF-1.7 \xff\xfe",
        media_type="application/pdf",
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )

    outcome = await call("booking_create", BOOKING)

    assert VALUE[:4] not in str(outcome.body)
    assert str(outcome.body).count("x") > 50


async def test_a_value_given_openly_is_masked_like_one_from_the_vault(
    call: Any, provider: Any
) -> None:
    """A personal input that came as a literal comes back as its handle."""
    provider.answer = JSONResponse({"booking_id": "B", "for": "T-777777"}, 201)

    outcome = await call("booking_create", {"offer_id": "o1", "traveler_id": "T-777777"})

    assert outcome.body["for"] == "pii:traveler_id"


async def test_secrets_that_a_provider_repeats_are_masked(call: Any, provider: Any) -> None:
    """An error that quotes the credential does not carry it into history."""
    provider.answer = JSONResponse({"message": "bad token BEARER-T0KEN-VALUE"}, 403)
    assert (await call("secured_bearer")).reason == (
        "HTTP 403 Forbidden: bad token [secret shop__bearer]"
    )

    provider.answer = JSONResponse({"message": "dXNlcjpwYXNzLXcwcmQtbG9uZw== pass-w0rd-long"}, 403)
    assert (await call("secured_basic")).reason == (
        "HTTP 403 Forbidden: [secret shop__basic] [secret shop__basic]"
    )


async def test_a_value_that_breaks_the_contract_is_not_quoted(
    call_at: Callable[..., Any], provider: Any
) -> None:
    """The fault is found before sending, and no text of the error carries the value."""
    call = call_at(provider.port, pii=MemoryPii({"traveler_id": "Zed-Person"}))

    with pytest.raises(ArgumentsInvalid) as refused:
        await call("booking_create", BOOKING)

    told = "".join(traceback.format_exception(refused.value))
    assert refused.value.problems == ("traveler_id must match the pattern ^T-",)
    assert "Zed-Person" not in told
    assert provider.seen == []


async def test_every_missing_field_is_named_at_once(
    call_at: Callable[..., Any], provider: Any
) -> None:
    """A user who has to fill the vault does so once."""
    call = call_at(provider.port, pii=MemoryPii())

    with pytest.raises(PiiMissing) as missing:
        await call("booking_create", {**BOOKING, "birth_year": "pii:birth_year"})

    assert missing.value.fields == ("birth_year", "traveler_id")
    assert provider.seen == []


async def test_a_handle_that_the_tool_does_not_declare_is_refused(call: Any, provider: Any) -> None:
    """A planner cannot send one provider what only another may have."""
    with pytest.raises(ArgumentsInvalid, match="pii:traveler_id is no personal field"):
        await call("form_send", {"name": "pii:traveler_id"})

    assert provider.seen == []


async def test_nothing_private_is_logged_or_traced(
    call_at: Callable[..., Any], provider: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Even at DEBUG the HTTP library writes no URL, and a span holds no argument."""
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracers = TracerProvider()
    tracers.add_span_processor(SimpleSpanProcessor(spans))
    meters = MeterProvider([reader])
    telemetry = Telemetry.on(tracers.get_tracer("t"), meters.get_meter("t"))
    call = call_at(provider.port, telemetry=telemetry)
    provider.answer = Response(b"", 500, headers={"X-Echo": "k query&secret"})

    with caplog.at_level(logging.DEBUG):
        await call("secured_key_query")
        await call("item_get", {"item_id": "private-thing"})

    assert "secret" not in caplog.text
    assert "private-thing" not in caplog.text
    (first, second) = spans.get_finished_spans()
    assert first.name == "GET /secured/key_query"
    assert first.kind is trace.SpanKind.CLIENT
    assert not first.status.is_ok
    assert dict(second.attributes or {}) == {
        "http.request.method": "GET",
        "server.address": "127.0.0.1",
        "server.port": provider.port,
        "url.scheme": "http",
        "url.template": "/items/{item_id}",
        "gen_ai.tool.name": "item_get",
        "gen_ai.tool.call.id": "m1.leg.1",
        "http.response.status_code": 500,
        "error.type": "500",
        "orchestrator.outcome": "unknown",
    }
    measured = str(reader.get_metrics_data())
    assert "http.client.request.duration" in measured
    assert "private-thing" not in measured
