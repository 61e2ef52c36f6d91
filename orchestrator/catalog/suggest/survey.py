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
        return Surveyed(operation, texts, checks, fault=f"it cannot be compiled, {fault.reason}")
    more, asked = missing_texts(operation, tool, groups=groups)
    return Surveyed(operation, {**texts, **more}, (*checks, *asked), tool)


def asked_for(surveyed: Sequence[Surveyed], only: Sequence[str]) -> Iterator[Surveyed]:
    """Yield operations with such a beginning of the path or such a tag; all if `only` is empty."""
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
    """Return the missing summary, description and tag, built from the document's own words."""
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
    steps = [s for s in path.split("/") if s and "{" not in s]
    return next((s for s in steps if not _VERSION.fullmatch(s)), "")


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
        if (part := _part_named(removal, makers)) is not None:
            of_parts[part.name].append(replace(removal, own=None))
        else:
            removals[removal.item.segments].append(removal)
    at = {maker.made_at.segments for maker in makers}
    for maker in makers:
        same = removals.get((*maker.made_at.segments, "{}"), [])
        found = same or of_parts.get(maker.name) or _by_several(maker, removals)
        found = found or _elsewhere(maker, removals, at)
        if found:
            yield Cancellable(maker, tuple(found), is_same_path=bool(same))
    for one in known:
        if one.method == "PUT" and one.shape.ends_in_parameter:
            parting = [r for r in removals.get(one.shape.segments, []) if r.by.method == "DELETE"]
            has_body = any(b.location == "body" for b in _bindings(one))
            joins = len(one.shape.parameters) > 1 and not has_body
            if parting and (joins or one.verb[1] is Action.CREATE):
                yield Cancellable(one, tuple(parting), is_same_path=True)


def _part_named(removal: Removal, makers: Sequence[Surveyed]) -> Surveyed | None:
    """Return the maker of the part of a resource that an action ends, by the action's summary.

    "Stop a till session" at `/tills/{id}/stop` ends what `/tills/{id}/session` creates.
    """
    by, item = removal.by, removal.item
    if by.method == "DELETE" or by.shape.parent != item or by.tool is None:
        return None
    words = [*dropwhile(STOP_WORDS.__contains__, tokens(by.tool.summary)[1:])]
    said = [singular(word) for word in takewhile(lambda word: word not in STOP_WORDS, words)]
    found = [
        maker
        for maker in makers
        if maker is not by
        and maker.shape.parent == item
        and maker.verb[1] is Action.CREATE
        and (*said[-len(maker.shape.thing) :],) == maker.shape.thing != item.thing
    ]
    return found[0] if len(found) == 1 else None


def _removal(one: Surveyed) -> Removal | None:
    if one.method in _CANCELLING and (item := _item_behind_verb(one.shape)) is not None:
        return _of_item(one, item, True)
    if one.method == "DELETE":
        return _of_item(one, one.shape, True) if one.shape.ends_in_parameter else _by_body(one)
    if one.shape.ends_in_parameter:
        return _by_state(one) if one.method in _CHANGES else None
    words, item = name_words(one.shape.last), one.shape.parent
    if one.method not in _BY_WORD or len(words) != 1:
        return None
    # A path may contain the verb as a noun: `/payments/{id}/cancels`.
    action = singular(words[0])
    is_cancel = Action.CANCEL in (action_of(words[0]), action_of(action))
    if not item.ends_in_parameter:
        return _of_named(one, item) if is_cancel else None
    return _of_item(one, item, is_cancel) if is_cancel or action in _LIKE_A_CANCEL else None


def _item_behind_verb(shape: PathShape) -> PathShape | None:
    """Return the resource of a path with a cancel verb before its id: `/drafts/delete/{id}`."""
    verb, collection = shape.parent.last, shape.parent.parent
    is_cancel = action_of(verb) is Action.CANCEL
    if not (shape.ends_in_parameter and is_cancel and collection.segments):
        return None
    return _item_of(collection, shape.parameters[-1])


def _of_item(
    one: Surveyed, item: PathShape, is_plain: bool, constant: tuple[str, str] | None = None
) -> Removal:
    named = (b for b in _bindings(one) if (b.location, b.field) == ("path", item.parameters[-1]))
    return Removal(one, item, is_plain, next(named, None), constant)


def _of_named(one: Surveyed, collection: PathShape) -> Removal | None:
    """Return the removal of a resource named by an input: `pickup_number` of `/pickups/cancel`."""
    named = _naming(one, collection)
    if named is None:
        return None
    return Removal(one, _item_of(collection, named.field), True, named)


def _naming(one: Surveyed, collection: PathShape) -> InputBinding | None:
    """Return the one input of a body that names members of a collection: `id`, `order_ids`."""
    asked = ((b, {*map(singular, name_words(b.field))}) for b in _bindings(one) if b.required)
    named = [
        b for b, w in asked if b.location == "body" and (w == {"id"} or w & {*collection.thing})
    ]
    return named[0] if len(named) == 1 else None


def _by_body(one: Surveyed) -> Removal | None:
    stated = [b for b in _bindings(one) if b.location == "body" and b.required]
    named = _naming(one, one.shape)
    return (
        Removal(one, _item_of(one.shape, named.field if named else ""), False, named)
        if stated
        else None
    )


def _by_state(one: Surveyed) -> Removal | None:
    stated = {b.name for b in _bindings(one) if b.location == "body"}
    inputs = one.tool.properties if one.tool is not None else {}
    found = cancelled_states({name: part for name, part in inputs.items() if name in stated})
    return _of_item(one, one.shape, False, found[0]) if len(found) == 1 else None


def cancelled_states(properties: Mapping[str, JsonObject]) -> list[tuple[str, str]]:
    """Return the properties that have one value for a cancelled resource, each with that value."""
    found: list[tuple[str, str]] = []
    for name, schema in properties.items():
        values = schema.get("enum")
        listed = values if isinstance(values, list) else []
        said = [v for v in listed if isinstance(v, str) and _is_cancelled(v)]
        found += [(name, said[0])] if len(said) == 1 else []
    return found


def _is_cancelled(state: str) -> bool:
    """Return True for the past tense of a cancel verb: `cancelled`, `VOIDED`."""
    return action_of_stem(stem(state.lower())) is Action.CANCEL


def _item_of(collection: PathShape, parameter: str) -> PathShape:
    return PathShape((*collection.segments, "{}"), (*collection.parameters, parameter))


def _bindings(one: Surveyed) -> tuple[InputBinding, ...]:
    return one.tool.bindings if one.tool is not None else ()


def _by_several(
    maker: Surveyed, removals: Mapping[tuple[str, ...], list[Removal]]
) -> list[Removal]:
    """Return the removals of a resource that several parameters name: `/records/{name}/{type}`."""
    named = ((*maker.made_at.segments, *("{}",) * count) for count in _NAMED_BY)
    return next((removals[item] for item in named if item in removals), [])


def _elsewhere(
    maker: Surveyed,
    removals: Mapping[tuple[str, ...], list[Removal]],
    makers: set[tuple[str, ...]],
) -> list[Removal]:
    """Return the removals of such a resource at the top: `/tasks/{id}` for `/lists/{id}/tasks`.

    Places where another operation creates resources do not count.
    """
    ends = [
        segments
        for segments in removals
        if segments[:-1] not in makers
        and segments.count("{}") == 1
        and segments[-2:-1] == (maker.made_at.last,)
        and segments != (*maker.made_at.segments, "{}")
    ]
    return removals[ends[0]] if len(ends) == 1 else []


@dataclass(frozen=True)
class CancelLink:
    """A link from the answer of a call to the operation that cancels it."""

    maker: Surveyed
    cancel: Surveyed
    args: JsonObject


def cancel_links(listed: Sequence[Surveyed]) -> Iterator[CancelLink]:
    """Yield links from POSTs to a DELETE or a cancel that fill all its required inputs."""
    known = {one.operation.operation_id: one for one in listed if one.tool is not None}
    for maker in listed:
        if maker.method != "POST" or maker.tool is None:
            continue
        try:
            for link in _links(maker):
                named = link.at("operationId")
                cancel = known.get(named.text()) if named is not None else None
                args = _args(link, cancel) if cancel is not None else None
                if cancel is not None and args is not None and _cancels(cancel):
                    yield CancelLink(maker, cancel, args)
        except DocumentInvalid:
            # A malformed link is ignored; the linter reports it.
            continue


def _links(maker: Surveyed) -> Iterator[DocumentNode]:
    for status, response in maker.operation.node.items("responses"):
        if status.startswith("2"):
            yield from (link for _, link in response.items("links"))


def _cancels(cancel: Surveyed) -> bool:
    return cancel.method == "DELETE" or cancel.verb[1] is Action.CANCEL


def _args(link: DocumentNode, cancel: Surveyed) -> JsonObject | None:
    """Return the link's parameters by the cancel's inputs, or None if they do not fill it."""
    assert cancel.tool is not None
    given = {name: place.value for name, place in link.items("parameters")}
    args: JsonObject = {}
    for binding in cancel.tool.bindings:
        names = (
            (f"{binding.location}.{binding.field}", binding.field)
            if binding.location in _PLACES
            else ()
        )
        value = next((v for n in names if isinstance(v := given.get(n), str)), None)
        if value is not None:
            try:
                parse_filling(value)
            except ValueError:
                return None
            args[binding.name] = value
        elif binding.required:
            return None
    return args or None
