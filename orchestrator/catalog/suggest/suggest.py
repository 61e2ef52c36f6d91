"""An overlay proposed for one document: what is sure as actions, the rest as questions."""

from collections.abc import Iterator, Sequence

from orchestrator.catalog.compensation_contract import is_lost_with_its_answer
from orchestrator.catalog.expressions import expressions_of
from orchestrator.catalog.operations import TOOL_MARK
from orchestrator.catalog.suggest.pairing import Pair, find_pairs
from orchestrator.catalog.suggest.probes import find_probe
from orchestrator.catalog.suggest.proposal import Proposal, ProposedAction, ProposedPair
from orchestrator.catalog.suggest.reads import is_read, may_read, surely_reads
from orchestrator.catalog.suggest.survey import Surveyed, asked_for, survey
from orchestrator.catalog.tool import Compensation, Tool, ToolCallTemplate
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.walker import needs_something

_CONFIRM = "x-orchet-requires-confirmation"
_TAGS = "the first tag of a tool is its domain; those that are missing are taken from the path"
_UNDOES = "what undoes it? If nothing does, take the # away from these lines"


def suggest(name: str, document: JsonObject, *, file: str, only: Sequence[str] = ()) -> Proposal:
    """Propose a contract for the operations of a document that have none.

    Args:
        name: of the document.
        document: overlays applied; what it marks already stays as it is.
        file: of the document, which the overlay extends.
        only: beginnings of paths, and tags; empty for all.

    Raises:
        DocumentInvalid: it is no OpenAPI document that is understood.
        UsageError: nothing of it is asked for.
    """
    surveyed, marked = survey(DocumentNode.of(name, document))
    chosen = list(asked_for(surveyed, only))
    if only and not chosen:
        raise UsageError(
            f"no operation of {file} that is not marked yet has a path that begins with, or a tag "
            f"that is, {' or '.join(only)}"
        )
    pairs = list(find_pairs(chosen))
    sure = {
        end.name: pair for pair in pairs if not pair.doubts for end in (pair.maker, pair.cancel)
    }
    likely = {pair.maker.name: pair for pair in pairs if pair.doubts}
    actions = [_action(one, sure, likely, chosen) for one in chosen if one.tool is not None]
    return Proposal(
        document=name,
        file=file,
        operations=len(chosen) + len(marked),
        marked_before=len(marked),
        actions=tuple(actions),
        pairs=tuple(_proposed(pair, chosen) for pair in pairs if not pair.doubts),
        remarks=(_TAGS,) if any("tags" in one.texts for one in chosen) else (),
        left_out=tuple(
            f"{one.operation.method} {one.operation.path}: {one.fault}"
            for one in chosen
            if one.tool is None
        ),
    )


def _action(
    one: Surveyed,
    sure: dict[str, Pair],
    likely: dict[str, Pair],
    listed: Sequence[Surveyed],
) -> ProposedAction:
    mark: JsonObject = {**one.texts, TOOL_MARK: True}
    checks = [*one.checks]
    is_question = False
    if (pair := sure.get(one.name)) is not None:
        mark |= _as_maker(pair, listed) if pair.maker is one else _as_cancel(pair)
        checks += _beside(pair, listed) if pair.maker is one else []
    elif is_read(one):
        pass
    elif surely_reads(one):
        mark |= {"x-orchet-read-only": True}
    else:
        is_question = True
        mark |= {_CONFIRM: True, "x-orchet-irreversible": True}
        checks += _why_asked(one, likely.get(one.name))
    if _leaves_its_body_out(one):
        mark |= {"requestBody": {"required": True}}
        checks.append("the document lets the body be left out, though something in it is required")
    return ProposedAction(
        tool=one.name,
        method=one.method,
        path=one.operation.path,
        place=one.place,
        title=one.tool.summary if one.tool is not None else "",
        update=mark,
        checks=tuple(checks),
        is_question=is_question,
    )


def _leaves_its_body_out(one: Surveyed) -> bool:
    """Whether a change may be sent without a body whose schema says what it cannot be without.

    A body that others refer to is theirs as well.
    """
    written = one.operation.node.value
    body = written.get("requestBody") if isinstance(written, dict) else None
    is_own = isinstance(body, dict) and "$ref" not in body and body.get("required") is not True
    if not is_own or one.tool is None or is_read(one):
        return False
    bound = one.tool.input_schema.get("dependentRequired")
    whole = [b for b in one.tool.bindings if b.location == "body" and not b.field]
    schemas = [one.tool.properties[b.name] for b in whole]
    return bool(bound) or any(needs_something(s, one.tool.input_schema) for s in schemas)


def _as_maker(pair: Pair, listed: Sequence[Surveyed]) -> JsonObject:
    probe = find_probe(pair, listed)
    return {
        _CONFIRM: True,
        "x-orchet-cancels": pair.cancel.name,
        "x-orchet-compensation-args": pair.args,
        **({"x-orchet-compensation-probe": probe} if probe is not None else {}),
    }


def _as_cancel(pair: Pair) -> JsonObject:
    return {_CONFIRM: False, "x-orchet-cancel-for": pair.maker.name}


def _beside(pair: Pair, listed: Sequence[Surveyed]) -> Iterator[str]:
    """What is asked beside a pair that is proposed."""
    yield from pair.notes
    tool = pair.maker.tool
    assert tool is not None
    if _is_blind(pair, listed):
        yield (
            "when its answer is lost nothing finds what was made, and rollback asks an operator; "
            "does the provider take an Idempotency-Key header?"
        )
    elif _shares(pair, tool):
        yield "what is removed is named by the request alone: can it have been there before?"


def _is_blind(pair: Pair, listed: Sequence[Surveyed]) -> bool:
    """Whether nothing can undo the call when its answer is lost."""
    assert pair.maker.tool is not None and pair.cancel.tool is not None
    cancel = ToolCallTemplate(tool=pair.cancel.name, arguments=pair.args)
    is_found = find_probe(pair, listed) is not None
    compensation = Compensation(cancel=cancel)
    return not is_found and is_lost_with_its_answer(pair.maker.tool, compensation, pair.cancel.tool)


def _shares(pair: Pair, tool: Tool) -> bool:
    """Whether the cancel is told by what was sent alone, which others may have too."""
    template = ToolCallTemplate(tool=tool.name, arguments=pair.args)
    return all(expression.message == "request" for expression in expressions_of(template))


def _why_asked(one: Surveyed, pair: Pair | None) -> Iterator[str]:
    """Why an operation is only asked about."""
    if pair is not None:
        yield f"it may be undone by {pair.cancel.name}, and that is not sure:"
        yield from pair.doubts
        if pair.args:
            shown = ", ".join(f"{name}: {value}" for name, value in pair.args.items())
            yield f"as a pair: x-orchet-cancels: {pair.cancel.name}, with the args {shown}"
    elif may_read(one):
        yield "does it change nothing? Then write x-orchet-read-only: true in place of the rest"
    elif one.method in ("PUT", "PATCH"):
        yield "it changes what is there, and nothing here brings back what was"
    if pair is None:
        yield _UNDOES


def _proposed(pair: Pair, listed: Sequence[Surveyed]) -> ProposedPair:
    probe = find_probe(pair, listed)
    return ProposedPair(
        tool=pair.maker.name,
        cancel=pair.cancel.name,
        args=pair.args,
        probe=str(probe["operationId"]) if probe is not None else None,
        is_blind=_is_blind(pair, listed),
    )
