"""An operation of a document: its inputs, answers and kind, and its path's resources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from orchestrator.sandbox.served_schemas import Schema, SchemaBook, unescaped

_PARAMETER = re.compile(r"\{([^{}]+)\}")
_ID_NAME = re.compile(r"id|.*(?:_id|-id|[a-z0-9]I[dD])")
_IS_STATE = re.compile(
    r"""\$response\.body#/(?:.*/)?(?P<name>[^/=!\s]+)\s*==\s*["'](?P<state>.+)["']"""
)
"""The condition that a property equals a text."""
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
ERROR_LISTS = ("errors", "warnings")
"""Lists in an answer that are empty on success."""
_NAME = re.compile(r"\{[^{}]*\}")
_ENDING = re.compile(r"(?<=[^/])\.\w+$")
"""A suffix such as `.json`, in a path that names its format."""

_CALLER = frozenset({"me", "my", "self", "user"})
"""Path segments that mean the caller."""
_EXPRESSION = re.compile(
    r"\$(?P<message>request|response)\."
    r"(?:(?P<source>header|path|query)\.(?P<name>.+)|body(?:#/(?P<pointer>.+))?)"
)


class OperationKind(StrEnum):
    """The effect of a call of an operation."""

    READ = "read"
    CREATE = "create"
    UPDATE = "update"
    CANCEL = "cancel"


class ServedParameter(NamedTuple):
    """A declared parameter; location is path, query, header or cookie."""

    name: str
    location: str
    required: bool
    schema: Schema


@dataclass(frozen=True)
class ServedOperation:
    """An operation of a document, with its references followed."""

    operation_id: str
    method: str
    path: str
    raw: Mapping[str, Any]
    parameters: tuple[ServedParameter, ...]
    book: SchemaBook
    is_cancel: bool = False
    """True if another operation names it as its cancel."""
    place: ThingPlace | None = None
    """The resources of its path."""

    def path_values(self, path: str) -> list[str] | None:
        """Return the path's text for each parameter, the first as long as possible, or None.

        It uses no regular expression: one for many adjacent parameters would backtrack.
        """
        first, *others = _PARAMETER.split(bare_path(self.path))[::2]
        if not others:
            return [] if path == first else None
        start, end = len(first), len(path) - len(others[-1])
        if end <= start or not (path.startswith(first) and path.endswith(others[-1])):
            return None
        values = []
        for literal in reversed(others[:-1]):
            at = path.rfind(literal, start + 1, end - 1)
            if at < 0:
                return None
            values.append(path[at + len(literal) : end])
            end = at
        values = [path[start:end], *reversed(values)]
        return None if any("/" in value for value in values) else values

    @cached_property
    def path_names(self) -> list[str]:
        """Names of the path's parameters, in order."""
        return _PARAMETER.findall(bare_path(self.path))

    @cached_property
    def written_query(self) -> dict[str, str]:
        """The query that is part of the path and distinguishes it from another: `?beta=true`."""
        query = self.path.partition("?")[2].partition("#")[0]
        return dict(parse_qsl(query, keep_blank_values=True))

    @cached_property
    def _responses(self) -> dict[str, Any]:
        return {str(code): response for code, response in self.raw.get("responses", {}).items()}

    @cached_property
    def success_status(self) -> int:
        """The lowest declared 2xx status, preferring those with a body; else 200."""
        codes = [int(code) for code in self._responses if code.isdigit() and code[0] == "2"]
        follow = self.book.follow
        with_body = [c for c in codes if follow(self._responses[str(c)]).get("content")]
        return min(with_body or codes, default=200)

    @cached_property
    def answer_schema(self) -> Schema | None:
        """The JSON schema of the success answer; None when it has no JSON body."""
        return json_schema(self.book, self._answer_content)

    @cached_property
    def answer_type(self) -> str | None:
        """The media type of the success answer; None when it has no body."""
        names = list(self._answer_content)
        return next((name for name in names if may_be_json(name)), next(iter(names), None))

    @cached_property
    def _answer_content(self) -> Mapping[str, Any]:
        for code in (str(self.success_status), "2XX", "2xx", "default"):
            if code in self._responses:
                return self.book.follow(self._responses[code]).get("content") or {}
        return {}

    @cached_property
    def body_schema(self) -> Schema | None:
        """The schema of the request body, of JSON or of a form; None when it takes neither."""
        content = self.book.follow(self.raw.get("requestBody", {})).get("content", {})
        forms = (content[name] for name in _FORMS if name in content)
        form = next((self.book.resolve(media.get("schema", {})) for media in forms), None)
        return json_schema(self.book, content) or form

    @cached_property
    def input_names(self) -> frozenset[str]:
        """Names of path and query parameters and of body properties."""
        own = {p.name for p in self.parameters if p.location in ("path", "query")}
        return frozenset(own | set(self.book.properties(self.body_schema or {})))

    def refusal(self, *statuses: int) -> int:
        """Return the first of these statuses that the operation declares, else the first."""
        return next((status for status in statuses if self.declares(status)), statuses[0])

    def declares(self, status: int) -> bool:
        """Return True if the document declares this status."""
        return str(status) in self._responses

    @cached_property
    def chosen_name(self) -> str | None:
        """The path parameter by which the caller names a new resource: `PUT /orders/{id}`."""
        if self.method != "put" or not self.path.endswith("}") or not self.path_names:
            return None
        return self.path_names[-1]

    @property
    def probe(self) -> tuple[str, Mapping[str, Any] | None] | None:
        """The probe of this operation, with its args where declared."""
        declared = self.raw.get("x-orchet-compensation-probe")
        if isinstance(declared, str):
            return declared, None
        if isinstance(declared, Mapping) and "operationId" in declared:
            return str(declared["operationId"]), declared.get("args")
        return None

    @property
    def gone_states(self) -> list[tuple[str, str]]:
        """Properties and texts that its probe's `gone-when` compares."""
        declared = self.raw.get("x-orchet-compensation-probe")
        written = declared.get("gone-when") if isinstance(declared, Mapping) else None
        conditions = written if isinstance(written, list) else [written]
        read = (_IS_STATE.fullmatch(one.strip()) for one in conditions if isinstance(one, str))
        return [(unescaped(found["name"]), found["state"]) for found in read if found]

    @property
    def cancels(self) -> str | None:
        """The operation that cancels this one, when it declares one."""
        declared = self.raw.get("x-orchet-cancels")
        named = next(iter(declared), None) if isinstance(declared, list) else declared
        return named if isinstance(named, str) else None

    @property
    def compensation_args(self) -> Mapping[str, Any] | None:
        """The declared inputs of its cancel; None fills them by name."""
        return self.raw.get("x-orchet-compensation-args")

    @property
    def cancel_for(self) -> str | None:
        """The operation that this one cancels, when it declares one."""
        return self.raw.get("x-orchet-cancel-for")

    @cached_property
    def kind(self) -> OperationKind:
        """The kind of the operation; only that of a POST without a declaration is a guess."""
        position = self.place.position if self.place is not None else None
        is_named = bool(self.path_names) or bool(self.input_names)
        ends_one = self.method == "delete" and is_named and position is not Position.WITHIN
        if self.cancel_for or self.is_cancel or ends_one:
            return OperationKind.CANCEL
        if self.cancels or (self.is_writing and self.success_status == 201):
            return OperationKind.CREATE
        if self.method == "delete":
            return OperationKind.UPDATE
        reads = self.raw.get("x-orchet-read-only")
        if reads is None and self.method == "post":
            # A search is often a POST. Without a declaration, only a list counts as a search, and
            # not if the operation requires confirmation, as the ledger should rather record an
            # effect too many. A declared absence of confirmation says nothing about the effect.
            is_confirmed = self.raw.get("x-orchet-requires-confirmation", False) is not False
            if self.list_name is not None and not is_confirmed:
                return OperationKind.READ
            # It makes what it names: its answer, or the object this wraps, has an id of its own.
            answers = self.book.properties(self.answer_schema or {})
            inner = (self.book.properties(s) for s in answers.values() if self.book.is_object(s))
            is_named = any(self.own_ids(names) for names in (answers, *inner))
            makes = position is Position.ALL and is_named
            return OperationKind.CREATE if makes else OperationKind.UPDATE
        if reads is None:
            reads = not self.is_writing
        return OperationKind.READ if reads is True else OperationKind.UPDATE

    @property
    def is_writing(self) -> bool:
        """True for the methods that may change something."""
        return self.method in ("post", "put", "patch", "delete")

    def own_ids(self, answers: Mapping[str, Schema]) -> list[str]:
        """Return the properties that may be the resource's own id, the likeliest first.

        The name of the path's parameter comes first. Next to ids of other resources, the own id is
        often just "id", or has a provider-specific name. A property with parts is not an id but the
        resource itself.
        """
        parted = {n for n, schema in answers.items() if self.book.is_compound(schema)}
        listed = [name for name in answers if name not in parted]
        ids = id_names(listed)
        called = names_like(listed, self.place.named_by) if self.place is not None else []
        # The longest is the most specific: account_id before id.
        first = [*sorted(called, key=len, reverse=True), *(n for n in ids if n == "id")]
        return list(dict.fromkeys([*first, *ids]))

    @cached_property
    def list_name(self) -> str | None:
        """The property that holds the answer's items, "" for the answer itself, or None."""
        schema = self.book.resolve(self.answer_schema or {})
        if self._is_object_list(schema):
            return ""
        properties = self.book.properties(schema)
        # An answer with an id of its own is one resource with parts, not a list.
        if id_names(properties):
            return None
        lists = [name for name, value in properties.items() if self._is_object_list(value)]
        last_segment = bare_path(self.path).rstrip("/").rpartition("/")[2]
        return next((n for n in lists if n not in ERROR_LISTS or n == last_segment), None)

    @cached_property
    def item_schema(self) -> Schema | None:
        """The schema of one item of the answer's list; None when the answer holds no list."""
        if self.list_name is None:
            return None
        schema = self.book.resolve(self.answer_schema or {})
        found = schema if self.list_name == "" else self.book.properties(schema)[self.list_name]
        return self.book.resolve(self.book.resolve(found)["items"])

    def _is_object_list(self, schema: Schema) -> bool:
        resolved = self.book.resolve(schema)
        if self.book.type_of(resolved) != "array" or "items" not in resolved:
            return False
        return self.book.type_of(self.book.resolve(resolved["items"])) == "object"


def is_id(value: Any) -> bool:
    """Return True for a value that can identify a resource: a text or a whole number."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def json_schema(book: SchemaBook, content: Mapping[str, Any]) -> Schema | None:
    """Return the schema of the JSON media type; None when there is none."""
    for media_type, value in content.items():
        if may_be_json(media_type):
            return book.resolve(value.get("schema") or {})
    return None


def may_be_json(media_type: str) -> bool:
    """Return True if bodies of this type are JSON."""
    kind = media_type.split(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json") or kind == "*/*"


def id_names(names: Iterable[str]) -> list[str]:
    """Return the names that usually hold an id: id, order_id, orderId."""
    return [name for name in names if _ID_NAME.fullmatch(name)]


class Position(StrEnum):
    """The relation of a path to its resources."""

    ALL = "all"
    """`/orders`: all resources."""
    ONE = "one"
    """`/orders/{id}`: one resource."""
    WITHIN = "within"
    """`/orders/{id}/pay`: something about one resource."""


class ThingPlace(NamedTuple):
    """The resources of a path: `things` is equal for all paths about the same kind."""

    things: str
    position: Position
    parameter: str
    """The path parameter that identifies one resource; "" for all of them."""
    named_by: str = ""
    """The name of the kind's id in its paths."""

    @property
    def label(self) -> str:
        """The last word of the resources' path."""
        return next((s for s in reversed(self.things.split("/")) if s and s != "{}"), "things")


def bare_path(path: str) -> str:
    """Return the path without the query and fragment that distinguish operations."""
    return re.split(r"[?#]", path, maxsplit=1)[0]


def places_of(paths: Iterable[str]) -> dict[str, ThingPlace]:
    """Return the place of each path that has one."""
    listed = list(paths)
    ones = [steps for steps in map(_steps, listed) if _is_name(steps[-1:])]
    kinds = {_things(steps[:-1]): steps[-1][1:-1] for steps in reversed(ones)}
    found = {path: _place(_steps(path), kinds) for path in listed}
    return {path: place for path, place in found.items() if place is not None}


def names_like(names: Iterable[str], parameter: str) -> list[str]:
    """Return the names that a path parameter ends with: `gid` of `task_gid`."""
    found = []
    for name in names:
        start = len(parameter) - len(name)
        if not name or start < 0 or not parameter.lower().endswith(name.lower()):
            continue
        # A whole word: after a separator, or where a capital starts one.
        if start == 0 or parameter[start - 1] in "_-." or parameter[start].isupper():
            found.append(name)
    return found


def _place(steps: list[str], kinds: Mapping[str, str]) -> ThingPlace | None:
    if _is_name(steps[-1:]):
        return ThingPlace(_things(steps[:-1]), Position.ONE, steps[-1][1:-1], steps[-1][1:-1])
    listed = [_things(steps)]
    if len(steps) > 1 and steps[-2] in _CALLER:
        # A path may list the caller's own of a kind: `/me/playlists` for `/playlists`.
        listed.append(_things([*steps[:-2], steps[-1]]))
    for things in listed:
        if things in kinds:
            return ThingPlace(things, Position.ALL, "", kinds[things])
    named = [at for at, step in enumerate(steps) if _is_name([step])]
    if not named:
        return None
    parameter = steps[named[-1]][1:-1]
    return ThingPlace(_things(steps[: named[-1]]), Position.WITHIN, parameter)


def _steps(path: str) -> list[str]:
    return _ENDING.sub("", bare_path(path).rstrip("/")).split("/")


def _is_name(step: list[str]) -> bool:
    return bool(step) and _NAME.fullmatch(step[0]) is not None


def _things(steps: list[str]) -> str:
    return _NAME.sub("{}", "/".join(steps))


def sole(value: Any) -> Any:
    """Return the element of a list that has one element; else the value itself."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


class RuntimeExpression(NamedTuple):
    """The source of a value: `$request.body#/a/b` is ("request", "body", ("a", "b"))."""

    message: str
    source: str
    path: tuple[str, ...]

    @property
    def is_key(self) -> bool:
        """True if it reads the idempotency key."""
        return self.source == "header" and is_key(self.path[0])

    def of(self, values: Mapping[str, Any]) -> Any:
        """Return its value in the arguments of a request, or None."""
        found: Any = values
        for step in self.path:
            found = found.get(step) if isinstance(found, Mapping) else None
        return found


def is_key(name: str) -> bool:
    """Return True if a header or a field of this name holds an idempotency key."""
    return "idempoten" in name.lower()


def read_expression(value: Any) -> RuntimeExpression | None:
    """Return one whole expression; None for a constant or for text that contains expressions.

    It may be the only element of a list, as a cancel of many resources can be given one.
    """
    value = sole(value)
    found = _EXPRESSION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    if found["source"]:
        return RuntimeExpression(found["message"], found["source"], (found["name"],))
    steps = (found["pointer"] or "").split("/") if found["pointer"] else []
    return RuntimeExpression(found["message"], "body", tuple(map(unescaped, steps)))
