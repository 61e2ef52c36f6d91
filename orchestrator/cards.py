"""What a call would do, made readable: the card, the quoted price, and the entry in the ledger."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from pydantic import JsonValue

from orchestrator.budget import Money
from orchestrator.catalog.money import price_of
from orchestrator.catalog.tool import Compensation, Tool
from orchestrator.confirm import CardLine, ConfirmationCard, call_digest
from orchestrator.pii import field_of, is_handle
from orchestrator.planning.decision import Observation
from orchestrator.record import JsonObject
from orchestrator.saga import Obligation

_MOST_LINES = 24
_LONGEST_VALUE = 240


def quoted_item(arguments: JsonObject, observations: Sequence[Observation]) -> JsonObject | None:
    """The thing that the arguments point at: the last seen object that shares an identifier.

    An offer is booked by its id alone; what a person wants to read on the card (the times, the
    price) is in the answer in which that id was found.
    """
    wanted = {
        (name, value)
        for name, value in arguments.items()
        if name.endswith("_id") and isinstance(value, str) and not is_handle(value)
    }
    for observation in reversed(observations):
        for item in _objects(observation.body):
            if any((name, item.get(name)) in wanted for name, _ in wanted):
                return item
    return None


def quoted_price(arguments: JsonObject, item: JsonObject | None) -> Money | None:
    """What the call will cost: as its arguments say, else as the quoted item says."""
    return price_of(arguments) or (price_of(item) if item is not None else None)


def amounts_of(arguments: JsonObject, item: JsonObject | None) -> tuple[Money, ...]:
    """Every amount of money that the arguments and the quoted item state, the price among them."""
    found = [price_of(part) for whole in (arguments, item) for part in _objects(whole)]
    return tuple(money for money in found if money is not None)


def build_card(
    tool: Tool,
    arguments: JsonObject,
    *,
    call_id: str,
    mission_id: str,
    leg_id: str,
    catalog_digest: str,
    item: JsonObject | None,
    expires_at: datetime | None,
    approvers: tuple[str, ...] = (),
    confirmation_id: str = "",
    asked: int = 1,
) -> ConfirmationCard:
    """The card for one exact call; `item` is what `quoted_item` found.

    `confirmation_id` is the call's own when it is left out.
    """
    card_type = tool.card_type or "structured-confirmation"
    return ConfirmationCard(
        confirmation_id=confirmation_id or call_id,
        mission_id=mission_id,
        leg_id=leg_id,
        card_type=card_type,
        title=title_of(tool),
        tool=tool.name,
        lines=tuple(_lines(arguments, item))[:_MOST_LINES],
        arguments=arguments,
        personal=tool.pii_fields,
        price=quoted_price(arguments, item),
        undo=_undo_sentence(tool.compensation),
        digest=call_digest(
            tool=tool.name,
            catalog_digest=catalog_digest,
            arguments=arguments,
            card_type=card_type,
            call_id=call_id,
            confirmation_id=confirmation_id,
        ),
        expires_at=expires_at,
        approvers=approvers,
        round=asked,
    )


def draft_obligation(
    tool: Tool,
    arguments: JsonObject,
    *,
    call_id: str,
    mission_id: str,
    leg_id: str,
    catalog_digest: str,
    now: datetime,
) -> Obligation:
    """The ledger entry of one side-effect call; its leg sets the times when it writes it."""
    undo = tool.compensation
    obligation = Obligation(
        obligation_id=call_id,
        mission_id=mission_id,
        leg_id=leg_id,
        tool=tool.name,
        cancel_tool=undo.cancel.tool if undo else None,
        catalog_digest=catalog_digest,
        arguments=arguments,
        idempotency_key=call_id if tool.idempotency_header else None,
        title=title_of(tool),
        spends=tool.spends,
        written_at=now,
        deadline=now,
    )
    if undo is None:
        return obligation
    return obligation.model_copy(
        update={
            "cancel_timeout": undo.timeout,
            "cancel_max_attempts": undo.max_attempts,
            "on_failure": undo.on_failure,
        }
    )


def title_of(tool: Tool) -> str:
    """What the call does, in the words of its contract."""
    return tool.summary.rstrip(".") or tool.name.replace("_", " ")


def _objects(value: JsonValue) -> Iterator[JsonObject]:
    """Every object in a JSON value, outer before inner."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _objects(inner)


def _lines(arguments: JsonObject, item: JsonObject | None) -> Iterator[CardLine]:
    for name, value in arguments.items():
        yield CardLine(label=_label(name), value=_readable(value))
    for name, value in (item or {}).items():
        is_shown_already = name in arguments or _is_money(value)
        if not is_shown_already and value not in (None, [], {}):
            yield CardLine(label=_label(name), value=_readable(value))


def _is_money(value: JsonValue) -> bool:
    """Whether this is a price: a card says that once, in its own field."""
    return isinstance(value, dict) and set(value) == {"amount", "currency"}


def _label(name: str) -> str:
    return name.replace("_", " ").replace("-", " ").strip().capitalize()


def _readable(value: JsonValue) -> str:
    if isinstance(value, dict):
        money = price_of({"price": value}) if "amount" in value else None
        text = (
            str(money)
            if money is not None
            else ", ".join(f"{_label(n).lower()} {_readable(v)}" for n, v in value.items())
        )
    elif isinstance(value, list):
        text = "; ".join(_readable(v) for v in value)
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    elif is_handle(value):
        text = f"•••••• ({field_of(value)} from the vault)"
    else:
        text = str(value)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"


def _undo_sentence(undo: Compensation | None) -> str:
    if undo is None:
        return "cannot be undone by any declared tool"
    window = f" within {_span(undo.window)}" if undo.window is not None else ""
    return f"undone by {undo.cancel.tool}{window}"


def _span(length: timedelta) -> str:
    if length.days:
        return f"{length.days} day{'s' if length.days > 1 else ''}"
    hours, rest = divmod(int(length.total_seconds()), 3600)
    return f"{hours} h" if hours and not rest else f"{int(length.total_seconds()) // 60} min"
