"""Pairs that a document links itself: an answer that says what undoes it, and with which values."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.catalog.expressions import parse_filling
from orchestrator.catalog.suggest.survey import Surveyed
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.language.intent import Action

_PLACES: Final = frozenset({"path", "query", "header", "cookie"})


@dataclass(frozen=True)
class UndoingLink:
    """A link from the answer of a call to what takes back what the call made."""

    maker: Surveyed
    cancel: Surveyed
    args: JsonObject


def undoing_links(listed: Sequence[Surveyed]) -> Iterator[UndoingLink]:
    """The links of POSTs to what deletes or cancels, that give all that it requires."""
    known = {one.operation.operation_id: one for one in listed if one.tool is not None}
    for maker in listed:
        if maker.method != "POST" or maker.tool is None:
            continue
        try:
            for link in _links(maker):
                named = link.at("operationId")
                cancel = known.get(named.text()) if named is not None else None
                args = _args(link, cancel) if cancel is not None else None
                if cancel is not None and args is not None and _undoes(cancel):
                    yield UndoingLink(maker, cancel, args)
        except DocumentInvalid:
            # What is malformed links nothing, and the linter has its own words on it.
            continue


def _links(maker: Surveyed) -> Iterator[DocumentNode]:
    for status, response in maker.operation.node.items("responses"):
        if status.startswith("2"):
            yield from (link for _, link in response.items("links"))


def _undoes(cancel: Surveyed) -> bool:
    return cancel.method == "DELETE" or cancel.verb[1] is Action.CANCEL


def _args(link: DocumentNode, cancel: Surveyed) -> JsonObject | None:
    """The link's parameters by the cancel's inputs; None where they do not fill it."""
    assert cancel.tool is not None
    given = {name: place.value for name, place in link.items("parameters")}
    args: JsonObject = {}
    for binding in cancel.tool.bindings:
        value = _given(given, binding.location, binding.field)
        if value is not None:
            try:
                parse_filling(value)
            except ValueError:
                return None
            args[binding.name] = value
        elif binding.required:
            return None
    return args or None


def _given(given: Mapping[str, object], location: str, field: str) -> str | None:
    """A link may name a parameter with its place: `path.id`."""
    names = (f"{location}.{field}", field) if location in _PLACES else ()
    return next((v for n in names if isinstance(v := given.get(n), str)), None)
