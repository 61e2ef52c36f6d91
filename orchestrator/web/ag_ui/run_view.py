"""The events of a mission as events of AG-UI: state, tool calls and text. Pure."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from ag_ui import core
from pydantic import JsonValue

from orchestrator.core.record import JsonObject
from orchestrator.core.shown_text import visible_block
from orchestrator.messages import events
from orchestrator.messages.events import AnyEvent, Cursor

_STANDS: Final = frozenset({"intended", "committed", "parked", "accepted"})
_OPEN: Final = frozenset({"opened", "reminded"})


class MissionView:
    """What a client shows of a mission, built from its events in their order.

    `take` returns what an event changes, as the operations of a JSON Patch.
    """

    def __init__(self, mission_id: str, *, goal: str = "") -> None:
        self.state: JsonObject = {
            "missionId": mission_id,
            "cursor": "",
            "status": "",
            "goal": goal,
            "summary": "",
            "error": None,
            "over": False,
            "plan": [],
            "legs": {},
            "tools": [],
            "ledger": {},
            "spend": {},
            "waiting": {},
            "rollback": None,
        }

    @property
    def waits(self) -> bool:
        """True if a card or a question is open, by the events so far."""
        return bool(self.state["waiting"])

    def snapshot(self) -> core.StateSnapshotEvent:
        """Return the whole state."""
        return core.StateSnapshotEvent(snapshot=json.loads(json.dumps(self.state)))

    def take(self, event: AnyEvent) -> list[JsonObject]:
        """Apply an event; return the operations that do the same to an earlier snapshot."""
        changes = dict(self._changes(event))
        changes["cursor"] = event.cursor
        operations: list[JsonObject] = []
        for name, value in changes.items():
            if self.state.get(name) != value:
                self.state[name] = value
                operations.append({"op": "replace", "path": f"/{name}", "value": value})
        return operations

    def _changes(self, event: AnyEvent) -> Iterator[tuple[str, JsonValue]]:
        if isinstance(event, events.MissionEvent):
            yield "status", event.status
            yield "error", event.error
            yield "over", event.over
            yield "goal", event.goal or self.state["goal"]
            yield "summary", event.summary
        elif isinstance(event, events.PlanEvent):
            yield "plan", [leg.model_dump(mode="json") for leg in event.legs]
        elif isinstance(event, events.LegEvent):
            fields = {"status", "agent", "goal", "summary", "error"}
            yield "legs", self._with("legs", event.leg_id, _of(event, fields))
        elif isinstance(event, events.SelectionEvent):
            yield "tools", list(event.tools)
        elif isinstance(event, events.ObligationEvent):
            fields = {"tool", "state", "title", "price", "confirmed_by", "cancel_tool", "note"}
            ledger = self._with("ledger", event.obligation_id, _of(event, fields))
            yield "ledger", ledger
            sums: dict[str, Decimal] = {}
            for one in ledger.values():
                price = one.get("price") if isinstance(one, dict) else None
                if isinstance(one, dict) and isinstance(price, dict) and one["state"] in _STANDS:
                    currency = str(price["currency"])
                    sums[currency] = sums.get(currency, Decimal()) + Decimal(str(price["amount"]))
            yield "spend", {currency: str(amount) for currency, amount in sorted(sums.items())}
        elif isinstance(event, events.CardEvent):
            shown = None if event.state not in _OPEN else _of(event, {"title", "tool", "digest"})
            yield "waiting", self._with("waiting", event.confirmation_id, shown)
        elif isinstance(event, events.QuestionEvent):
            shown = None if event.state != "opened" else _of(event, {"question", "fields"})
            yield "waiting", self._with("waiting", event.question_id, shown)
        elif isinstance(event, events.RollbackEvent):
            yield "rollback", _of(event, {"status", "reason", "parked", "settled"})

    def _with(self, part: str, key: str, value: JsonObject | None) -> JsonObject:
        held = self.state[part]
        entries = dict(held) if isinstance(held, dict) else {}
        entries.pop(key, None)
        return entries if value is None else {**entries, key: value}


def _of(event: AnyEvent, fields: set[str]) -> JsonObject:
    return event.model_dump(mode="json", include=fields)


def shown_events(view: MissionView, event: AnyEvent) -> Iterator[core.BaseEvent]:
    """Yield an event of a mission as those of AG-UI, the state first.

    Of a call, arguments and bodies stay in the mission.
    """
    if operations := view.take(event):
        yield core.StateDeltaEvent.model_validate({"delta": operations})
    if not isinstance(event, events.CallEvent):
        return
    if event.state == "sent":
        yield core.ToolCallStartEvent(tool_call_id=event.call_id, tool_call_name=event.tool)
        yield core.ToolCallEndEvent(tool_call_id=event.call_id)
        return
    outcome = {"outcome": event.outcome, **({"error": event.error} if event.error else {})}
    yield core.ToolCallResultEvent(
        message_id=f"{event.call_id}-result",
        tool_call_id=event.call_id,
        content=json.dumps(outcome, ensure_ascii=False),
    )


def text_events(message_id: str, text: str) -> Iterator[core.BaseEvent]:
    """Yield a message of the assistant; hidden characters in it are shown."""
    if not text.strip():
        return
    yield core.TextMessageStartEvent(message_id=message_id, role="assistant")
    yield core.TextMessageContentEvent(message_id=message_id, delta=visible_block(text))
    yield core.TextMessageEndEvent(message_id=message_id)


def was_seen(seen: Cursor, at: Cursor) -> bool:
    """Return True if a reader with the cursor `seen` has had the event with the cursor `at`."""
    for workflow_id, place in at.places.items():
        known = seen.places.get(workflow_id)
        if known is None or known.run_id != place.run_id or known < place:
            return False
    return bool(at.places)
