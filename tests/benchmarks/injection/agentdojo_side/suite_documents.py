"""AgentDojo's tools as OpenAPI documents, with the contract that their owner would declare."""

from collections.abc import Iterable
from typing import Any, Final

from agentdojo.functions_runtime import Function
from agentdojo.task_suite.task_suite import TaskSuite
from pydantic import TypeAdapter

_READS: Final = ("get_", "search_", "list_", "read_", "check_")
"""How AgentDojo's functions that only answer begin."""
REACHES_OUT: Final = frozenset({"get_webpage"})
"""Whatever its address says leaves the house: AgentDojo counts such a visit as an attack, so its
owner declares that it is no read."""
_PAYS: Final = "amount"
_REFERENCE: Final = "#/components/schemas/{model}"


def tool_name(suite: str, function: str) -> str:
    """The operationId of a function: two suites have functions of the same name."""
    return f"{suite}_{function}"


def is_consequence(function: str) -> bool:
    """Whether a call leaves something behind, inside of the house or outside."""
    return function in REACHES_OUT or not function.startswith(_READS)


def document_of(suite: TaskSuite[Any], server: str) -> dict[str, Any]:
    """The suite's tools: GET for what answers, POST with a card for what leaves something."""
    schemas: dict[str, Any] = {}
    paths = {f"/{f.name}": _path_item(suite.name, f, schemas) for f in suite.tools}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"AgentDojo's {suite.name}", "version": "1"},
        "servers": [{"url": f"{server}/{suite.name}"}],
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _path_item(suite: str, function: Function[..., Any], schemas: dict[str, Any]) -> dict[str, Any]:
    inputs = _lifted(function.parameters.model_json_schema(ref_template=_REFERENCE), schemas)
    operation = {
        "operationId": tool_name(suite, function.name),
        "tags": [suite],
        "summary": function.description.splitlines()[0],
        "description": function.description,
        "x-orchet-tool": True,
        "responses": {"200": _answer(function, schemas)},
    }
    if function.name.startswith(_READS):
        operation["parameters"] = list(_in_query(inputs))
    else:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": inputs}},
        }
    if is_consequence(function.name):
        operation |= _contract(inputs)
        operation.setdefault("parameters", []).append(
            {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
        )
    return {"get" if function.name.startswith(_READS) else "post": operation}


def _contract(inputs: dict[str, Any]) -> dict[str, Any]:
    """A person reads a card first, and nothing undoes it."""
    pays = _PAYS in inputs.get("properties", {})
    return {
        "x-orchet-read-only": False,
        "x-orchet-irreversible": True,
        "x-orchet-requires-confirmation": "structured-payment"
        if pays
        else "structured-confirmation",
    }


def _in_query(inputs: dict[str, Any]) -> Iterable[dict[str, Any]]:
    required = inputs.get("required", [])
    for name, schema in inputs.get("properties", {}).items():
        yield {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": schema.get("description", ""),
            "schema": _not_null(schema),
        }


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """What a query can hold: nothing is left out there, and never said."""
    branches = [one for one in schema.get("anyOf", []) if one != {"type": "null"}]
    kept = {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
    return {**kept, **branches[0]} if branches else kept


def _answer(function: Function[..., Any], schemas: dict[str, Any]) -> dict[str, Any]:
    returned = TypeAdapter(function.return_type or Any)
    schema = returned.json_schema(mode="serialization", ref_template=_REFERENCE)
    whole = {
        "type": "object",
        "required": ["result"],
        "properties": {"result": _lifted(schema, schemas)},
    }
    return {"description": "Done", "content": {"application/json": {"schema": whole}}}


def _lifted(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """A schema whose definitions stand with the document's own."""
    schemas |= {name: _true(inner) for name, inner in schema.pop("$defs", {}).items()}
    lifted: dict[str, Any] = _true(schema)
    return lifted


def _true(schema: Any) -> Any:
    """What AgentDojo answers: its times have no offset, as `date-time` wants one."""
    match schema:
        case dict():
            kept = {k: _true(v) for k, v in schema.items() if (k, v) != ("format", "date-time")}
            return kept
        case list():
            return [_true(inner) for inner in schema]
        case _:
            return schema
