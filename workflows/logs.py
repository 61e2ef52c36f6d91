"""Write log lines and metrics of workflows: once, and never again in a replay.

They contain ids, names of the orchestrator's own, of tools and of agents, and figures; no goal, no
argument, no word of a person, a planner or a provider.
"""

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from orchestrator.confirmation.models import ConfirmationCard, Decision
    from orchestrator.messages import names
    from orchestrator.messages.leg import LegInput
    from orchestrator.messages.step import StepRecord
    from orchestrator.saga.obligation import Obligation

_log = workflow.LoggerAdapter(logging.getLogger("orchestrator.missions"), None)
_log.workflow_info_on_message = False
_PHRASES = ("ask the user", "give up", "wait for the model")
"""Action phrases of steps that contain no words of others."""


def write(line: str, *words: object, **named: str | int | float) -> None:
    """Write a line, with its figures by name."""
    _log.info(line, *words, extra={"figures": {k: v for k, v in named.items() if v != ""}})


def mission_ended(status: str, began: datetime) -> None:
    """Log and measure the end of a mission."""
    seconds = _measure(names.MISSION_DURATION, began, status=status)
    write("the mission ended %s after %.1f s", status, seconds, status=status, seconds=seconds)


def step_done(leg: LegInput, record: StepRecord) -> None:
    """Log a step of a leg, or one of the calls of that step.

    The tool of the action is logged if it was forwarded or found; otherwise only the first word of
    the action is logged: a planner may name anything, and search for anything.
    """
    does, _, what = record.did.partition(" ")
    tool = what if what in (*record.tools_forwarded, *leg.state.discovered) else ""
    if record.did in _PHRASES:
        does = record.did
    write(
        "%s: step %d: %s: %s (%d of %d tools, %s)",
        leg.leg.leg_id,
        record.step,
        f"{does} {tool}".rstrip(),
        record.outcome,
        len(record.tools_forwarded),
        record.catalog_size,
        record.band,
        leg_id=leg.leg.leg_id,
        agent=leg.leg.agent.name,
        step=record.step,
        did=does,
        tool=tool,
        outcome=record.outcome,
        band=record.band,
    )


def leg_ended(leg: LegInput, status: str) -> None:
    """Log and measure the end of a leg."""
    leg_id, agent = leg.leg.leg_id, leg.leg.agent.name
    began = leg.state.began_at or workflow.info().start_time
    seconds = _measure(names.LEG_DURATION, began, agent=agent, status=status)
    named = {"leg_id": leg_id, "agent": agent, "status": status}
    write("the leg %s ended %s after %.1f s", leg_id, status, seconds, **named)


def waits(for_what: str, about: str, reason: str = "") -> None:
    """Log that a leg begins to wait for somebody, and why."""
    why = f" ({reason})" if reason else ""
    write("waits for %s: %s%s", for_what, about, why, waits_for=for_what, about=about)


def card_reminded(card: ConfirmationCard) -> None:
    """Log and count a reminder of a card."""
    workflow.logger.warning("confirmation %s still waits", card.confirmation_id)
    workflow.metric_meter().create_counter(
        names.REMINDERS_METRIC, "Reminders of confirmations that nobody had decided."
    ).add(1, {"card_type": card.card_type})


def card_decided(card: ConfirmationCard, decision: Decision) -> None:
    """Log and count a decision on a card, which may not be enough to close the card."""
    workflow.metric_meter().create_counter(
        names.DECISIONS_METRIC, "Decisions on cards, by kind."
    ).add(1, {"card_type": card.card_type, "decision": decision.kind})
    write("%s: %s", card.confirmation_id, decision.kind, decision=decision.kind)


def card_closed(card: ConfirmationCard, end: str) -> None:
    """Log and measure the end of a card, with the reason for its end."""
    seconds = _measure(
        names.CONFIRMATION_WAIT, card.opened_at or workflow.now(), card_type=card.card_type, end=end
    )
    write("%s was %s after %.1f s", card.confirmation_id, end, seconds, end=end, seconds=seconds)


def rollback_settled(obligations: Iterable[Obligation], *, parked: int) -> None:
    """Log and measure that the rollback has tried every obligation."""
    counter = workflow.metric_meter().create_counter(
        names.OBLIGATIONS_METRIC, "What rollbacks came to, by the state of each obligation."
    )
    for obligation in obligations:
        counter.add(1, {"state": str(obligation.state)})
    end = "parked" if parked else "rolled_back"
    seconds = _measure(names.ROLLBACK_DURATION, workflow.info().start_time, end=end)
    write(
        "the rollback has tried everything after %.1f s: %s, %d parked",
        *(seconds, end, parked),
        end=end,
        parked=parked,
        seconds=seconds,
    )


def _measure(metric: str, since: datetime, **attributes: str) -> float:
    """Record how long something took; return the seconds."""
    took = max(workflow.now() - since, timedelta(0))
    histogram = workflow.metric_meter().create_histogram_timedelta(metric, unit="s")
    histogram.record(took, attributes)
    return round(took.total_seconds(), 3)
