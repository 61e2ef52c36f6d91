"""The outcome of a call, from the status of its answer and the rules of its document."""

from datetime import UTC, datetime

from pydantic import JsonValue

from orchestrator.adapters.http.answer import Answer
from orchestrator.adapters.http.endpoint import Endpoint
from orchestrator.adapters.http.masking import Mask
from orchestrator.adapters.http.operation_contract import ResponseCheck
from orchestrator.adapters.http.refusal import (
    MAX_REASON,
    is_in_progress,
    is_rate_limit,
    phrase_of,
    reason_of,
    retry_after_s,
)
from orchestrator.catalog.expressions import all_hold, parse_conditions
from orchestrator.catalog.prices import Settled, charged_price, named_amounts, settled_by_cancel
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.core.record import JsonObject
from orchestrator.saga.answer_names import names_another
from orchestrator.saga.cancel_arguments import answered_arguments
from orchestrator.saga.contradictions import contradiction, some_items_worked
from orchestrator.saga.outcome import OutcomeKind, ToolOutcome, classify, is_not_worked_on

_ACCEPTED = 202
_MAX_TEXT = 2_000
_MULTI_STATUS = 207


def outcome_of(
    endpoint: Endpoint,
    arguments: JsonObject,
    answer: Answer,
    mask: Mask,
    *,
    has_key: bool,
    is_checked: bool = True,
) -> ToolOutcome:
    """Return the outcome of a call, with sent secrets and personal values hidden.

    With `is_checked` false, the answer's shape is not compared with the document.
    """
    tool, contract = endpoint.tool, endpoint.contract
    in_progress = is_in_progress(answer, has_key=has_key)
    deferred = is_not_worked_on(answer.status) or is_rate_limit(answer)
    kind = classify(answer.status, in_progress=in_progress, changes=tool.is_side_effect)
    kind = "unknown" if deferred else kind
    # No document declares the answers of a failing gateway in front of the provider.
    skips = kind == "unknown" or not is_checked
    check = ResponseCheck() if skips else contract.check_response(answer)
    breach = answer.fault or check.breach
    another = None
    if kind == "succeeded":
        another = names_another(endpoint.given_back, arguments, answer.body)
        if another is not None:
            breach = f"it is about another {another} than was sent"
        breach = breach or _gone(tool, answer)
    reason = None if kind == "succeeded" else mask.cut(reason_of(answer), MAX_REASON)
    if kind == "succeeded":
        kind, reason = _of_success_status(tool, answer, breach, mask)
    is_success = 200 <= answer.status < 300
    doubted = is_success and breach is None and _contradiction(tool, answer) is not None
    if kind == "rejected" and is_success and _left_something(tool, answer):
        kind, doubted = "unknown", True
    spends = kind == "succeeded" and tool.effect in (Effect.OBLIGATION, Effect.WRITE)
    settled = Settled()
    if kind == "succeeded" and tool.effect is Effect.CANCEL:
        settled = settled_by_cancel(tool, arguments, answer.body)
    return ToolOutcome(
        kind=kind,
        status=answer.status,
        # The body of an answer about another reference is dropped: no cancel may use it.
        body=_kept_body(answer, mask) if another is None else None,
        reason=mask.cut(reason, _MAX_TEXT) if reason else None,
        contract_breach=mask.cut(text, _MAX_TEXT) if (text := breach or check.note) else None,
        accepted=kind == "unknown" and answer.status == _ACCEPTED,
        deferred=deferred,
        doubted=doubted,
        declared=kind == "rejected" and contract.declares_refusal(answer),
        price=charged_price(tool, arguments, answer.body) if spends else None,
        named=named_amounts(tool, arguments, answer.body) if spends else settled.named,
        refund=settled.refund,
        fee=settled.fee,
        headers={
            name: mask.text(answer.header(name))
            for name in sorted(endpoint.kept_headers)
            if another is None and name in answer.headers
        },
        retry_after_s=retry_after_s(answer, now=datetime.now(UTC)) if kind != "succeeded" else None,
    )


def _kept_body(answer: Answer, mask: Mask) -> JsonValue:
    """Return the masked body; for a text, its beginning."""
    if answer.is_text and isinstance(answer.body, str):
        return mask.cut(answer.body, _MAX_TEXT)
    return mask.json(answer.body)


def unchecked_outcome(endpoint: Endpoint, answer: Answer, *, has_key: bool) -> ToolOutcome:
    """Return the outcome from the status alone, for an answer that is too costly to check."""
    in_progress = has_key and answer.status == 409
    tool = endpoint.tool
    kind = classify(answer.status, in_progress=in_progress, changes=tool.is_side_effect)
    return ToolOutcome(
        kind="unknown" if kind == "succeeded" else kind,
        status=answer.status,
        reason=f"{phrase_of(answer.status)}, but its answer is too costly to check",
        retry_after_s=retry_after_s(answer, now=datetime.now(UTC)),
    )


def _gone(tool: Tool, answer: Answer) -> str | None:
    """Return a breach if the answer, like a probe's, shows that the new thing is gone already.

    This requires a value in the answer that equals the declared one, and a document that declares
    no condition of success.
    """
    conditions = parse_conditions(tool.compensation.gone_when if tool.compensation else ())
    if tool.success_when or not conditions or any(c.operator != "==" for c in conditions):
        return None
    is_gone, _ = all_hold(
        conditions, status=answer.status, headers=answer.headers, body=answer.value
    )
    return f"it answers that {' and '.join(c.text for c in conditions)}" if is_gone else None


def _of_success_status(
    tool: Tool, answer: Answer, breach: str | None, mask: Mask
) -> tuple[OutcomeKind, str | None]:
    """Return the outcome of a success status, and the reason if it is no success.

    A 202 means that the work is still to be done, unless the document gives its status a meaning.
    """
    phrase = phrase_of(answer.status)
    if breach is not None:
        return "unknown", f"{phrase}, but the answer breaks its contract: {breach}"
    against = _contradiction(tool, answer)
    if against is not None:
        return "unknown", f"{reason_of(answer)} (not believed: {against})"
    conditions = parse_conditions(tool.success_when)
    held, at_fault = all_hold(
        conditions, status=answer.status, headers=answer.headers, body=answer.value
    )
    names_status = any(one.reading is None for one in conditions)
    if answer.status == _ACCEPTED and not (held and names_status):
        return "unknown", f"{phrase}: accepted, which does not say that it is done"
    if held is None:
        return "unknown", f"{phrase}, but whether {at_fault} cannot be told from the answer"
    if not held:
        refusal = mask.cut(reason_of(answer), MAX_REASON)
        return "rejected", f"{refusal} (no success: it is not so that {at_fault})"
    return "succeeded", None


def _contradiction(tool: Tool, answer: Answer) -> str | None:
    if tool.success_when or not tool.is_side_effect:
        return None
    return contradiction(tool, answer.status, answer.value)


def _left_something(tool: Tool, answer: Answer) -> bool:
    """Return True if an answer that its document calls no success shows an effect.

    The answer has the arguments of the cancel tool, or some items of a batch succeeded: the call
    was not without effect.
    """
    if not tool.is_side_effect:
        return False
    if answer.status == _MULTI_STATUS or some_items_worked(answer.value):
        return True
    return bool(answered_arguments(tool, answer.value, answer.headers))
