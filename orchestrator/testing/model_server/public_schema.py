"""The providers' public request schemas, as their own client libraries carry them.

OpenAI and Anthropic generate their clients' types from the documents of their APIs. As JSON Schema
that allows no other field, they tell what the real service would refuse; no copy of a document has
to be kept.
"""

import functools
from typing import Any

import jsonschema_rs
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from orchestrator.core.record import JsonObject
from orchestrator.testing.model_server.received import Api

_MOST_TOLD = 5


class _Closed(GenerateJsonSchema):
    """Schemas whose objects take no field that they do not name."""

    def typed_dict_schema(self, schema: Any) -> JsonSchemaValue:
        made = super().typed_dict_schema(schema)
        made.setdefault("additionalProperties", False)
        return made


def schema_breaches(api: Api, body: JsonObject) -> list[str]:
    """Where a request does not fit the provider's schema; the first few."""
    errors = _validator(api, bool(body.get("stream"))).iter_errors(body)
    return [
        f"{_place(error)}: {_short(error.message)}"
        for _, error in zip(range(_MOST_TOLD), errors, strict=False)
    ]


@functools.cache
def request_schema(api: Api, streamed: bool) -> JsonSchemaValue:
    """The JSON Schema of a request's body.

    Raises:
        ImportError: the provider's client library is not installed.
    """
    return TypeAdapter(_request_type(api, streamed)).json_schema(schema_generator=_Closed)


@functools.cache
def _validator(api: Api, streamed: bool) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(request_schema(api, streamed))


def _request_type(api: Api, streamed: bool) -> Any:
    if api == "messages":
        # The client of the planner asks by the beta's path, whose fields are a superset.
        from anthropic.types.beta import message_create_params as messages

        if streamed:
            return messages.MessageCreateParamsStreaming
        return messages.MessageCreateParamsNonStreaming
    if api == "chat":
        from openai.types.chat import completion_create_params as chat

        if streamed:
            return chat.CompletionCreateParamsStreaming
        return chat.CompletionCreateParamsNonStreaming
    from openai.types.responses import response_create_params as responses

    if streamed:
        return responses.ResponseCreateParamsStreaming
    return responses.ResponseCreateParamsNonStreaming


def _place(error: jsonschema_rs.ValidationError) -> str:
    return "/".join(str(part) for part in error.instance_path) or "the request"


def _short(message: str, most: int = 300) -> str:
    return message if len(message) <= most else f"{message[:most]}…"
