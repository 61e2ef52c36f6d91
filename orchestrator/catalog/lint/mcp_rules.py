"""Rules on tools that an MCP server lists: what it does not declare, and texts that mislead."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from unicodedata import normalize

from orchestrator.catalog.lint.finding import Problem, Raised, rule
from orchestrator.catalog.lint.subject import Subject
from orchestrator.catalog.mcp_documents import REFUSAL, TOOL
from orchestrator.catalog.tool import Effect
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.walker import properties_of

LOOKS_ALIKE: Final = "ORC084"
_OF_EFFECT: Final = ("readOnlyHint", "destructiveHint")
_INSTRUCTION: Final = re.compile(
    r"<\s*/?\s*(?:important|system|instructions?|secret)\s*>"
    r"|\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instruction|prompt|rule|polic)"
    r"|\b(?:do not|don't|never|without)\b.{0,20}\b(?:tell|telling|inform|mention|ask|asking"
    r"|show|reveal)\w*\b.{0,20}\b(?:user|person|human|anyone|operator)"
    r"|\bsystem prompt\b|\byou (?:must|have to|should) (?:always |first |also )*(?:call|use|read"
    r"|send|run|include|pass)\b|\bbefore (?:using|calling) any other tool\b",
    re.IGNORECASE | re.DOTALL,
)
"""Text that addresses a model in place of describing the tool."""
_ALIKE: Final = str.maketrans({"l": "1", "i": "1", "o": "0", "-": "_", ".": "_", "/": "_"})
_SKIPPED: Final = re.compile(r"[^\w]|_")


def _declared(subject: Subject) -> JsonObject | None:
    found = subject.declared(TOOL)
    return found.value if found is not None and isinstance(found.value, dict) else None


def _changes(subject: Subject) -> bool:
    return subject.tool is not None and subject.tool.is_side_effect


@rule("ORC080")
def declared_effect(subject: Subject) -> Iterator[Problem]:
    """Require a server, or an overlay, to declare the effect of a tool."""
    tool = _declared(subject)
    if tool is None or subject.tool is None or subject.tool.effect in (Effect.READ, Effect.CANCEL):
        return
    hints = tool.get("annotations")
    if not (isinstance(hints, dict) and any(hint in hints for hint in _OF_EFFECT)):
        yield Problem(
            subject.pointer,
            f"the server does not say if {subject.name} changes anything, so it counts as a change",
        )


@rule("ORC081")
def believed_hint(subject: Subject) -> Iterator[Problem]:
    """Report a hint of reading that the tool's own words contradict."""
    tool = _declared(subject)
    hints = tool.get("annotations") if tool is not None else None
    if isinstance(hints, dict) and hints.get("readOnlyHint") is True and _changes(subject):
        yield Problem(
            subject.pointer,
            f"the server says that {subject.name} only reads, and its words speak of a change: a "
            "person confirms each call",
        )


@rule("ORC082")
def visible_text(subject: Subject) -> Iterator[Problem]:
    """Report hidden characters in what a server says about a tool."""
    tool = _declared(subject)
    if tool is not None and tool.get("hidden") is True:
        yield Problem(
            subject.pointer_to("description"),
            f"the texts of {subject.name} have hidden characters; they are shown escaped",
        )


@rule("ORC083")
def describing_text(subject: Subject) -> Iterator[Problem]:
    """Report text that gives orders to a model."""
    if _declared(subject) is None:
        return
    inputs = properties_of(subject.tool.input_schema) if subject.tool is not None else {}
    texts = [str(schema.get("description", "")) for schema in inputs.values()]
    for text in (subject.operation.node.text_at("description") or "", *texts):
        if (found := _INSTRUCTION.search(text)) is not None:
            yield Problem(
                subject.pointer_to("description"),
                f"the text of {subject.name} gives orders to a model: {found[0][:80]!r}",
            )
            return


@rule("ORC085")
def refusal_declared(subject: Subject) -> Iterator[Problem]:
    """Report a tool after whose errors nobody knows if anything was done."""
    if _declared(subject) is None or not (_changes(subject) and subject.tool):
        return
    if subject.operation.node.at("responses", REFUSAL) is None:
        yield Problem(
            subject.pointer_to("responses"),
            f"an error of {subject.name} leaves open if anything was done, so the call is unclear",
        )


def look_alikes(names: Mapping[str, Sequence[Subject]]) -> Iterator[Raised]:
    """Yield ORC084 for tools of MCP servers whose names look like those of other tools."""
    alike: defaultdict[str, set[str]] = defaultdict(set)
    for name in names:
        alike[_looks(name)].add(name)
    for name, subjects in names.items():
        others = sorted(alike[_looks(name)] - {name})
        for subject in subjects if others else ():
            if _declared(subject) is not None:
                problem = Problem(
                    subject.pointer_to("operationId"),
                    f"the name {name!r} looks like {others[0]!r}, another tool",
                )
                yield Raised(LOOKS_ALIKE, subject.operation.document, problem, subject)


def _looks(name: str) -> str:
    """Return the form in which names that people confuse are equal."""
    plain = normalize("NFKD", name).casefold().translate(_CONFUSED)
    return _SKIPPED.sub("", plain.translate(_ALIKE))


_CONFUSED: Final = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u03bf\u03b1\u03bd\u0131",
    "aeopcyxijsoavi",
)
"""Letters of Cyrillic and Greek that look like those of Latin."""
