"""Rules on outcomes: the answer to a call, a cancel or a probe must be conclusive."""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from orchestrator.catalog.call_templates import input_read, is_version
from orchestrator.catalog.catalog import version_reader
from orchestrator.catalog.compensation_contract import ARGS, GONE_WHEN, PROBE, is_own_reference
from orchestrator.catalog.contract import SUCCESS_WHEN
from orchestrator.catalog.expressions import Condition, Expression, parse_conditions, parse_filling
from orchestrator.catalog.lint.finding import Problem, rule
from orchestrator.catalog.lint.rollback_rules import probe_reads_request
from orchestrator.catalog.lint.subject import Subject, allows, schema_at
from orchestrator.catalog.tool import ENDED, Effect, Tool
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.references import format_pointer
from orchestrator.json_schema.walker import COMPOSITIONS, properties_of, required_of, subschemas

_NOT_THERE = ("404", "410")


@rule("ORC055")
def cancel_names_something(subject: Subject) -> Iterator[Problem]:
    template = subject.compensation.cancel if subject.compensation is not None else None
    called = _tool(subject.peers, template.tool) if template is not None else None
    if template is None or called is None:
        return
    fillings = template.arguments.items()
    if any(n in called.properties and parse_filling(v).expressions for n, v in fillings):
        return
    yield Problem(
        subject.pointer_to(ARGS if subject.declared(ARGS) is not None else "x-orchet-cancels"),
        f"nothing that {subject.name} sends or gets names to {called.name} what to cancel, so "
        "rollback never calls it",
        f"give {called.name} an input for the id or for a client reference, and fill it by {ARGS}",
    )


@rule("ORC056")
def probe_shows_absence(subject: Subject) -> Iterator[Problem]:
    probe = subject.probe
    if probe is None or subject.compensation is None or subject.compensation.gone_when:
        return
    if probe.tool is None or probe.tool.is_side_effect:
        return
    if not any(_declares(probe, status) for status in _NOT_THERE):
        yield Problem(
            subject.pointer_to(PROBE),
            f"{probe.name} declares no 404 or 410, and nothing says how it shows that nothing is "
            "there: it proves no cancel, and nothing void",
            f"declare its 404 with content type and body, or add {GONE_WHEN} to the probe",
        )
    elif (where := _identifying_places(subject, probe.tool)) and all(where):
        yield Problem(
            subject.pointer_to(PROBE),
            f"{probe.name} answers with a list, and nothing says that an empty one means that "
            "nothing is there: it proves no cancel, and nothing void",
            f"add to the probe, for example, {GONE_WHEN}: '!$response.body#/items/0'",
        )


@rule("ORC064")
def probe_identifies_call(subject: Subject) -> Iterator[Problem]:
    probe = subject.probe
    if probe is None or probe.tool is None or probe.tool.is_side_effect:
        return
    if any(probe_reads_request.check(subject)):
        return  # the probe is asked by the provider's id
    if not _identifying_places(subject, probe.tool, answered=False):
        yield Problem(
            subject.pointer_to(PROBE),
            f"nothing in what {probe.name} answers says which call it is about: an answer about "
            "another would be taken for ours, and cancelled",
        )


def _identifying_places(subject: Subject, probe: Tool, *, answered: bool = True) -> list[bool]:
    """Return the places where a probe's answer names the obligation: True for each inside a list.

    The names are values that were sent and, with `answered`, ids of the answer.
    """
    if subject.compensation is None or subject.tool is None:
        return []
    names: set[str] = set()
    for template in subject.compensation.templates:
        called = _tool(subject.peers, template.tool)
        for name, value in template.arguments.items():
            read = parse_filling(value).expressions
            if len(read) != 1 or not _is_own(read[0], subject.tool):
                continue
            if read[0].message == "response" and not answered:
                continue
            fields = [b.field for b in called.bindings if b.name == name] if called else []
            last = read[0].path[-1:] if read[0].source != "header" else ()
            names |= {name, *fields, *last}
    return [listed for name, listed in _properties(probe.output_schema) if name in names]


def _is_own(read: Expression, tool: Tool) -> bool:
    """Return True if an expression reads a value that identifies only this call."""
    if read.message == "response" or read.source == "header":
        return True
    return is_own_reference(read.path[-1]) or input_read(read, tool) in tool.reference_inputs


def _properties(
    schema: JsonValue, *, levels: int = 6, listed: bool = False
) -> Iterator[tuple[str, bool]]:
    """Yield the properties of an answer, nested ones too, with True for those inside a list."""
    if not isinstance(schema, dict) or levels < 0:
        return
    for name, inner in properties_of(schema).items():
        yield name, listed
        yield from _properties(inner, levels=levels - 1, listed=listed)
    yield from _properties(schema.get("items"), levels=levels - 1, listed=True)
    for part in subschemas(schema, COMPOSITIONS):
        yield from _properties(part, levels=levels - 1, listed=listed)


@rule("ORC057")
def probe_shows_cancelled(subject: Subject) -> Iterator[Problem]:
    probe, compensation = subject.probe, subject.compensation
    if probe is None or probe.tool is None or compensation is None or compensation.gone_when:
        return
    cancel = _tool(subject.peers, compensation.cancel.tool)
    after = properties_of((cancel.output_schema if cancel is not None else None) or {})
    found = properties_of(probe.tool.output_schema or {})
    for name, left in after.items():
        states, only = _values(found.get(name, {})), _values(left)
        if only and set(only) < set(states):
            example = f'$response.body#{format_pointer((name,))} == "{only[0]}"'
            yield Problem(
                subject.pointer_to(PROBE),
                f"{probe.name} may still find what {compensation.cancel.tool} has cancelled, and "
                "nothing says how that looks: rollback would take it for one that stands",
                f"add to the probe, for example, {GONE_WHEN}: {example}",
            )
            return


@rule("ORC058")
def accepted_can_be_followed(subject: Subject) -> Iterator[Problem]:
    tool = subject.tool
    if tool is None or not tool.is_side_effect or not _declares(subject, "202"):
        return
    if any(c.reading is None for c in parse_conditions(tool.success_when)):
        return
    made_by = subject.peers.get(tool.cancel_for) if tool.cancel_for is not None else subject
    if made_by is not None and made_by.probe is not None:
        return
    yield Problem(
        f"{subject.pointer}/responses/202",
        f"{subject.name} may be answered 202, accepted, and nothing shows when it is done: its "
        "outcome would stay unknown",
        f"add {PROBE} to the tool that creates the obligation, or {SUCCESS_WHEN}: $statusCode == "
        "202 if accepted is done",
    )


@rule("ORC059")
def conditions_read_what_is_declared(subject: Subject) -> Iterator[Problem]:
    tool, probe = subject.tool, subject.probe
    if tool is not None and tool.success_when:
        for text in _faults(subject, tool, parse_conditions(tool.success_when)):
            yield Problem(subject.pointer_to(SUCCESS_WHEN), text)
    if probe is not None and probe.tool is not None and subject.compensation is not None:
        for text in _faults(probe, probe.tool, parse_conditions(subject.compensation.gone_when)):
            yield Problem(f"{subject.pointer_to(PROBE)}/{GONE_WHEN}", text)


def _faults(subject: Subject, tool: Tool, conditions: tuple[Condition, ...]) -> Iterator[str]:
    """Yield a sentence for each fault of conditions over the answer of a tool."""
    schema = tool.output_schema or {}
    for condition in conditions:
        compares = condition.operator in ("==", "!=")
        if condition.reading is None:
            if not _declares(subject, str(condition.literal)):
                yield f"{condition.text}: {tool.name} declares no such status"
        elif condition.reading.source == "body":
            found = schema_at(schema, condition.reading.path)
            if found is None or tool.output_schema is None:
                yield f"{condition.text}: no answer of {tool.name} has that"
            elif compares and not allows(found, schema, condition.literal):
                yield f"{condition.text}: that property of {tool.name} is never that"


@rule("ORC072")
def cancel_can_be_verified(subject: Subject) -> Iterator[Problem]:
    tool = subject.tool
    if tool is None or tool.effect is not Effect.CANCEL or tool.success_when:
        return
    schema = tool.output_schema or {}
    promised = properties_of(schema)
    if any(len(_values(promised.get(name, {}))) == 1 for name in required_of(schema)):
        return  # an answer that follows its contract proves the cancel
    made_by = subject.peers.get(tool.cancel_for or "")
    if made_by is None or made_by.compensation is None:
        return
    if (then := made_by.compensation.then) and then[-1].tool != tool.name:
        return  # the last call of a sequence proves the cancel
    named = made_by.compensation.probe
    probe = subject.peers.get(named.tool) if named is not None else None
    if probe is not None and (
        made_by.compensation.gone_when or any(_declares(probe, s) for s in _NOT_THERE)
    ):
        return
    yield Problem(
        subject.pointer,
        f"nothing verifies what {subject.name} answers: a status of success is believed unless "
        "the answer contradicts it",
        f"add {SUCCESS_WHEN} to it, or to {made_by.name} a {PROBE} that shows what is cancelled",
    )


@rule("ORC073")
def unfinished_is_no_failure(subject: Subject) -> Iterator[Problem]:
    tool = subject.tool
    if tool is None or not tool.is_side_effect or tool.effect is Effect.CANCEL:
        return
    for condition in parse_conditions(tool.success_when):
        if condition.operator != "==" or condition.reading is None:
            continue
        found = schema_at(tool.output_schema or {}, condition.reading.path)
        others = [v for v in _values(found or {}) if v != condition.literal and v not in ENDED]
        if left := [v for v in others if not v.startswith("cancel")]:
            place = format_pointer(condition.reading.path)
            yield Problem(
                subject.pointer_to(SUCCESS_WHEN),
                f"{condition.text} calls {', '.join(left)} no success of {subject.name}, which "
                "may still become one",
                f'name what it means when it failed, such as $response.body#{place} != "failed"',
            )


@rule("ORC076")
def version_can_be_read(subject: Subject) -> Iterator[Problem]:
    contract = subject.compensation
    cancel = _tool(subject.peers, contract.cancel.tool) if contract is not None else None
    if contract is None or contract.probe is not None or cancel is None:
        return
    sent = {b.name for b in cancel.bindings if is_version(b.field)}
    tools = [peer.tool for peer in subject.peers.values() if peer.tool is not None]
    if sent.isdisjoint(contract.cancel.arguments) or version_reader(tools, cancel) is not None:
        return
    yield Problem(
        subject.pointer_to(ARGS),
        f"{cancel.name} sends the version of the call; if it has moved, the cancel is refused and "
        "parked",
        f"expose the GET of {cancel.path}, or add a {PROBE} that shows the version",
    )


def _values(schema: JsonObject) -> list[str]:
    """Return the strings that a schema enumerates; empty if it enumerates none."""
    listed = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return [v for v in listed if isinstance(v, str)] if isinstance(listed, list) else []


def _tool(peers: Mapping[str, Subject], name: str) -> Tool | None:
    found = peers.get(name)
    return found.tool if found is not None else None


def _declares(subject: Subject, status: str) -> bool:
    return subject.operation.node.at("responses", status) is not None
