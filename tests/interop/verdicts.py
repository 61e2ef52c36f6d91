"""Whose fault a disagreement is: Prism's, that of the document, or ours.

Only what can be shown is put on others: a problem by which Prism says that it could not judge, a
value on which a third reader of the schema agrees with us, a form of parameters that OpenAPI leaves
undefined. All else is ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from tests.interop.calls import Call
from tests.interop.forms import read_form, says
from tests.interop.prism import Violation
from tests.interop.umpire import Umpire, parsed

Side = Literal["agreed", "prism", "document", "ours"]


@dataclass(frozen=True)
class Verdict:
    """Who is at fault, and why, in a few words that group like with like."""

    side: Side
    why: str = ""


AGREED = Verdict("agreed")
_NOT_DECLARED = ("content-type", "'accept'", "header.accept", "authorization")
_PROBLEMS: Mapping[str, str] = {
    "NO_PATH_MATCHED_ERROR": "it finds no operation of that path",
    "NO_METHOD_MATCHED_ERROR": "it takes another path template for this one",
    "INVALID_CONTENT_TYPE": "it does not know the declared media type",
    "NOT_ACCEPTABLE": "it can make no answer of the declared media types",
    "NO_RESPONSE_RESPONSE_DEFINED": "the document gives it no answer to make",
    "SCHEMA_TOO_COMPLEX": "the answer's schema is too complex for it",
}


def of_request(call: Call, umpire: Umpire) -> Verdict | None:
    """What Prism's word on a request comes to; None when it was not asked."""
    judgement = call.judgement
    if call.not_sent and judgement is None:
        if call.no_arguments:
            return Verdict("ours", "no arguments could be made up")
        return Verdict("ours", "our own client refused the arguments that we made up")
    if judgement is None:
        return Verdict("prism", "it makes no answer in time")
    held = [v for v in judgement.request if not _is_for_the_client(v)]
    if held:
        return _of_violation(call, held[0], umpire)
    if judgement.request:
        return Verdict("agreed", "Prism asks for header parameters that OpenAPI says to ignore")
    if judgement.problem:
        return Verdict("prism", _PROBLEMS.get(judgement.problem, "it broke while answering"))
    return AGREED


def of_answer(call: Call, umpire: Umpire) -> Verdict | None:
    """Whether Prism's answer is as described; None where there is nothing to compare."""
    judgement = call.judgement
    if judgement is None or not judgement.accepted or not 200 <= judgement.status < 300:
        return None
    if not call.breach and not judgement.answer:
        return AGREED
    if call.breach and judgement.answer:
        return Verdict("agreed", "the document's example breaks its schema, both say")
    fault = _answer_fault(call, umpire)
    if call.breach:
        if "writeOnly" in call.breach:
            return Verdict("document", "its example holds what the schema calls writeOnly")
        return (
            Verdict("document", "its example breaks its schema; Prism does not see it")
            if fault
            else Verdict("ours", "we refuse an answer that fits")
        )
    if all("format" in violation.message for violation in judgement.answer):
        return Verdict("document", "its example is not of the format that it names; we let it pass")
    return (
        Verdict("prism", "it refuses an answer that fits")
        if fault is None
        else Verdict("ours", "we accept an answer that does not fit")
    )


def _is_for_the_client(violation: Violation) -> bool:
    """Whether it is about a header parameter whose declaration OpenAPI says to ignore."""
    return violation.place.startswith("request.header") and any(
        name in f"{violation.place} {violation.message}".lower() for name in _NOT_DECLARED
    )


def _answer_fault(call: Call, umpire: Umpire) -> str | None:
    assert call.judgement is not None
    method, path = call.operation.split(" ", 1)
    schema = umpire.answer_schema(method, path, call.judgement.status, call.answer_type)
    if schema is None:
        return ""
    try:
        return umpire.fault(schema, parsed(call.answer), "answer")
    except ValueError:
        return "it is no JSON"


def _of_violation(call: Call, violation: Violation, umpire: Umpire) -> Verdict:
    if violation.code == "401":
        return Verdict("prism", "it does not take the credential")
    if violation.place.startswith("request.body") or violation.place in ("request", "request.body"):
        return _of_body(call, umpire)
    name = [*violation.place.split("."), "", ""][2]
    if _is_nested(call.arguments.get(name)):
        return Verdict("document", "its parameter nests values, which OpenAPI says no form of")
    return Verdict("ours", f"parameter: {violation.message}")


def _is_nested(value: JsonValue) -> bool:
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(isinstance(element, dict | list) for element in held)


def _of_body(call: Call, umpire: Umpire) -> Verdict:
    method, path = call.operation.split(" ", 1)
    kind = call.content_type.partition(";")[0]
    if kind.startswith("multipart/"):
        return Verdict("prism", "it reads every part of a multipart body as text")
    schema = umpire.body_schema(method, path, kind)
    fault = umpire.fault(schema, call.meant, "request") if schema is not None else ""
    if fault is not None:
        return Verdict("ours", f"body of {kind}: {fault}")
    if kind.endswith("x-www-form-urlencoded"):
        if says(call.meant, read_form(call.body)):
            return Verdict("prism", "it reads each field of a form as one text")
        return Verdict("ours", "what a form is to say does not arrive")
    if call.meant is None or not isinstance(call.meant, dict | list):
        return Verdict("prism", "it reads no body that is neither object nor list")
    return Verdict("prism", "it refuses a body that fits its schema")
