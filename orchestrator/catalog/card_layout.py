"""Card types of a document's own: x-orchet-card-types, and the layouts it may give them."""

from orchestrator.catalog.operations import Operation
from orchestrator.core.record import Record
from orchestrator.json_schema.document import DocumentNode

CARD_TYPES_KEY = "x-orchet-card-types"
"""Where a document declares the card types of its own, at its root."""


class LayoutField(Record):
    """An input, or a property of an earlier answer about the same thing."""

    name: str
    label: str = ""


class LayoutSection(Record):
    """Fields under a heading."""

    title: str
    fields: tuple[LayoutField, ...]


class CardLayout(Record):
    """How a card of a declared type is drawn."""

    title: str = ""
    sections: tuple[LayoutSection, ...] = ()


def declared_types(root: DocumentNode) -> dict[str, DocumentNode]:
    """The places of a document's own card types, by their names; what names nothing is left out."""
    listed = root.at(CARD_TYPES_KEY)
    if listed is None or not isinstance(listed.value, list):
        return {}
    found: dict[str, DocumentNode] = {}
    for place in listed.elements():
        name = place.value.get("name") if isinstance(place.value, dict) else place.value
        if isinstance(name, str):
            found[name] = place
    return found


def read_card_layout(operation: Operation, card_type: str | None) -> CardLayout | None:
    """The layout that the document gives to the card of a tool; None when it gives none.

    Raises:
        DocumentInvalid: it is declared, and no layout.
    """
    place = declared_types(operation.root).get(card_type or "")
    if place is None or not isinstance(place.value, dict):
        return None
    sections = tuple(_section(section) for section in place.elements("sections"))
    return CardLayout(title=place.text_at("title") or "", sections=sections)


def _section(place: DocumentNode) -> LayoutSection:
    fields = tuple(map(_field, place.require("fields").elements()))
    return LayoutSection(title=place.require("title").text(), fields=fields)


def _field(place: DocumentNode) -> LayoutField:
    """A name alone, or an object of a name and a label."""
    if not isinstance(place.value, dict):
        return LayoutField(name=place.text())
    return LayoutField(name=place.require("name").text(), label=place.text_at("label") or "")
