"""Rules on the name, descriptions, inputs and answers of a tool, and on tools of MCP servers."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final
from unicodedata import normalize

from orchestrator.catalog.contract import READ_ONLY
from orchestrator.catalog.inputs import is_json
from orchestrator.catalog.lint.finding import Problem, Raised, rule
from orchestrator.catalog.lint.subject import Subject
from orchestrator.catalog.mcp_documents import REFUSAL, TOOL
from orchestrator.catalog.operations import Operation
from orchestrator.catalog.tool import Effect, Tool
from orchestrator.catalog.tool_names import TOOL_NAME
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.openapi_dialect import ANNOTATIONS
from orchestrator.json_schema.references import resolve
from orchestrator.json_schema.walker import COMPOSITIONS, properties_of, walk
from orchestrator.language.intent import SIDE_EFFECT_ACTIONS, Action
from orchestrator.language.words import (
    NOUN_LIKE_VERBS,
    action_of_stem,
    is_verb,
    name_words,
    stem,
    tokens,
)

_WITHOUT_CONTENT = frozenset({"204", "205", "304"})
_STRING_LIMITS = frozenset({"const", "enum", "format", "maxLength", "pattern"})
_NUMBER_LIMITS = frozenset(
    {"const", "enum", "exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"}
)
_COMPOSED = frozenset({"$ref", *COMPOSITIONS})
_TYPE_KEYWORDS = frozenset({"type", "enum", "const", *_COMPOSED})


@rule("ORC002")
def compiles(subject: Subject) -> Iterator[Problem]:
    if subject.fault is not None:
        text = subject.fault.reason
        fix = subject.fault.remedy or "correct this place; the tool is skipped until then"
        yield Problem(subject.fault.pointer, text, fix)


@rule("ORC020")
def object_shaped(subject: Subject) -> Iterator[Problem]:
    for found in subject.inputs:
        is_object = found.schema.get("type") == "object" or _COMPOSED & found.schema.keys()
        is_json_body = subject.tool is not None and is_json(subject.tool.body_content_type or "")
        if found.is_whole_body and not is_object and is_json_body:
            yield Problem(
                subject.pointer_to("requestBody"),
                f"the body of {subject.name} is not an object, so it appears as "
                f"{found.binding.name!r}",
            )


@rule("ORC021")
def constrained_inputs(subject: Subject) -> Iterator[Problem]:
    for found in subject.inputs:
        if not found.is_whole_body and (missing := _missing_limit(found.schema)) is not None:
            place = found.schema_pointer or subject.pointer_to("requestBody")
            text = f"the input {found.binding.name!r} of {subject.name} states no limits"
            yield Problem(place, text, f"add {missing}")


@rule("ORC022")
def described_inputs(subject: Subject) -> Iterator[Problem]:
    for found in subject.inputs:
        if not found.schema.get("description") and "$ref" not in found.schema:
            text = f"the input {found.binding.name!r} of {subject.name} is not described"
            yield Problem(found.pointer or subject.pointer_to("requestBody"), text)


@rule("ORC023")
def body_is_required(subject: Subject) -> Iterator[Problem]:
    tool = subject.tool
    if tool is not None and "dependentRequired" in tool.input_schema:
        body = subject.operation.node.at("requestBody")
        if body is not None and body.at("required") is None:
            text = f"{subject.name} has required properties in a body that may be left out"
            yield Problem(body.pointer, text)


@rule("ORC024")
def structured_answer(subject: Subject) -> Iterator[Problem]:
    tool, place = subject.tool, subject.pointer_to("responses")
    if tool is None:
        return
    if tool.output_schema is not None:
        if not tool.output_schema.keys() - ANNOTATIONS:
            text = f"{subject.name} answers JSON of which nothing is declared"
            yield Problem(place, text)
        return
    if tool.effect is not Effect.READ:
        return
    responses = dict(subject.operation.node.items("responses"))
    wanted = [status for status in responses if status[:1] in "23"] or ["default"]  # redirects too
    successes = [(status, responses[status]) for status in wanted if status in responses]
    has_none = any(s in _WITHOUT_CONTENT or s.startswith("3") for s, _ in successes)
    contents = [content for _, response in successes for content in response.items("content")]
    if not has_none and not contents:
        yield Problem(place, f"{subject.name} reads something, and no answer of it is declared")
    for written, media in contents:
        schema = media.at("schema")
        if schema is not None and not is_json(written) and schema.raw("properties") is not None:
            yield Problem(
                place,
                f"{subject.name} is answered in {written}, which is kept as text: later steps read "
                "no property of it",
                "declare application/json where the provider answers that as well; else a person "
                "or a model reads the text",
            )
            return


def _missing_limit(schema: JsonObject) -> str | None:
    if not _TYPE_KEYWORDS & schema.keys():
        return "a type"
    kinds = schema.get("type")
    kind = next((k for k in kinds if k != "null"), None) if isinstance(kinds, list) else kinds
    if kind == "string" and not _STRING_LIMITS & schema.keys():
        return "an enum, a format, a pattern or a maxLength"
    if kind in ("integer", "number") and not _NUMBER_LIMITS & schema.keys():
        return "a minimum and a maximum"
    if kind == "array" and "maxItems" not in schema:
        return "a maxItems"
    return None


_FEWEST_WORDS = 5
_MOST_READ: Final = 20_000
"""Characters that are examined; no card shows a longer text."""
_NOT_PROSE: Final = re.compile(
    r"`[^`]{1,500}`|<[^<>]{0,300}>|\"[^\"]{0,200}\"|\w{1,20}://\S+|\S{1,80}@\S{1,80}|\{[^{}]{0,100}\}"
)
_PROGRAM_NAME: Final = re.compile(
    r"(?<![\w./:@#$&=-])(?:[a-z0-9]+(?:_[a-z0-9]+)+|[a-z]{3,}[A-Z]+[a-z]\w*"
    r"|[A-Z][a-z]+(?:[A-Z][a-z]+)+[A-Z]\w*)(?![\w=])"
)
"""Names in snake_case, in camelCase and, with three parts or more, in PascalCase."""
_READING: Final = frozenset({"get", "list", "find", "search", "show", "fetch", "retrieve", "read"})
_DETERMINERS: Final = frozenset({"a", "an", "the", "all", "this", "your", "one"})
_AFTER_VERBS: Final = _DETERMINERS | {"to", "out", "off", "my", "every"}
_SELECTORS: Final = frozenset({"action", "cmd", "command", "do", "method", "op", "operation"})
_SESSION_VERBS: Final = frozenset(
    {
        "logout",
        "logoff",
        "signout",
        "rotate",
        "refresh",
        "regenerate",
        "resend",
        "purge",
        "shutdown",
    }
)
"""Verbs for operations on systems, which never occur in requests."""


@rule("ORC010")
def usable_name(subject: Subject) -> Iterator[Problem]:
    name = subject.operation.operation_id
    called = f", so it is called {subject.tool.name}" if subject.tool is not None else ""
    if name is None:
        yield Problem(
            subject.pointer,
            f"{subject.name} has no operationId{called}",
            "add one: it becomes the name of the tool and should never change",
            cause="no name",
        )
    elif not TOOL_NAME.fullmatch(name):
        yield Problem(
            subject.pointer_to("operationId"),
            f"the operationId {name!r} cannot name a tool{called}",
            cause="unusable names",
        )


@rule("ORC012")
def has_summary(subject: Subject) -> Iterator[Problem]:
    if not _text(subject, "summary"):
        yield Problem(subject.pointer_to("summary"), f"{subject.name} has no summary")


@rule("ORC013")
def has_description(subject: Subject) -> Iterator[Problem]:
    if not any(_is_described(_text(subject, keyword)) for keyword in ("description", "summary")):
        yield Problem(subject.pointer_to("description"), f"{subject.name} is not described")


@rule("ORC014")
def plain_language(subject: Subject) -> Iterator[Problem]:
    tool = subject.tool
    schemas = (tool.input_schema, tool.output_schema) if tool is not None else ()
    parts = [part for whole in schemas for part in walk(whole)]
    for keyword in ("summary", "description"):
        text = _NOT_PROSE.sub(" ", _text(subject, keyword)[:_MOST_READ])
        for word in dict.fromkeys(_PROGRAM_NAME.findall(text)):
            # A text may explain a field that a caller fills in or reads.
            if not any(word in properties_of(part) for part in parts):
                yield Problem(
                    subject.pointer_to(keyword),
                    f"the {keyword} of {subject.name} has {word!r}, a name that programs use",
                    cause=word,
                )


@rule("ORC015")
def explicit_scope(subject: Subject) -> Iterator[Problem]:
    text = _text(subject, "description").lower()
    if _is_described(text) and not ("use this" in text and "return" in text):
        yield Problem(
            subject.pointer_to("description"),
            f"the description of {subject.name} does not state its scope",
            cause="scope",
        )


def _is_described(text: str) -> bool:
    return len(text.split()) >= _FEWEST_WORDS


def _text(subject: Subject, keyword: str) -> str:
    found = subject.declared(keyword)
    return found.value.strip() if found is not None and isinstance(found.value, str) else ""


@rule("ORC068")
def not_deprecated(subject: Subject) -> Iterator[Problem]:
    if subject.operation.node.is_true("deprecated"):
        yield Problem(
            subject.pointer_to("deprecated"),
            f"{subject.name} is deprecated: an equal tool that is not comes first",
            cause="deprecated",
        )


@rule("ORC070")
def get_only_reads(subject: Subject) -> Iterator[Problem]:
    if subject.tool is None or subject.declared(READ_ONLY) is not None:
        return
    why = doubt_of_get(subject.operation, subject.tool)
    if why and subject.tool.effect is Effect.READ:
        text = f"{subject.name} is a GET that may change something: {why}"
        fix = f"set {READ_ONLY}: false with a confirmation, or {READ_ONLY}: true if it only reads"
        yield Problem(subject.pointer, text, fix)


def doubt_of_get(operation: Operation, tool: Tool) -> str:
    """Return the reason why a GET may change something, by its words, inputs and answer.

    '' if the GET reads. A noun that is a verb as well ("order", "report") is a noun here, unless
    nothing is answered.
    """
    if not operation.is_safe:
        return ""
    for name in tool.required_inputs:
        # An input may select the effect of the call: `method=delete`.
        schema = tool.properties[name]
        if name.lower() not in _SELECTORS or "const" in schema:
            continue
        if not isinstance(schema.get("enum"), list):
            return f"what it does is up to {name!r}"
        if verbs := _changes_among(tool, name, is_noun=False):
            return f"{name} may be {verbs[0]!r}"
    words, summary = name_words(tool.name), tokens(tool.summary)
    reads = bool({*words[:1], *words[-1:], *summary[:1]} & _READING)
    answers = any(
        response.at("content") is not None
        for status, response in operation.node.items("responses")
        if status.startswith("2")
    )
    fixed = [s for s in operation.path.strip("/").split("/") if s and "{" not in s]
    for segment, following in zip_longest(fixed, fixed[1:], fillvalue=""):
        is_verbal = not following or is_verb(following)
        if is_verbal and _is_change(name_words(segment), tool, is_noun=answers):
            return f"its path says {segment!r}"
    if not reads and any(_is_change((w,), tool, is_noun=answers) for w in (words[0], words[-1])):
        return f"it is called {tool.name!r}"
    if reads:
        return ""
    asks = bool(summary) and _is_reading(summary[0])
    if summary[1:2] and summary[1] in _AFTER_VERBS and not asks:
        said = summary[0]
        if is_verb(said) or (said.endswith("s") and not said.endswith(("is", "ss", "us"))):
            return f"its summary says {said!r}"
    for name in tool.required_inputs:
        if verbs := _changes_among(tool, name, is_noun=True):
            return f"{name} may be {verbs[0]!r}"
    root = tool.output_schema or {}
    kinds = {str(resolve(p, root).get("type")) for p in properties_of(root).values()}
    # Booleans alone report success.
    is_read = answers and (asks or summary[:1] == ["whether"] or kinds != {"boolean"})
    return "" if is_read else "nothing is read from its answer"


def _changes_among(tool: Tool, name: str, *, is_noun: bool) -> list[str]:
    values = tool.properties[name].get("enum")
    said = [v for v in (values if isinstance(values, list) else []) if isinstance(v, str)]
    return [v for v in said if _is_change(name_words(v), tool, is_noun=is_noun)]


def _is_reading(word: str) -> bool:
    return word in _READING or action_of_stem(stem(word)) in (Action.READ, Action.SEARCH)


def _is_change(words: Sequence[str], tool: Tool, *, is_noun: bool) -> bool:
    if len(words) != 1 or (is_noun and words[0] in NOUN_LIKE_VERBS):
        return False
    action = action_of_stem(stem(words[0]))
    # Sending requires an input.
    is_action = action in SIDE_EFFECT_ACTIONS - {Action.CREATE, Action.SEND}
    changes = is_action or (action is Action.SEND and bool(tool.properties))
    return words[0] in _SESSION_VERBS or (is_verb(words[0]) and changes)


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
    changes = subject.tool is not None and subject.tool.is_side_effect
    if isinstance(hints, dict) and hints.get("readOnlyHint") is True and changes:
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
        text = f"the texts of {subject.name} have hidden characters; they are shown escaped"
        yield Problem(subject.pointer_to("description"), text)


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
    if _declared(subject) is None or subject.tool is None or not subject.tool.is_side_effect:
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
