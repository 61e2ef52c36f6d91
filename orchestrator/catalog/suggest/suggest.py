"""Propose an overlay for one document: sure facts as actions, the rest as questions."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from pydantic import Field, JsonValue

from orchestrator.catalog.call_templates import expressions_of
from orchestrator.catalog.card_types import CARD_TYPES, OURS
from orchestrator.catalog.contract import READ_ONLY
from orchestrator.catalog.declared_prices import PRICE
from orchestrator.catalog.functions import read_description, read_name
from orchestrator.catalog.inputs import IDEMPOTENCY_KEY
from orchestrator.catalog.lint import Finding, lint
from orchestrator.catalog.lint.contract_rules import absolute_server
from orchestrator.catalog.lint.shape_rules import doubt_of_get
from orchestrator.catalog.lint.subject import Uses
from orchestrator.catalog.money import names_price
from orchestrator.catalog.operations import TOOL_MARK, operations
from orchestrator.catalog.overlay import apply_overlays, parse_overlay, target_of
from orchestrator.catalog.suggest.pairing import Pair, find_pairs, find_probe
from orchestrator.catalog.suggest.survey import Surveyed, asked_for, survey
from orchestrator.catalog.tool import Effect, ToolCallTemplate
from orchestrator.catalog.yaml12 import load_yaml
from orchestrator.core.errors import UsageError
from orchestrator.core.record import JsonObject, Record
from orchestrator.core.shown_text import visible
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import format_pointer, parse_pointer, reference_of
from orchestrator.json_schema.walker import needs_something, properties_of
from orchestrator.language import lexicon
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action
from orchestrator.language.words import (
    COMPUTING_VERBS,
    NOUN_LIKE_VERBS,
    WARY_VERBS,
    action_of,
    action_of_stem,
    is_verb,
    name_words,
    stem,
    tokens,
)

_PLAIN = re.compile(r"[A-Za-z_$][\w$.#/ \[\]{}'@,-]*(?<! )")
_WORDS_OF_YAML = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_WIDTH = 110
_MOST_LINES = 8
_EXPLAINED = (
    "# Facts here are stated by the document. Whatever is only likely is a comment: look",
    "# for `check:`. An action that is a comment as a whole does nothing until the '# ' that",
    "# begins each of its lines is removed.",
    "# Documents do not say which fields are personal (x-orchet-pii-required), nor what costs",
    "# nothing (x-orchet-price: false).",
)


class ProposedAction(Record):
    """An operation, and the update that would make it a tool."""

    tool: str = Field(description="its operationId, or the proposed one")
    method: str
    path: str
    place: tuple[str, ...] = Field(description="path to the operation in the document")
    title: str = ""
    update: JsonObject
    checks: tuple[str, ...] = Field(default=(), description="questions to a person")
    is_question: bool = Field(
        default=False, description="true if it is written as a comment for a person to decide"
    )


class ProposedPair(Record):
    """A tool that creates a resource, and its cancel tool."""

    tool: str
    cancel: str
    args: JsonObject
    probe: str | None = None
    is_blind: bool = Field(
        default=False, description="true if nothing finds the resource when the answer was lost"
    )


class Proposal(Record):
    """A proposed overlay for one document."""

    document: str
    file: str = Field(description="the name of its file, which the overlay extends")
    operations: int = Field(
        description="number of operations in the document, or of the chosen ones"
    )
    marked_before: int = 0
    actions: tuple[ProposedAction, ...] = ()
    pairs: tuple[ProposedPair, ...] = ()
    left_out: tuple[str, ...] = Field(
        default=(), description="operations that are left out, by cause"
    )
    remarks: tuple[str, ...] = Field(default=(), description="notes for the head of the overlay")

    @property
    def marked(self) -> int:
        """Number of operations that the overlay would make tools."""
        return sum(not action.is_question for action in self.actions)

    @property
    def questions(self) -> int:
        """Number of operations that the overlay only asks about."""
        return sum(action.is_question for action in self.actions)

    def asking(self, why: dict[str, str]) -> "Proposal":
        """Return the proposal with these tools, by name, as questions for the given reasons.

        The other end of a pair becomes a question as well.
        """
        why = dict(why)
        for pair in self.pairs:
            for one, other in ((pair.tool, pair.cancel), (pair.cancel, pair.tool)):
                if one in why:
                    why.setdefault(other, f"it belongs to {one}, which is not proposed")
        actions = tuple(
            a.model_copy(update={"is_question": True, "checks": (*a.checks, why[a.tool])})
            if a.tool in why and not a.is_question
            else a
            for a in self.actions
        )
        pairs = tuple(p for p in self.pairs if p.tool not in why)
        return self.model_copy(update={"actions": actions, "pairs": pairs})

    def checking(self, notes: dict[str, str]) -> "Proposal":
        """Return the proposal with one more question for each of these tools."""
        actions = tuple(
            a.model_copy(update={"checks": (*a.checks, notes[a.tool])}) if a.tool in notes else a
            for a in self.actions
        )
        return self.model_copy(update={"actions": actions})


def overlay_text(proposal: Proposal) -> str:
    """Return the overlay in YAML: an action for each operation, in the document's order."""
    before = f", {proposal.marked_before} were said of before" if proposal.marked_before else ""
    left_out = (f"left out: {left}" for left in proposal.left_out)
    shown = [
        *_folded(f"Proposed for {proposal.file}: read it before you use it.", "# "),
        f"# {proposal.operations} operations: {proposal.marked} marked as tools{before}, "
        f"{proposal.questions} only asked about; rollback pairs: {len(proposal.pairs)}.",
        *_EXPLAINED,
        *(line for remark in (*proposal.remarks, *left_out) for line in _folded(remark, "# ")),
        "overlay: 1.0.0",
        "info:",
        f"  title: {_scalar(f'Tools of {proposal.document}')}",
        "  version: 1.0.0",
        f"extends: {_scalar(proposal.file)}",
        "actions:",
    ]
    if not proposal.marked:
        # An overlay has at least one action.
        shown.append("  - target: $.info")
        shown.append(
            "    description: Nothing of this document is surely a tool. It changes nothing."
        )
        shown.append("    update: {}")
    for action in proposal.actions:
        title = f"{action.method} {action.path}"
        lines = [*_folded(f"{title}: {action.title}" if action.title else title, "  # ")]
        lines.append(f"  - target: {_scalar(target_of(action.place))}")
        for check in action.checks:
            lines += _folded(f"check: {check}", "    # ")
        lines.append("    update:")
        for key, value in action.update.items():
            lines += _entry(key, value, "      ")
        shown += ["", *((f"# {line}".rstrip() for line in lines) if action.is_question else lines)]
    return "\n".join(shown) + "\n"


def _entry(key: str, value: JsonValue, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        yield f"{indent}{_scalar(key)}:"
        for name, inner in value.items():
            yield from _entry(name, inner, f"{indent}  ")
    else:
        yield f"{indent}{_scalar(key)}: {_scalar(value)}"


def _scalar(value: JsonValue) -> str:
    """Return a value on one line; a text without quotes where no reader can mistake it."""
    if isinstance(value, list):
        return "[" + ", ".join(_quoted(item) for item in value) + "]"
    if not isinstance(value, str):
        return json.dumps(value)
    is_plain = _PLAIN.fullmatch(value) and " #" not in value and value.isascii()
    return value if is_plain and value.lower() not in _WORDS_OF_YAML else _quoted(value)


def _quoted(value: JsonValue) -> str:
    """Return the value as JSON, which YAML reads as well, with invisible characters escaped."""
    shown = ""
    for character in json.dumps(value, ensure_ascii=False):
        code = ord(character)
        is_shown = character.isalnum() and visible(character) == character
        if not (character.isascii() or is_shown):
            character = f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
        shown += character
    return shown


def _folded(text: str, indent: str) -> Iterator[str]:
    """Yield a text as comment lines, so that nothing in it leaves the comment."""
    line = indent
    lines: list[str] = []
    for word in visible(" ".join(text.split())).split(" "):
        if len(line) + len(word) > _WIDTH and line != indent:
            lines.append(line.rstrip())
            line = indent
        line += f"{word[:_WIDTH]} "
    lines.append(line.rstrip())
    yield from lines[:_MOST_LINES]


_CONFIRM = "x-orchet-requires-confirmation"
_TAGS = "the first tag of a tool is its domain; those that are missing are taken from the path"
_ASK_CANCEL = "what cancels it? If nothing does, remove the '# ' that begins each of these lines"
_BLIND = (
    "when its answer is lost nothing finds what was made, and rollback asks an operator; does the "
    f"provider take a key like Idempotency-Key? Then name it: {IDEMPOTENCY_KEY}"
)
_READING = (Action.READ, Action.SEARCH)
_UNSURE = WARY_VERBS | COMPUTING_VERBS
_OTHER_ANSWERS = ("201", "202")
_ROUNDS = 4
"""Each question makes its other end a question too; no chain is longer."""
_MOST_REMARKS = 5
_MOST_NAMED = 6
_CARDS: Final = {Action.PAY: "structured-payment", Action.SEND: "structured-message"}
_PERSONAL: Final = frozenset({"birthday", "birthdate", "iban", "passport", "phone", "ssn"})


def suggest(name: str, document: JsonObject, *, file: str, only: Sequence[str] = ()) -> Proposal:
    """Propose a contract for the operations of a document that have none.

    Args:
        name: of the document.
        document: overlays applied; marked operations are not changed.
        file: of the document, which the overlay extends.
        only: beginnings of paths, and tags; empty for all.

    Raises:
        DocumentInvalid: it is not a supported OpenAPI document.
        UsageError: `only` selects nothing.
    """
    surveyed, marked = survey(DocumentNode.of(name, document))
    chosen = list(asked_for(surveyed, only))
    if only and not chosen:
        raise UsageError(
            f"no operation of {file} that is not marked yet has a path that begins with, or a tag "
            f"that is, {' or '.join(only)}"
        )
    pairs = [replace(pair, probe=find_probe(pair, chosen)) for pair in find_pairs(chosen)]
    sure = [pair for pair in pairs if not pair.doubts]
    known = {pair.maker.name: pair for pair in pairs}
    known |= {end.name: pair for pair in sure for end in (pair.maker, pair.cancel)}
    actions = [_action(one, known.get(one.name)) for one in chosen if one.tool is not None]
    proposed = [
        ProposedPair(
            tool=pair.maker.name,
            cancel=pair.cancel.name,
            args=pair.args,
            probe=str(pair.probe["operationId"]) if pair.probe is not None else None,
            is_blind=pair.is_blind,
        )
        for pair in sure
    ]
    causes: dict[str, list[str]] = {}
    for one in chosen:
        if one.tool is None:
            causes.setdefault(one.fault, []).append(f"{one.method} {one.operation.path}")
    more = {c: len(places) - _MOST_REMARKS for c, places in causes.items()}
    return Proposal(
        document=name,
        file=file,
        operations=len(chosen) + len(marked),
        marked_before=len(marked),
        actions=tuple(actions),
        pairs=tuple(proposed),
        remarks=(_TAGS,) if any("tags" in one.texts for one in chosen) else (),
        left_out=tuple(
            f"{cause}: {', '.join(places[:_MOST_REMARKS])}"
            + (f" and {more[cause]} more" if more[cause] > 0 else "")
            for cause, places in causes.items()
        ),
    )


def _action(one: Surveyed, pair: Pair | None) -> ProposedAction:
    mark: JsonObject = {**one.texts, TOOL_MARK: True}
    checks = [*one.checks]
    is_question = False
    is_sure = pair is not None and not pair.doubts
    if pair is not None and is_sure:
        if pair.maker is one:
            mark |= {_CONFIRM: True, "x-orchet-cancels": pair.cancel.name}
            mark["x-orchet-compensation-args"] = pair.args
            mark |= {} if pair.probe is None else {"x-orchet-compensation-probe": pair.probe}
            checks += pair.notes
            template = ToolCallTemplate(tool=one.name, arguments=pair.args)
            if pair.is_blind:
                checks.append(_BLIND)
            elif all(expression.message == "request" for expression in expressions_of(template)):
                # Others may share the sent values that alone identify the resource.
                checks.append(
                    "what is removed is named by the request alone: can it have been there before?"
                )
        else:
            mark |= {_CONFIRM: False, "x-orchet-cancel-for": pair.maker.name}
    elif is_read(one):
        if doubt := doubt_of_get(one.operation, one.tool) if one.tool is not None else "":
            is_question = True
            mark |= {READ_ONLY: False, _CONFIRM: True, "x-orchet-irreversible": True}
            checks.append(f"{doubt}: if it only reads, keep x-orchet-tool alone")
    elif surely_reads(one):
        mark |= {"x-orchet-read-only": True}
    else:
        is_question = True
        mark |= {_CONFIRM: True, "x-orchet-irreversible": True}
        checks += _why_asked(one, pair)
    if not is_read(one) and not surely_reads(one):
        is_effect = pair is None or not is_sure or pair.maker is one
        checks += _likely_contract(one, is_effect=is_effect)
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


def _likely_contract(one: Surveyed, *, is_effect: bool) -> Iterator[str]:
    """Yield questions about the key, the card, the personal inputs and the price of a call."""
    if one.tool is None:
        return
    for binding in one.tool.bindings if one.tool.idempotency_key is None else ():
        # An input may be an idempotency key by its words alone.
        said = str(one.tool.properties[binding.name].get("description", ""))
        is_of_request = {"request", "id"} <= {*name_words(binding.field)}
        if binding.location != "path" and (is_of_request or "idempoten" in said.lower()):
            yield f"is {binding.field} an idempotency key? Then {IDEMPOTENCY_KEY}: {binding.field}"
    if not is_effect or one.verb[1] in (Action.CANCEL, Action.UPDATE):
        return
    # The path names a card type, or the verb implies one.
    named = (c for word in sorted(one.shape.words) if (c := f"structured-{word}") in CARD_TYPES)
    card = next(named, None) or _CARDS.get(one.verb[1])
    if card is not None and card not in OURS:
        yield f"which card? {_CONFIRM}: {card} shows {CARD_TYPES[card].purpose.lower()[:-1]}"
    personal: list[str] = []
    for name, schema in one.tool.properties.items():
        words = name_words(name)
        is_mail = schema.get("format") in ("email", "idn-email") or lexicon.EMAIL & {*words}
        is_name = words[-1] == "name" and lexicon.PERSONAL & {*words}
        if is_mail or is_name or _PERSONAL & {*words} or {"account", "number"} <= {*words}:
            personal.append(name)
    if personal:
        yield f"personal? Then x-orchet-pii-required: [{', '.join(personal[:_MOST_NAMED])}]"
    answered = properties_of(one.tool.output_schema or {})
    sent = [b.field for b in one.tool.bindings if b.location == "body" and names_price(b.field)]
    price = [f"$response.body#{format_pointer((n,))}" for n in answered if names_price(n)]
    price += [f"$request.body#{format_pointer((n,))}" for n in sent]
    if price and one.tool.price is None:
        yield f"is that what it costs? Then {PRICE}: {price[0]}; false if it costs nothing"


def _leaves_its_body_out(one: Surveyed) -> bool:
    """Return True if a change may be sent without a body whose schema requires something.

    A body that other operations refer to is not changed, nor is the body of an operation that is
    itself a reference: next to its reference, the proposal would replace the body.
    """
    here = one.operation.root.raw(one.place[0])
    for step in one.place[1:]:
        here = here.raw(step) if here is not None else None
    if here is None or reference_of(here.value) is not None:
        return False
    written = one.operation.node.value
    body = written.get("requestBody") if isinstance(written, dict) else None
    is_own = isinstance(body, dict) and "$ref" not in body and body.get("required") is not True
    if not is_own or one.tool is None or is_read(one):
        return False
    bound = one.tool.input_schema.get("dependentRequired")
    whole = [b for b in one.tool.bindings if b.location == "body" and not b.field]
    schemas = [one.tool.properties[b.name] for b in whole]
    return bool(bound) or any(needs_something(s, one.tool.input_schema) for s in schemas)


def _why_asked(one: Surveyed, pair: Pair | None) -> Iterator[str]:
    """Yield the reasons why an operation is only asked about."""
    if pair is not None:
        yield f"it may be cancelled by {pair.cancel.name}, and that is not sure:"
        yield from pair.doubts
        if pair.args:
            shown = ", ".join(f"{name}: {value}" for name, value in pair.args.items())
            yield f"as a pair: x-orchet-cancels: {pair.cancel.name}, with the args {shown}"
    elif one.method == "POST" and _reads_by_words(one):
        yield "does it change nothing? Then write x-orchet-read-only: true in place of the rest"
    elif one.method in ("PUT", "PATCH"):
        yield "it changes what is there, and nothing here brings back what was"
    if pair is None:
        yield _ASK_CANCEL


def surely_reads(one: Surveyed) -> bool:
    """Return True if a POST only searches: its path ends in such a verb, and its words agree.

    The verb is the last word, `/orders/search`, and no answer reports a creation.
    """
    if one.method != "POST" or one.tool is None or one.tool.output_schema is None:
        return False
    words = name_words(one.shape.last)
    # "Convert" changes a visitor but not an amount; the owner can answer that.
    if len(words) != 1 or action_of(words[-1]) not in _READING or words[-1] in _UNSURE:
        return False
    # The description may state an effect anywhere: "creates a filtered report". A word of the path
    # is the resource, such as an upload, and not a verb.
    things = {*tokens(one.operation.path)}
    stated = (w for w in tokens(one.tool.description) if w.endswith("s") and w not in things)
    speaks_of_change = any(
        action_of_stem(stem(word)) in SIDE_EFFECT_ACTIONS
        and (is_verb(word[:-1]) or is_verb(word[:-2]))
        and word[:-1] not in NOUN_LIKE_VERBS
        for word in stated
    )
    return not speaks_of_change and _reads_by_words(one)


def _reads_by_words(one: Surveyed) -> bool:
    if one.tool is None or not one.statuses.isdisjoint(_OTHER_ANSWERS):
        return False
    named = read_name(one.name)
    said = f"{one.tool.summary.rstrip('.')}. {one.tool.description}".strip(". ")
    described = read_description(said, one.name)
    return (named.reads or described.reads) and not (named.changes or described.changes)


def is_read(one: Surveyed) -> bool:
    """Return True if the HTTP method reads."""
    return one.tool is not None and one.tool.effect is Effect.READ


class Settled(NamedTuple):
    """A proposal, and the linter's findings on the document with it."""

    proposal: Proposal
    findings: tuple[Finding, ...]


def settle(proposal: Proposal, document: JsonObject) -> Settled:
    """Turn tools with lint errors into questions, and add remarks on errors around them."""
    findings: list[Finding] = []
    for _ in range(_ROUNDS):
        whole = applied(proposal, document)
        findings = lint({proposal.document: whole})
        # A missing server concerns the document, and becomes a remark.
        wrong = [f for f in findings if f.severity == "error" and f.code != absolute_server.code]
        places = {a.place: a.tool for a in proposal.actions if not a.is_question}
        exposed = operations(DocumentNode.of(proposal.document, whole)) if wrong else ()
        uses = Uses(whole, (operation for operation in exposed if operation.is_tool))
        reasons: dict[str, str] = {}
        for finding in reversed(wrong):  # the first error of a tool is kept
            path = parse_pointer(finding.pointer)
            around = [path[:length] for length in range(len(path), 0, -1)]
            named = [place for place in around if place in places]
            # An error in a shared part of the document belongs to each tool that uses the part.
            shared = uses.by(path) if path[2:] and path[0] == "components" else set()
            for place in named or shared & places.keys():
                said = f"lint: {finding.code}: {finding.message}: {finding.fix}"
                reasons[places[place]] = said
        if not reasons:
            break
        proposal = proposal.asking(reasons)
    errors = [finding for finding in findings if finding.severity == "error"]
    remarks = [*proposal.remarks]
    for code, count in Counter(f.code for f in errors).most_common(_MOST_REMARKS):
        first = next(finding for finding in errors if finding.code == code)
        at = first.pointer or "the document"
        more = f" ({count - 1} more of {code})" if count > 1 else ""
        remarks.append(f"look at first: {code} at {at}: {first.message}: {first.fix}{more}")
    settled = proposal.model_copy(update={"remarks": tuple(remarks)})
    return Settled(settled, tuple(findings))


def applied(proposal: Proposal, document: JsonObject) -> JsonObject:
    """Return the document with the overlay as written, so that the check covers its text."""
    overlay = parse_overlay("the proposal", load_yaml(overlay_text(proposal)))
    return apply_overlays({proposal.document: document}, [overlay]).documents[proposal.document]
