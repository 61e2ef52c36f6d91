"""Rules on rollback pairs: each effect can be cancelled, even if its answer is lost."""

from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue

from orchestrator.catalog.call_templates import expressions_of, input_read, is_version
from orchestrator.catalog.catalog import version_reader
from orchestrator.catalog.compensation_contract import (
    ARGS,
    GONE_WHEN,
    PROBE,
    is_lost_with_its_answer,
    is_own_reference,
)
from orchestrator.catalog.contract import IRREVERSIBLE, READ_ONLY, SUCCESS_WHEN
from orchestrator.catalog.expressions import Condition, Expression, parse_conditions, parse_filling
from orchestrator.catalog.lint.finding import Problem, rule
from orchestrator.catalog.lint.subject import Subject, allows, schema_at
from orchestrator.catalog.tool import ENDED, Effect, Tool, ToolCallTemplate
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import format_pointer, resolve
from orchestrator.json_schema.validator import REQUEST_FORMATS, SchemaValidator
from orchestrator.json_schema.walker import (
    COMPOSITIONS,
    listed_values,
    properties_of,
    required_of,
    subschemas,
    types_of,
)

_DIGITS: Final = "digits"
"""A whole number and its digits, which are interchangeable for a parameter."""


@rule("ORC040")
def declares_cancel(subject: Subject) -> Iterator[Problem]:
    # ORC036 reports a value that is not a name.
    if subject.declared("x-orchet-cancels") is not None:
        return
    tool = subject.tool
    if tool is not None and tool.effect is Effect.WRITE and not tool.irreversible:
        unasked = "" if tool.needs_confirmation else ", and nobody is asked before it is called"
        yield Problem(
            subject.pointer,
            f"{subject.name} changes something and names no tool that cancels it{unasked}",
            "add x-orchet-cancels with the operationId of its cancel counterpart, "
            f"{IRREVERSIBLE}: true if nothing cancels it"
            + ("" if tool.method == "DELETE" else f", or {READ_ONLY}: true if it changes nothing"),
        )


@rule("ORC037")
def effect_is_consistent(subject: Subject) -> Iterator[Problem]:
    for keyword, others in (  # `false` is like an absent keyword
        (READ_ONLY, ("x-orchet-cancels", "x-orchet-cancel-for", IRREVERSIBLE)),
        (IRREVERSIBLE, ("x-orchet-cancels",)),
    ):
        said = subject.declared(keyword)
        if said is None or said.value is not True:
            continue
        against = [
            o for o in others if (d := subject.declared(o)) is not None and d.value is not False
        ]
        if keyword == READ_ONLY and subject.operation.method == "DELETE":
            against.append("the method DELETE")
        for other in against:
            yield Problem(said.pointer, f"{keyword}: true on {subject.name} contradicts {other}")
    ends = [subject.declared(keyword) for keyword in ("x-orchet-cancels", "x-orchet-cancel-for")]
    present = [end for end in ends if end is not None and end.value is not False]
    if len(present) == 2:
        text = f"{subject.name} is a cancel tool, so its own x-orchet-cancels is never used"
        yield Problem(present[0].pointer, text, "take out one of the two")


@rule("ORC054")
def irreversible_asks(subject: Subject) -> Iterator[Problem]:
    tool = subject.tool
    if tool is None or tool.effect is not Effect.WRITE or not tool.irreversible:
        return
    if not tool.needs_confirmation:
        text = f"nothing cancels {subject.name}, and nobody is asked before it is called"
        yield Problem(subject.pointer_to("x-orchet-requires-confirmation"), text)


@rule("ORC041")
def cancel_exists(subject: Subject) -> Iterator[Problem]:
    probe = subject.declared(PROBE)
    if probe is not None and not isinstance(probe.value, str):
        probe = probe.at("operationId")
    cancel_for = subject.declared("x-orchet-cancel-for")
    for named in (*_named(subject, "x-orchet-cancels"), cancel_for, probe):
        if named is not None and isinstance(named.value, str) and named.value not in subject.peers:
            text = f"{subject.name} names {named.value!r}, which is no tool of this document"
            yield Problem(named.pointer, text)


def _named(subject: Subject, keyword: str) -> list[DocumentNode]:
    """Return the operationIds of one end of a pair, which may be a list of calls."""
    declared = subject.declared(keyword)
    if declared is None or any(breach.keyword == keyword for breach in subject.breaches):
        return []
    steps = declared.elements() if isinstance(declared.value, list) else [declared]
    ids = [one.at("operationId") if isinstance(one.value, dict) else one for one in steps]
    return [one for one in ids if one is not None]


@rule("ORC042")
def pair_agrees(subject: Subject) -> Iterator[Problem]:
    ends = (
        ("x-orchet-cancels", "x-orchet-cancel-for"),
        ("x-orchet-cancel-for", "x-orchet-cancels"),
    )
    pairs = [(one, theirs) for ours, theirs in ends for one in _named(subject, ours)]
    for named, theirs in pairs:
        peer = subject.peers.get(named.value) if isinstance(named.value, str) else None
        if peer is None:
            continue
        if any(breach.keyword == theirs for breach in peer.breaches):
            continue
        answers = [one.value for one in _named(peer, theirs)]
        if subject.operation.operation_id not in answers:
            text = f"{subject.name} names {peer.name}, which does not name it back"
            yield Problem(named.pointer, text, f"set {theirs}: {subject.name} on {peer.name}")


@rule("ORC043")
def cancel_never_asks(subject: Subject) -> Iterator[Problem]:
    if subject.declared("x-orchet-cancel-for") is None:
        return
    named = subject.declared("x-orchet-requires-confirmation")
    if named is None or named.value is not False:
        text = f"{subject.name} cancels another tool and does not say that rollback asks nobody"
        yield Problem(subject.pointer_to("x-orchet-requires-confirmation"), text)


@rule("ORC044")
def cancel_can_be_filled(subject: Subject) -> Iterator[Problem]:
    for called, template, pointer in _calls(subject):
        missing = [name for name in called.required_inputs if name not in template.arguments]
        for name in missing:
            text = f"nothing that {subject.name} sends or gets fills {name!r} of {called.name}"
            fix = f"add {name} to the args, with an expression such as $response.body#/{name}"
            yield Problem(pointer, text, fix)
        for keyword in () if missing else ("anyOf", "oneOf"):
            needed = [required_of(inner) for inner in subschemas(called.input_schema, (keyword,))]
            if needed and not any(template.arguments.keys() >= {*names} for names in needed):
                text = f"what is filled of {called.name} satisfies none of its alternatives"
                fix = "fill the inputs that one of its anyOf or oneOf branches requires"
                yield Problem(pointer, text, fix)


@rule("ORC045")
def args_are_inputs(subject: Subject) -> Iterator[Problem]:
    for called, template, pointer in _calls(subject):
        for name, value in template.arguments.items():
            if name not in called.properties:
                text = f"{called.name} has no input {name!r}"
                fix = f"use one of {', '.join(called.properties) or 'no args at all'}"
                yield Problem(pointer, text, fix)
                continue
            is_constant = not parse_filling(value).expressions
            if is_constant and not allows(called.properties[name], called.input_schema, value):
                text = f"the constant {value!r} is no value that {name!r} of {called.name} takes"
                fix = "write a value that its schema allows, or an expression that begins with $"
                yield Problem(pointer, text, fix)


@rule("ORC046")
def expressions_find_something(subject: Subject) -> Iterator[Problem]:
    if subject.tool is None:
        return
    for _, template, pointer in _calls(subject):
        for name, value in template.arguments.items():
            for expression in parse_filling(value).expressions:
                if not _can_find(expression, subject.tool):
                    text = f"{value!r} for {name!r} reads nothing that {subject.name} sends or gets"
                    yield Problem(pointer, text)


@rule("ORC074")
def filling_fits(subject: Subject) -> Iterator[Problem]:
    """Require expressions that read a type that the filled input accepts.

    A parameter is text, and accepts digits from a number as well as from a string.
    """
    if subject.tool is None:
        return
    for called, template, pointer in _calls(subject):
        places = {binding.name: binding for binding in called.bindings}
        for name, value in template.arguments.items():
            filling = parse_filling(value)
            if name not in places or filling.is_listed or len(filling.parts) != 1:
                continue
            apart = frozenset() if places[name].location != "body" else {_DIGITS}
            given = {t for e in filling.expressions for t in _types_read(e, subject.tool)} - apart
            taken = _types(called.properties[name], called.input_schema) - apart
            if given and taken and given.isdisjoint(taken):
                read, takes = (" or ".join(sorted(kinds - {_DIGITS})) for kinds in (given, taken))
                yield Problem(
                    pointer,
                    f"{value!r} reads {read}, and {name!r} of {called.name} takes {takes}, so that "
                    "every rollback is parked",
                )


def _types_read(expression: Expression, tool: Tool) -> set[str]:
    """Return the types of the value that an expression reads; empty if the document has none."""
    if expression.message == "response" and expression.source == "body":
        root = tool.output_schema or {}
        return _types(schema_at(root, expression.path) or {}, root)
    read = input_read(expression, tool)
    if read is not None:
        return _types(tool.properties[read], tool.input_schema)
    return {"string", _DIGITS} if expression.source == "header" else set()


def _types(schema: JsonObject, root: JsonObject) -> set[str]:
    """Return the types of a schema, and `_DIGITS` if a number, or text that may be one, fits it."""
    found = resolve(schema, root)
    types = {"number" if one == "integer" else one for one in types_of(found) - {"null"}}
    text = {"type": "string", "format": found.get("format", "")}
    is_free = SchemaValidator(text, format_checker=REQUEST_FORMATS).is_valid("7")
    return types | {_DIGITS} if "number" in types or ("string" in types and is_free) else types


@rule("ORC047")
def survives_ambiguity(subject: Subject) -> Iterator[Problem]:
    compensation, tool = subject.compensation, subject.tool
    if compensation is None or tool is None:
        return
    cancel = subject.cancel
    if cancel is None or not is_lost_with_its_answer(tool, compensation, cancel):
        return
    yield Problem(
        subject.pointer_to(ARGS if subject.declared(ARGS) else "x-orchet-cancels"),
        f"{subject.name} cannot be cancelled when its answer is lost: {compensation.cancel.tool} "
        "needs something of it, so the call is parked",
    )


@rule("ORC048")
def probe_reads_request(subject: Subject) -> Iterator[Problem]:
    probe = subject.compensation.probe if subject.compensation is not None else None
    if probe is not None and any(e.message == "response" for e in expressions_of(probe)):
        yield Problem(
            subject.pointer_to(PROBE),
            f"the probe of {subject.name} reads the answer: it shows the outcome of a cancel, and "
            "cannot find a call whose answer was lost",
        )


@rule("ORC049")
def probe_only_reads(subject: Subject) -> Iterator[Problem]:
    peer = subject.probe
    if peer is not None and peer.tool is not None and peer.tool.is_side_effect:
        text = f"the probe of {subject.name} is {peer.name}, which changes something"
        yield Problem(subject.pointer_to(PROBE), text)


@rule("ORC050")
def takes_idempotency_key(subject: Subject) -> Iterator[Problem]:
    tool = subject.tool
    if tool is None or tool.effect is not Effect.OBLIGATION or tool.idempotency_key is not None:
        return
    if any(reference_is_own.check(subject)) or any(survives_ambiguity.check(subject)):
        # ORC052 and ORC047 report worse consequences of the missing key.
        return
    text = f"{subject.name} takes no idempotency key, so it is never sent a second time"
    yield Problem(subject.pointer, text)


@rule("ORC051")
def settings_need_cancels(subject: Subject) -> Iterator[Problem]:
    if subject.declared("x-orchet-cancels") is not None:
        return
    for keyword, place in subject.operation.node.raw_items():
        if keyword.startswith("x-orchet-compensation-"):
            yield Problem(
                place.pointer, f"{keyword} on {subject.name} means nothing without x-orchet-cancels"
            )


def _calls(subject: Subject) -> Iterator[tuple[Tool, ToolCallTemplate, str]]:
    """Yield cancel and probe: the called tool, its filling, and the place of the declaration."""
    compensation = subject.compensation
    if compensation is None:
        return
    args = ARGS if subject.declared(ARGS) is not None else "x-orchet-cancels"
    for template, keyword in ((compensation.cancel, args), (compensation.probe, PROBE)):
        peer = subject.peers.get(template.tool) if template is not None else None
        if template is not None and peer is not None and peer.tool is not None:
            yield peer.tool, template, subject.pointer_to(keyword)


def _can_find(expression: Expression, tool: Tool) -> bool:
    schema, path = tool.output_schema, expression.path
    if expression.message == "request":
        if len(path) == 1 and tool.reads_key(expression.source, path[0]):
            return True
        if expression.source != "body":
            return input_read(expression, tool) is not None
        fields = {b.field: b.name for b in tool.bindings if b.location == "body"}
        if not path or "" in fields:
            schema = tool.properties.get(fields[""]) if "" in fields else None
            if schema is None:
                return bool(fields)
        elif path[0] in fields:
            schema, path = tool.properties[fields[path[0]]], path[1:]
        else:
            return False
    elif expression.source != "body":
        return True
    return schema is not None and schema_at(schema, path) is not None


@rule("ORC052")
def reference_is_own(subject: Subject) -> Iterator[Problem]:
    compensation, tool = subject.compensation, subject.tool
    if compensation is None or tool is None or tool.idempotency_key is not None:
        return
    read = [input_read(e, tool) for e in expressions_of(compensation.cancel)]
    sent = [name for name in read if name is not None]
    if any(survives_ambiguity.check(subject)):
        # ORC047 reports the worse fault: the cancel cannot be called at all.
        return
    is_named = any(map(is_own_reference, sent)) or (
        bool(tool.address_inputs) and set(tool.address_inputs) <= set(sent)
    )
    if sent and compensation.probe is None and not is_named:
        yield Problem(
            subject.pointer_to(ARGS),
            f"a call whose answer was lost is parked: {compensation.cancel.tool} names only "
            f"{', '.join(sent)}, which others may share",
        )


_NOT_THERE = ("404", "410")


@rule("ORC055")
def cancel_names_something(subject: Subject) -> Iterator[Problem]:
    called = subject.cancel
    if subject.compensation is None or called is None:
        return
    fillings = subject.compensation.cancel.arguments.items()
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
        peer = subject.peers.get(template.tool)
        called = peer.tool if peer is not None else None
        for name, value in template.arguments.items():
            expressions = parse_filling(value).expressions
            if len(expressions) != 1:
                continue
            read = expressions[0]
            is_reference = bool(read.path) and is_own_reference(read.path[-1])
            is_reference |= input_read(read, subject.tool) in subject.tool.reference_inputs
            if answered if read.message == "response" else read.source == "header" or is_reference:
                fields = [b.field for b in called.bindings if b.name == name] if called else []
                names |= {name, *fields, *(read.path[-1:] if read.source != "header" else ())}
    return [listed for name, listed in _properties(probe.output_schema) if name in names]


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
    cancel = subject.cancel
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
    contract, cancel = subject.compensation, subject.cancel
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
    return [value for value in listed_values(schema) if isinstance(value, str)]


def _declares(subject: Subject, status: str) -> bool:
    return subject.operation.node.at("responses", status) is not None
