"""Survey of a document for a proposal: operations, compiled, and those that cancel others."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import dropwhile, takewhile
from typing import Final

from orchestrator.catalog.compile import compile_operation
from orchestrator.catalog.expressions import parse_filling
from orchestrator.catalog.operations import METHODS, TOOL_MARK, Operation, operations
from orchestrator.catalog.tool import InputBinding, Tool
from orchestrator.catalog.tool_names import name_tools, place_of, why_named
from orchestrator.core.errors import DocumentInvalid
from orchestrator.core.record import JsonObject
from orchestrator.json_schema.document import DocumentNode
from orchestrator.json_schema.references import format_pointer
from orchestrator.json_schema.walker import properties_of
from orchestrator.language.inflection import singular
from orchestrator.language.intent import Action
from orchestrator.language.words import (
    NOUN_LIKE_VERBS,
    STOP_WORDS,
    action_of,
    action_of_stem,
    name_words,
    stem,
    tokens,
    verb_named,
)

_PARAMETER = re.compile(r"\{([^{}]*)\}")
_ENDING = re.compile(r"(?<=.)\.[A-Za-z]{2,5}$")
"""An ending such as in `/Messages/{Sid}.json`, which only states the format."""
_LONGEST_SUMMARY = 120
_FEWEST_WORDS = 5
_MOST_NAMED = 6
_TAG = re.compile(r"<[^<>]*>")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n{2,}")
_VERSION = re.compile(r"v?\d[\d.]*", re.IGNORECASE)


@dataclass(frozen=True)
class PathShape:
    """Segments of a path; `{}` stands for any parameter."""

    segments: tuple[str, ...]
    parameters: tuple[str, ...]

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
    """The missing ones of name, summary, description and tag."""
    checks: tuple[str, ...] = ()
    tool: Tool | None = None
    fault: str = ""

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
    def made_at(self) -> PathShape:
        """Path of the collection that the operation adds to: `/orders` for `/orders/create`."""
        last = self.shape.last
        is_verb = last in _CREATING or (action_of(last) in _MAKING and last not in NOUN_LIKE_VERBS)
        return self.shape.parent if is_verb and len(self.shape.segments) > 1 else self.shape

    @cached_property
    def verb(self) -> tuple[str, Action]:
        """The verb of the operation's name or summary, and the verb's action."""
        summary = self.operation.node.at("summary")
        said = summary.value if summary is not None else ""
        nouns = self.operation.path.replace("{", " ").replace("}", " ")
        return verb_named(self.name, str(said or ""), but=nouns, method=self.method)

    @property
    def place(self) -> tuple[str, ...]:
        """Path of the overlay's target: the operation's own, or the place that it refers to."""
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
        """True if the 201 declares a Location, the address of the resource (RFC 9110, 10.2.2)."""
        return "location" in self._headers("201")

    @property
    def version(self) -> str | None:
        """The expression that reads the version of the resource: its ETag (RFC 9110, 8.8.3)."""
        if any("etag" in self._headers(status) for status in self.statuses if status[:1] == "2"):
            return "$response.header.ETag"
        answered = properties_of((self.tool.output_schema if self.tool else None) or {})
        named = (name for name in answered if re.split("[^a-z]+", name.lower())[-1] == "etag")
        return next((f"$response.body#{format_pointer((name,))}" for name in named), None)

    def _headers(self, status: str) -> frozenset[str]:
        headers = self.operation.node.at("responses", status, "headers")
        return frozenset(map(str.lower, headers.mapping() if headers is not None else ()))


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
        elif operation.node.is_true("deprecated"):
            found.append(Surveyed(operation, {}, fault="deprecated"))
        else:
            name = names[place_of(operation)]
            why = why_named(operation, name)
            texts: JsonObject = {"operationId": name} if why else {}
            checks = (f"{why}: choose a name once, for missions keep it",) if why else ()
            try:
                node = replace(operation.node, value={**operation.node.mapping(), **texts})
                tool = compile_operation(replace(operation, node=node), name)
            except DocumentInvalid as fault:
                reason = f"it cannot be compiled, {fault.reason}"
                found.append(Surveyed(operation, texts, checks, fault=reason))
                continue
            more, asked = missing_texts(operation, tool, groups=groups)
            found.append(Surveyed(operation, {**texts, **more}, (*checks, *asked), tool))
    return found, marked


def asked_for(surveyed: Sequence[Surveyed], only: Sequence[str]) -> Iterator[Surveyed]:
    """Yield operations with such a beginning of the path or such a tag; all if `only` is empty."""
    for one in surveyed:
        tags, path = one.operation.node.texts_at("tags"), f"{one.operation.path}/"
        # A beginning ends with a whole segment.
        if not only or any(
            o in tags or (o.startswith("/") and path.startswith(f"{o.rstrip('/')}/")) for o in only
        ):
            yield one


def missing_texts(
    operation: Operation, tool: Tool, *, groups: bool
) -> tuple[JsonObject, tuple[str, ...]]:
    """Return the missing summary, description and tag, built from the document's own words."""
    texts: JsonObject = {}
    checks: list[str] = []
    summary = tool.summary
    if not summary:
        first = _SENTENCE.split(_TAG.sub("", tool.description).strip(), maxsplit=1)[0]
        summary = " ".join(first.split())
        if not 0 < len(summary) <= _LONGEST_SUMMARY:
            summary = " ".join(name_words(tool.name)).capitalize() + "."
        texts["summary"] = summary
    if len(tool.description.split()) < _FEWEST_WORDS:
        schema = tool.output_schema or {}
        # A file, or an undeclared answer, has no properties.
        answered = list(properties_of(schema))
        answered = answered or (["a list"] if schema.get("type") == "array" else [])
        stated = f" Returns {_listed(answered)}." if answered else ""
        said = (tool.description or summary).rstrip(".")
        taken = _listed(list(tool.properties)) or "nothing"
        texts["description"] = f"{said}. Takes {taken}.{stated}"
        checks.append("the description is made of names: say when to use it")
    elif not tool.summary:
        checks.append("the summary is made of the description or the name")
    steps = [s for s in operation.path.split("/") if s and "{" not in s]
    group = next((s for s in steps if not _VERSION.fullmatch(s)), "")
    if groups and group and operation.node.at("tags") is None:
        texts["tags"] = [group]
    return texts, tuple(checks)


def _listed(names: Sequence[str]) -> str:
    shown = [" ".join(name_words(name)) for name in names[:_MOST_NAMED]]
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return ", ".join([*shown, *more])


_BY_WORD = frozenset({"POST", "PUT", "PATCH"})
_CREATING = frozenset({"add", "create", "new"})
_MAKING = frozenset({Action.CREATE, Action.SEND})
"""Classes of other verbs that may do so: `/faxes/send`."""
_CHANGES = frozenset({"PUT", "PATCH"})
_CANCELLING = _BY_WORD | {"DELETE"}
_NAMED_BY = (2, 3)
"""Numbers of parameters that may name one resource together."""
_LIKE_A_CANCEL = frozenset({"refund", "archive"})
"""Verbs that may mean a cancel: a refund, an archived resource."""
_PLACES: Final = frozenset({"path", "query", "header", "cookie"})


@dataclass(frozen=True)
class Removal:
    """An operation on one resource that may cancel its creation."""

    by: Surveyed
    item: PathShape
    """Path of the resource: `/orders/{order_id}` for `/orders/{order_id}/cancel`."""
    is_plain: bool
    """True for a DELETE, or a verb with no other meaning: cancel, void, revoke."""
    own: InputBinding | None = None
    """The input that names the resource; None if only sent values identify it."""
    constant: tuple[str, str] | None = None
    """An input and its value for a cancelled resource: `state`, `cancelled`."""


@dataclass(frozen=True)
class Cancellable:
    """An operation that creates resources, and all operations that may cancel them."""

    maker: Surveyed
    removals: tuple[Removal, ...]
    is_same_path: bool
    """True if the resource is below the creating path: `/orders/{order_id}` below `/orders`."""


def matches(listed: Iterable[Surveyed]) -> Iterator[Cancellable]:
    """Yield each POST to a collection with its removals, in the order of the document.

    A PUT that states a creation counts as well if a DELETE has its path, and so does a PUT without
    a body that joins two resources.
    """
    known = [one for one in listed if one.tool is not None]
    removals: dict[tuple[str, ...], list[Removal]] = defaultdict(list)
    of_parts: dict[str, list[Removal]] = defaultdict(list)
    makers = [one for one in known if one.method == "POST" and not one.shape.ends_in_parameter]
    for one in known:
        if (removal := _removal(one)) is None:
            continue
        # An action may end a part of a resource, by its summary: "Stop a till session" at
        # `/tills/{id}/stop` ends what `/tills/{id}/session` creates.
        item, parts = removal.item, list[Surveyed]()
        if one.method != "DELETE" and one.shape.parent == item and one.tool is not None:
            words = dropwhile(STOP_WORDS.__contains__, tokens(one.tool.summary)[1:])
            said = [singular(word) for word in takewhile(lambda w: w not in STOP_WORDS, words)]
            parts = [
                maker
                for maker in makers
                if maker is not one
                and maker.shape.parent == item
                and maker.verb[1] is Action.CREATE
                and (*said[-len(maker.shape.thing) :],) == maker.shape.thing != item.thing
            ]
        if len(parts) == 1:
            of_parts[parts[0].name].append(replace(removal, own=None))
        else:
            removals[item.segments].append(removal)
    at = {maker.made_at.segments for maker in makers}
    for maker in makers:
        made_at = maker.made_at.segments
        same = removals.get((*made_at, "{}"), [])
        found = same or of_parts.get(maker.name)
        # Several parameters may name it: `/records/{name}/{type}`.
        by_several = [(*made_at, *("{}",) * count) for count in _NAMED_BY]
        named = [segments for segments in by_several if segments in removals]
        if not found and named:
            found = removals[named[0]]
        if not found:
            # A resource may be at the top, `/tasks/{id}` for `/lists/{id}/tasks`, except where
            # another operation creates resources.
            ends = [
                segments
                for segments in removals
                if segments[:-1] not in at
                and segments.count("{}") == 1
                and segments[-2:-1] == (maker.made_at.last,)
            ]
            found = removals[ends[0]] if len(ends) == 1 else []
        if found:
            yield Cancellable(maker, tuple(found), is_same_path=bool(same))
    for one in known:
        if one.method == "PUT" and one.shape.ends_in_parameter:
            parting = [r for r in removals.get(one.shape.segments, []) if r.by.method == "DELETE"]
            has_body = any(b.location == "body" for b in _bindings(one))
            joins = len(one.shape.parameters) > 1 and not has_body
            if parting and (joins or one.verb[1] is Action.CREATE):
                yield Cancellable(one, tuple(parting), is_same_path=True)


def _removal(one: Surveyed) -> Removal | None:
    shape, bindings = one.shape, _bindings(one)
    in_body = [b for b in bindings if b.location == "body"]
    verb, collection = shape.parent.last, shape.parent.parent
    is_behind_verb = shape.ends_in_parameter and action_of(verb) is Action.CANCEL
    if one.method in _CANCELLING and is_behind_verb and collection.segments:
        # The verb is before the id: `/drafts/delete/{id}`.
        return _of_item(one, _item_of(collection, shape.parameters[-1]), True)
    if one.method == "DELETE" and shape.ends_in_parameter:
        return _of_item(one, shape, True)
    if one.method == "DELETE":
        named = _naming(one, shape)
        item = _item_of(shape, named.field if named else "")
        return Removal(one, item, False, named) if any(b.required for b in in_body) else None
    if shape.ends_in_parameter:
        # The body may state that the resource is cancelled.
        inputs = one.tool.properties if one.tool is not None else {}
        states = cancelled_states({b.name: inputs[b.name] for b in in_body})
        is_change = one.method in _CHANGES and len(states) == 1
        return _of_item(one, shape, False, states[0]) if is_change else None
    words, item = name_words(shape.last), shape.parent
    if one.method not in _BY_WORD or len(words) != 1:
        return None
    # A path may contain the verb as a noun: `/payments/{id}/cancels`.
    action = singular(words[0])
    is_cancel = Action.CANCEL in (action_of(words[0]), action_of(action))
    if item.ends_in_parameter:
        return _of_item(one, item, is_cancel) if is_cancel or action in _LIKE_A_CANCEL else None
    # An input may name the resource: `pickup_number` of `/pickups/cancel`.
    named = _naming(one, item) if is_cancel else None
    return Removal(one, _item_of(item, named.field), True, named) if named is not None else None


def _of_item(
    one: Surveyed, item: PathShape, is_plain: bool, constant: tuple[str, str] | None = None
) -> Removal:
    named = (b for b in _bindings(one) if (b.location, b.field) == ("path", item.parameters[-1]))
    return Removal(one, item, is_plain, next(named, None), constant)


def _naming(one: Surveyed, collection: PathShape) -> InputBinding | None:
    """Return the one input of a body that names members of a collection: `id`, `order_ids`."""
    asked = ((b, {*map(singular, name_words(b.field))}) for b in _bindings(one) if b.required)
    named = [
        b for b, w in asked if b.location == "body" and (w == {"id"} or w & {*collection.thing})
    ]
    return named[0] if len(named) == 1 else None


def cancelled_states(properties: Mapping[str, JsonObject]) -> list[tuple[str, str]]:
    """Return the properties that have one value for a cancelled resource, each with that value."""
    found: list[tuple[str, str]] = []
    for name, schema in properties.items():
        values = schema.get("enum")
        listed = values if isinstance(values, list) else []
        texts = [v for v in listed if isinstance(v, str)]
        # The past tense of a cancel verb: `cancelled`, `VOIDED`.
        said = [v for v in texts if action_of_stem(stem(v.lower())) is Action.CANCEL]
        found += [(name, said[0])] if len(said) == 1 else []
    return found


def _item_of(collection: PathShape, parameter: str) -> PathShape:
    return PathShape((*collection.segments, "{}"), (*collection.parameters, parameter))


def _bindings(one: Surveyed) -> tuple[InputBinding, ...]:
    return one.tool.bindings if one.tool is not None else ()


def cancel_links(listed: Sequence[Surveyed]) -> Iterator[tuple[Surveyed, Surveyed, JsonObject]]:
    """Yield each link from a POST to a DELETE or a cancel that fills all required inputs.

    A link has the maker, its cancel, and the cancel's arguments.
    """
    known = {one.operation.operation_id: one for one in listed if one.tool is not None}
    for maker in listed:
        if maker.method != "POST" or maker.tool is None:
            continue
        try:
            for status, response in maker.operation.node.items("responses"):
                for _, link in response.items("links") if status.startswith("2") else ():
                    named = link.at("operationId")
                    cancel = known.get(named.text()) if named is not None else None
                    if cancel is None or cancel.tool is None:
                        continue
                    given = {name: place.value for name, place in link.items("parameters")}
                    args = _linked_args(given, cancel.tool)
                    if args and (cancel.method == "DELETE" or cancel.verb[1] is Action.CANCEL):
                        yield maker, cancel, args
        except DocumentInvalid:
            # A malformed link is ignored; the linter reports it.
            continue


def _linked_args(given: JsonObject, cancel: Tool) -> JsonObject | None:
    """Return the link's parameters by the cancel's inputs, or None if they do not fill it."""
    args: JsonObject = {}
    for binding in cancel.bindings:
        names = (f"{binding.location}.{binding.field}", binding.field)
        in_place = names if binding.location in _PLACES else ()
        value = next((v for n in in_place if isinstance(v := given.get(n), str)), None)
        if value is not None:
            try:
                parse_filling(value)
            except ValueError:
                return None
            args[binding.name] = value
        elif binding.required:
            return None
    return args
