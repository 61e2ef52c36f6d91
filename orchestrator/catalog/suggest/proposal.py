"""Proposals: actions of an overlay with their questions, and the overlay's text."""

import json
import re
from collections.abc import Iterator

from pydantic import Field, JsonValue

from orchestrator.catalog.overlay import target_of
from orchestrator.core.record import JsonObject, Record
from orchestrator.core.shown_text import visible

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
    shown = [*_head(proposal), *_body(proposal)]
    return "\n".join(shown) + "\n"


def _head(proposal: Proposal) -> Iterator[str]:
    before = f", {proposal.marked_before} were said of before" if proposal.marked_before else ""
    yield from _folded(f"Proposed for {proposal.file}: read it before you use it.", "# ")
    yield (
        f"# {proposal.operations} operations: {proposal.marked} marked as tools{before}, "
        f"{proposal.questions} only asked about; rollback pairs: {len(proposal.pairs)}."
    )
    yield from _EXPLAINED
    for remark in proposal.remarks:
        yield from _folded(remark, "# ")
    for left in proposal.left_out:
        yield from _folded(f"left out: {left}", "# ")
    yield "overlay: 1.0.0"
    yield "info:"
    yield f"  title: {_scalar(f'Tools of {proposal.document}')}"
    yield "  version: 1.0.0"
    yield f"extends: {_scalar(proposal.file)}"


def _body(proposal: Proposal) -> Iterator[str]:
    if not proposal.marked:
        # An overlay has at least one action.
        yield "actions:"
        yield "  - target: $.info"
        yield "    description: Nothing of this document is surely a tool. It changes nothing."
        yield "    update: {}"
    else:
        yield "actions:"
    for action in proposal.actions:
        yield ""
        lines = _action(action)
        yield from (f"# {line}".rstrip() for line in lines) if action.is_question else lines


def _action(action: ProposedAction) -> Iterator[str]:
    title = f"{action.method} {action.path}"
    yield from _folded(f"{title}: {action.title}" if action.title else title, "  # ")
    yield f"  - target: {_scalar(target_of(action.place))}"
    for check in action.checks:
        yield from _folded(f"check: {check}", "    # ")
    yield "    update:"
    for key, value in action.update.items():
        yield from _entry(key, value, "      ")


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
    return "".join(map(_shown, json.dumps(value, ensure_ascii=False)))


def _shown(character: str) -> str:
    """Return a visible character as it is, others as YAML's escape."""
    if character.isascii() or (character.isalnum() and visible(character) == character):
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


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
