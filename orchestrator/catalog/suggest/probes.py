"""A read that tells what became of a call whose answer was lost."""

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.catalog.compensation_contract import GONE_WHEN, is_own_reference
from orchestrator.catalog.suggest.identity import opened_properties
from orchestrator.catalog.suggest.pairing import Pair
from orchestrator.catalog.suggest.survey import Surveyed
from orchestrator.catalog.suggest.takes_back import cancelled_states
from orchestrator.catalog.tool import InputBinding, Tool
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import format_pointer, resolve
from orchestrator.json_schema.walker import properties_of


def find_probe(pair: Pair, listed: Sequence[Surveyed]) -> JsonObject | None:
    """The one read that is asked by the caller's own reference, as the contract declares it.

    It takes a reference that the maker is sent under the same name, requires nothing else that was
    not sent, and gives the reference back in its answer.
    """
    assert pair.maker.tool is not None
    found = [p for one in listed if (p := _as_probe(one, pair.maker.tool)) is not None]
    return found[0] if len(found) == 1 else None


def _as_probe(one: Surveyed, maker: Tool) -> JsonObject | None:
    tool = one.tool
    if one.method != "GET" or tool is None:
        return None
    sent = {b.field: b for b in maker.bindings}
    args = {b.name: _read(sent[b.field]) for b in _wanted(tool) if b.field in sent}
    references = [b.field for b in _wanted(tool) if b.field in sent and is_own_reference(b.field)]
    if not references or any(name not in args for name in tool.required_inputs):
        return None
    listing = _listing(tool, references[0])
    if listing is None:
        return None
    return {"operationId": one.name, "args": {**args}, **_gone_when(tool, listing)}


def _gone_when(tool: Tool, listing: tuple[str, ...]) -> JsonObject:
    """How the read shows what was cancelled: by its state, else, in a list, by its absence.

    A thing that has a state for it goes on being found.
    """
    holder = (*listing, "0") if listing else ()
    states = cancelled_states(_shown(tool, listing))
    if len(states) == 1:
        ((name, state),) = states
        return {GONE_WHEN: f'$response.body#{format_pointer((*holder, name))} == "{state}"'}
    return {GONE_WHEN: f"!$response.body#{format_pointer(holder)}"} if listing else {}


def _shown(tool: Tool, listing: tuple[str, ...]) -> Mapping[str, JsonObject]:
    """The properties of what the read shows, or of each thing that it lists."""
    schema = tool.output_schema or {}
    top = opened_properties(schema, schema)
    if not listing:
        return top
    element = top[listing[0]].get("items")
    held = properties_of(resolve(element, schema)) if isinstance(element, dict) else {}
    return {name: resolve(part, schema) for name, part in held.items()}


def _wanted(tool: Tool) -> Iterator[InputBinding]:
    for binding in tool.bindings:
        if binding.required or is_own_reference(binding.field):
            yield binding


def _read(sent: InputBinding) -> str:
    if sent.location == "body":
        return f"$request.body#{format_pointer((sent.field,))}"
    return f"$request.{sent.location}.{sent.field}"


def _listing(tool: Tool, reference: str) -> tuple[str, ...] | None:
    """The way to the list whose elements give the reference back; () where the answer itself does.

    None where nothing does, and where a list is the answer: a condition reads below it.
    """
    schema = tool.output_schema
    if schema is None:
        return None
    top = opened_properties(schema, schema)
    if reference in top:
        return ()
    for name, inner in top.items():
        element = inner.get("items")
        if isinstance(element, dict) and reference in properties_of(resolve(element, schema)):
            return (name,)
    return None
