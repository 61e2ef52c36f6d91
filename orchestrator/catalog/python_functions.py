"""Python functions as tools: each becomes an operation of one OpenAPI document, with its contract.

@tool()
async def cancel_flight(booking_id: str) -> None: ...

@tool(cancel=cancel_flight, confirm="structured-payment", idempotent=True)
async def book_flight(offer_id: str, idempotency_key: str) -> Booking: ...

Catalog.load("specs/", functions=[book_flight])
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Final, Generic, ParamSpec, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, create_model

from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject

DOCUMENT: Final = "python"
"""The name of the document that the functions of a worker become."""
SERVER: Final = "https://python-functions.invalid"
"""The document's server, which no name service resolves: the worker answers its requests itself."""
KEY: Final = "idempotency_key"
"""The parameter that receives the key of a call."""
KEY_OF_CALL: Final = "call_key"
"""The parameter of a probe that receives the key of the call in doubt."""
_SCHEMAS: Final = "#/components/schemas/{model}"

P = ParamSpec("P")
R = TypeVar("R")


class Rejected(Exception):
    """A function has definitely done nothing; the text has the reason."""


@dataclass(frozen=True)
class FunctionTool(Generic[P, R]):
    """An async function with its contract; it is still callable."""

    function: Callable[P, Awaitable[R]]
    inputs: type[BaseModel]
    answer: TypeAdapter[R]
    takes_key: bool
    may_find_nothing: bool
    """True if its answer may be None, by which a probe reports that nothing exists."""
    idempotent: bool = False
    read_only: bool = False
    irreversible: bool = False
    cancel: "FunctionTool[Any, Any] | None" = None
    probe: "FunctionTool[Any, Any] | None" = None
    contract: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the function, which is also the name of its tool."""
        return self.function.__name__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        """Call the function itself, unguarded."""
        return self.function(*args, **kwargs)


def tool(
    *,
    cancel: "FunctionTool[Any, Any] | None" = None,
    confirm: str | bool | None = None,
    idempotent: bool = False,
    probe: "FunctionTool[Any, Any] | None" = None,
    price: str | bool | Mapping[str, Any] | None = None,
    irreversible: bool = False,
    read_only: bool = False,
    personal: Sequence[str] = (),
    contract: Mapping[str, Any] | None = None,
) -> Callable[[Callable[P, Awaitable[R]]], FunctionTool[P, R]]:
    """Make an async function a tool; planners read its annotations and its docstring.

    A function that raises `Rejected` has done nothing; after any other exception its effect is
    unknown.

    Args:
        cancel: the tool that cancels this one's effect; its parameters are filled by their names
            from the answer and the arguments.
        confirm: the type of its card; False: nobody is asked; None: a card of the default type.
        idempotent: True if a repetition with the same key has no second effect. A parameter
            `idempotency_key: str` receives the key.
        probe: a read that shows whether a call took effect; it returns None if not. Its parameters
            are filled from the arguments, and `call_key` from the key of the call.
        price: the place of the price, such as `$response.body#/price`; False: the call is free.
        irreversible: True if nothing cancels the effect.
        read_only: True if the function changes nothing.
        personal: parameters with personal values, which come from the vault.
        contract: further `x-orchet-*` keys.

    Raises:
        UsageError: the function or its contract is not valid for a tool.
    """

    def made(function: Callable[P, Awaitable[R]]) -> FunctionTool[P, R]:
        keys: dict[str, Any] = {**(contract or {})}
        if confirm is not None:
            keys["x-orchet-requires-confirmation"] = confirm
        if price is not None:
            keys["x-orchet-price"] = price
        if personal:
            keys["x-orchet-pii-required"] = list(personal)
        if read_only and (cancel or irreversible):
            raise _fault(
                function, "a read has nothing to cancel: leave read_only out, or the other"
            )
        if not inspect.iscoroutinefunction(function):
            raise _fault(function, "a tool is an async function: write `async def`")
        hints = get_type_hints(function, include_extras=True)
        fields: dict[str, Any] = {}
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise _fault(function, f"name each parameter in place of {name!r}")
            if name not in hints:
                raise _fault(function, f"annotate the parameter {name!r} with its type")
            required = parameter.default is parameter.empty
            fields[name] = (hints[name], ... if required else parameter.default)
        if "return" not in hints:
            raise _fault(function, "annotate the type of its answer; `-> None` where it has none")
        fields.pop(KEY, None)
        answer, config = hints["return"], ConfigDict(extra="forbid")
        return FunctionTool(
            function,
            create_model(f"{function.__name__}_inputs", __config__=config, **fields),
            TypeAdapter(answer),
            takes_key=KEY in hints,
            may_find_nothing=answer is not NoneType and NoneType in get_args(answer),
            idempotent=idempotent,
            read_only=read_only,
            irreversible=irreversible,
            cancel=cancel,
            probe=probe,
            contract=keys,
        )

    return made


def _fault(function: Callable[..., Any], remedy: str) -> UsageError:
    return UsageError(f"the tool {getattr(function, '__name__', function)}: {remedy}")


# -- the document ---------------------------------------------------------------------------------


def with_partners(functions: Iterable[FunctionTool[Any, Any]]) -> dict[str, FunctionTool[Any, Any]]:
    """Return functions by name, with the cancels and probes that they name.

    Raises:
        UsageError: one is not a tool, or two have the same name.
    """
    found: dict[str, FunctionTool[Any, Any]] = {}
    left = list(functions)
    while left:
        one = left.pop(0)
        if not isinstance(one, FunctionTool):
            raise UsageError(f"{one!r} is no tool: put @tool(...) before the function")
        if found.setdefault(one.name, one) is not one:
            raise UsageError(f"two tools are called {one.name!r}: rename one of the functions")
        left += [partner for partner in (one.cancel, one.probe) if partner is not None]
    return found


def function_document(functions: Mapping[str, FunctionTool[Any, Any]]) -> JsonObject:
    """Return the OpenAPI document of functions.

    Raises:
        UsageError: a function that changes something has no cancel, or shares it with another.
    """
    cancels: dict[str, FunctionTool[Any, Any]] = {}
    for one in functions.values():
        if one.cancel is not None and cancels.setdefault(one.cancel.name, one) is not one:
            raise _fault(
                one.function,
                f"{one.cancel.name} cancels {cancels[one.cancel.name].name} already: give each "
                "a cancel of its own",
            )
    for one in functions.values():
        if not (one.cancel or one.read_only or one.irreversible or one.name in cancels):
            reason = "say how it is cancelled: cancel=..., or irreversible=True, or read_only=True"
            raise _fault(one.function, reason)
    asked: list[tuple[str, Any, TypeAdapter[Any]]] = []
    for name, one in functions.items():
        asked.append((name, "validation", TypeAdapter(one.inputs)))
        asked.append((name, "serialization", one.answer))
    schemas, shared = TypeAdapter.json_schemas(asked, ref_template=_SCHEMAS)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Python functions", "version": "1"},
        "servers": [{"url": SERVER}],
        "paths": {
            f"/{name}": {
                "post": _operation(
                    one,
                    cancels.get(name),
                    schemas[name, "validation"],
                    schemas[name, "serialization"],
                )
            }
            for name, one in functions.items()
        },
        "components": {"schemas": shared.get("$defs", {})},
    }


def _operation(
    one: FunctionTool[Any, Any],
    cancelled: FunctionTool[Any, Any] | None,
    inputs: JsonObject,
    answer: JsonObject,
) -> JsonObject:
    words = inspect.getdoc(one.function) or one.name.replace("_", " ")
    content: JsonObject = {"application/json": {"schema": answer}}
    responses: JsonObject = {"200": {"description": "The answer.", "content": content}}
    if answer == {"type": "null"}:
        responses = {"204": {"description": "It is done."}}
    if one.may_find_nothing:
        responses["404"] = {"description": "There is nothing."}
    responses["422"] = {"description": "Nothing was done."}
    operation: dict[str, Any] = {
        "operationId": one.name,
        "summary": words.partition("\n")[0],
        "description": words,
        "x-orchet-tool": True,
        "requestBody": {"required": True, "content": {"application/json": {"schema": inputs}}},
        "responses": responses,
    }
    if one.idempotent or one.takes_key:
        key = {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}
        operation["parameters"] = [key]
    if one.read_only:
        operation["x-orchet-read-only"] = True
    if one.irreversible:
        operation["x-orchet-irreversible"] = True
    if one.cancel is not None:
        operation["x-orchet-cancels"] = one.cancel.name
    if cancelled is not None:
        operation["x-orchet-cancel-for"] = cancelled.name
        operation["x-orchet-requires-confirmation"] = False
    if one.read_only:
        operation["x-orchet-requires-confirmation"] = False
    if one.probe is not None:
        args: JsonObject = {}
        probe = one.probe
        for name, asked in probe.inputs.model_fields.items():
            if name in one.inputs.model_fields:
                args[name] = f"$request.body#/{name}"
            elif name == KEY_OF_CALL:
                args[name] = "$request.header.Idempotency-Key"
            elif asked.is_required():
                raise _fault(
                    one.function,
                    f"its probe {probe.name} needs {name!r}, which is no parameter of the call: "
                    f"name it like one; `{KEY_OF_CALL}` receives the key of the call",
                )
        operation["x-orchet-compensation-probe"] = {"operationId": probe.name, "args": args}
    return {**operation, **one.contract}
