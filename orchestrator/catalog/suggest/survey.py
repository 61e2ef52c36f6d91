"""Survey of a document for a proposal: operations named, described, compiled, by path shape."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from orchestrator.catalog.compile import compile_operation
from orchestrator.catalog.operations import METHODS, TOOL_MARK, Operation, operations
from orchestrator.catalog.tool import Tool
from orchestrator.catalog.tool_names import name_tools, place_of, why_named
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.walker import properties_of
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action
from orchestrator.language.words import name_words, verb_named

_PARAMETER = re.compile(r"\{([^{}]*)\}")
_ENDING = re.compile(r"(?<=.)\.[A-Za-z]{2,5}$")
"""An extension such as `/Messages/{Sid}.json` states the format only."""
_LONGEST_SUMMARY = 120
_FEWEST_WORDS = 5
_MOST_NAMED = 6
_TAG = re.compile(r"<[^<>]*>")
"""HTML tags in descriptions."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n{2,}")
_VERSION = re.compile(r"v?\d[\d.]*", re.IGNORECASE)


@dataclass(frozen=True)
class PathShape:
    """Segments of a path; `{}` stands for any parameter."""

    segments: tuple[str, ...]
    parameters: tuple[str, ...]
    """Names in the order of the path."""

    @classmethod
    def of(cls, path: str) -> "PathShape":
        """Read a path template."""
        bare = _ENDING.sub("", path.partition("?")[0].partition("#")[0].rstrip("/"))
        parameters = tuple(_PARAMETER.findall(bare))
        return cls(tuple(_PARAMETER.sub("{}", bare).split("/")[1:]), parameters)

    @property
    def ends_in_parameter(self) -> bool:
        """True for the path of one resource: `/orders/{order_id}`."""
        return bool(self.segments) and self.segments[-1] == "{}"

    @property
    def last(self) -> str:
        """The last segment; empty for the root."""
        return self.segments[-1] if self.segments else ""

    @property
    def parent(self) -> "PathShape":
        """The path without its last segment."""
        kept = len(self.parameters) - self.last.count("{}")
        return PathShape(self.segments[:-1], self.parameters[:kept])

    @property
    def thing(self) -> tuple[str, ...]:
        """Words of the last fixed segment, in the singular."""
        named = next((s for s in reversed(self.segments) if "{}" not in s), "")
        return tuple(map(singular, name_words(named)))

    @property
    def words(self) -> frozenset[str]:
        """Words of all fixed segments, in the singular."""
        named = (name_words(s) for s in self.segments if "{}" not in s)
        return frozenset(singular(word) for words in named for word in words)


@dataclass(frozen=True)
class Surveyed:
    """An operation, with the parts that it needs to become a tool."""

    operation: Operation
    texts: JsonObject
    """Missing name, summary, description and tag."""
    checks: tuple[str, ...] = ()
    tool: Tool | None = None
    fault: str = ""
    """Reason why it does not compile."""

    @property
    def name(self) -> str:
        """Its operationId, or the proposed one."""
        return str(self.texts.get("operationId") or self.operation.operation_id)

    @property
    def method(self) -> str:
        """Upper case."""
        return self.operation.method

    @cached_property
    def shape(self) -> PathShape:
        """Shape of its path."""
        return PathShape.of(self.operation.path)

    @cached_property
    def verb(self) -> tuple[str, Action]:
        """The verb of its name or summary, and the verb's action."""
        summary = self.operation.node.at("summary")
        said = summary.value if summary is not None else ""
        nouns = self.operation.path.replace("{", " ").replace("}", " ")
        return verb_named(self.name, str(said or ""), but=nouns, method=self.method)

    @property
    def place(self) -> tuple[str, ...]:
        """Path of the overlay's target: by its own path, or the place that the path refers to."""
        written = self.operation.root.raw("paths")
        item = written.raw(self.operation.path) if written is not None else None
        is_there = item is not None and item.raw(self.method.lower()) is not None
        here = ("paths", self.operation.path, self.method.lower())
        return here if is_there else self.operation.node.path

    @property
    def statuses(self) -> frozenset[str]:
        """Declared statuses of its answers."""
        responses = self.operation.node.at("responses")
        return frozenset(responses.mapping()) if responses is not None else frozenset()

    @property
    def is_located(self) -> bool:
        """True if its 201 declares a Location, the address of what was made (RFC 9110, 10.2.2)."""
        headers = self.operation.node.at("responses", "201", "headers")
        return headers is not None and "location" in map(str.lower, headers.mapping())


def survey(root: DocumentNode) -> tuple[list[Surveyed], list[Operation]]:
    """Return the operations without a mark, and those that the document marks."""
    found: list[Surveyed] = []
    marked: list[Operation] = []
    listed = [op for op in operations(root) if op.method.lower() in METHODS]
    names = name_tools(listed)
    groups = len({PathShape.of(op.path).segments[:1] for op in listed}) > 1
    for operation in listed:
        if operation.node.raw(TOOL_MARK) is not None:
            marked.append(operation)
        elif not operation.node.is_true("deprecated"):
            found.append(_surveyed(operation, names[place_of(operation)], groups=groups))
    return found, marked


def _surveyed(operation: Operation, name: str, *, groups: bool) -> Surveyed:
    why = why_named(operation, name)
    texts: JsonObject = {"operationId": name} if why else {}
    checks = (f"{why}: choose a name once, for missions keep it",) if why else ()
    try:
        node = replace(operation.node, value={**operation.node.mapping(), **texts})
        tool = compile_operation(replace(operation, node=node), name)
    except DocumentInvalid as fault:
        return Surveyed(operation, texts, checks, fault=str(fault))
    more, asked = missing_texts(operation, tool, groups=groups)
    return Surveyed(operation, {**texts, **more}, (*checks, *asked), tool)


def asked_for(surveyed: Sequence[Surveyed], only: Sequence[str]) -> Iterator[Surveyed]:
    """Yield operations with such a beginning of the path or such a tag; all without a choice."""
    for one in surveyed:
        tags = one.operation.node.texts_at("tags")
        if not only or any(_is_below(one.operation.path, o) or o in tags for o in only):
            yield one


def _is_below(path: str, prefix: str) -> bool:
    """Return True if a path contains all of another, segment by segment."""
    wanted = prefix.rstrip("/")
    return prefix.startswith("/") and f"{path}/".startswith(f"{wanted}/")


def missing_texts(
    operation: Operation, tool: Tool, *, groups: bool
) -> tuple[JsonObject, tuple[str, ...]]:
    """Return the missing summary, description and tag, made of the document's own words."""
    texts: JsonObject = {}
    checks: list[str] = []
    summary = tool.summary or _first_sentence(tool.description) or _words_of(tool.name)
    if not tool.summary:
        texts["summary"] = summary
    if len(tool.description.split()) < _FEWEST_WORDS:
        texts["description"] = _described(tool, tool.description or summary)
        checks.append("the description is made of names: say when to use it")
    elif not tool.summary:
        checks.append("the summary is made of the description or the name")
    if groups and operation.node.at("tags") is None and (tag := _group_of(operation.path)):
        texts["tags"] = [tag]
    return texts, tuple(checks)


def _first_sentence(text: str) -> str:
    plain = _TAG.sub("", text).strip()
    first = " ".join(_SENTENCE.split(plain, maxsplit=1)[0].split())
    return first if 0 < len(first) <= _LONGEST_SUMMARY else ""


def _words_of(name: str) -> str:
    return " ".join(name_words(name)).capitalize() + "."


def _described(tool: Tool, said: str) -> str:
    """Return a description of a tool made of its names."""
    taken = _listed(list(tool.properties)) or "nothing"
    returned = _listed(_answered(tool))
    stated = f" Returns {returned}." if returned else ""
    return f"{said.rstrip('.')}. Takes {taken}.{stated}"


def _answered(tool: Tool) -> list[str]:
    """Return the declared properties of the answer; empty for a file or an undeclared answer."""
    schema = tool.output_schema or {}
    return list(properties_of(schema)) or (["a list"] if schema.get("type") == "array" else [])


def _listed(names: Sequence[str]) -> str:
    shown = [" ".join(name_words(name)) for name in names[:_MOST_NAMED]]
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return ", ".join([*shown, *more])


def _group_of(path: str) -> str:
    """Return the first segment of a path that is neither a parameter nor a version."""
    steps = [s for s in path.split("/") if s and "{" not in s]
    return next((s for s in steps if not _VERSION.fullmatch(s)), "")
