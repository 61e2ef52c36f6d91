"""Calls of cancel tools and probes, filled from a forward call and its answer."""

import re
from collections.abc import Iterator, Mapping
from typing import Final
from unicodedata import category
from urllib.parse import unquote, urlsplit

from pydantic import JsonValue

from orchestrator.catalog.expressions import Expression, follow_or_none, parse_filling
from orchestrator.catalog.tool import ENDED, Tool, ToolCallTemplate
from orchestrator.core.record import JsonObject

EACH: Final = "*"
"""A step of a pointer into an answer: each element of a list but those that report a failure."""
_TROUBLES: Final = ("error", "errors")
_STATES: Final = ("status", "state")
_ADDRESSES: Final = frozenset({"location", "content-location", "link"})
"""Headers whose values are addresses; a part of the address is the id of the new thing."""
_LINK: Final = re.compile(r"<([^<>]*)>([^<]*)")
_OF_ITSELF: Final = re.compile(r"""rel\s*=\s*"?(?:self|item|canonical)\b""", re.IGNORECASE)


def fill_template(
    template: ToolCallTemplate,
    *,
    tool: Tool,
    arguments: JsonObject,
    idempotency_key: str | None,
    response_body: JsonValue,
    response_headers: Mapping[str, str],
    called: Tool | None = None,
) -> JsonObject:
    """Return the arguments of the template's tool, without those whose expressions find nothing.

    An id without a visible character counts as missing.

    Args:
        template: the cancel or probe call of a contract.
        tool: the tool that was called, whose bindings locate its inputs.
        arguments: the arguments of that call, by input name.
        idempotency_key: the key that the call carried, if it takes one.
        response_body: the answer; None if there is none.
        response_headers: names in any case.
        called: the template's tool; its path shows which part of an address is an id.
    """
    headers = {name.lower(): value for name, value in response_headers.items()}
    has_value: dict[str, tuple[bool, ...]] = {}

    def read(name: str, expression: Expression) -> JsonValue:
        if expression.message == "request":
            if len(expression.path) == 1 and tool.reads_key(expression.source, expression.path[0]):
                return tool.key_of(idempotency_key) if idempotency_key is not None else None
            if expression.source == "body":
                in_body = [b for b in tool.bindings if b.location == "body"]
                sent = {b.field: arguments[b.name] for b in in_body if b.name in arguments}
                return follow_or_none(sent.get("", sent or None), expression.path)
            wanted = input_read(expression, tool)
            return arguments.get(wanted) if wanted is not None else None
        if expression.source == "header":
            header = expression.path[0].lower()
            value = headers.get(header, "")
            return _id_in(header, value, name, tool, called) if header in _ADDRESSES else value
        if EACH not in expression.path:
            return follow_or_none(response_body, expression.path)
        at = expression.path.index(EACH)
        listed, inside = (
            follow_or_none(response_body, expression.path[:at]),
            expression.path[at + 1 :],
        )
        worked = [one for one in (listed if isinstance(listed, list) else ()) if item_worked(one)]
        values = [_named(follow_or_none(one, inside)) for one in worked]
        each = [value if isinstance(value, str | int | float) else None for value in values]
        has_value[name] = tuple(value is not None for value in each)
        return [value for value in each if value is not None] or None

    filled: JsonObject = {}
    for name, value in template.arguments.items():
        filling = parse_filling(value)
        values = [
            _named(read(name, part)) if isinstance(part, Expression) else part
            for part in filling.parts
        ]
        if len(values) == 1:
            if values[0] is not None:
                filled[name] = [values[0]] if filling.is_listed else values[0]
        elif not any(part is None or isinstance(part, dict | list) for part in values):
            texts = (str(part).lower() if isinstance(part, bool) else str(part) for part in values)
            filled[name] = "".join(texts)
    if len(set(has_value.values())) > 1:
        # An element lacks one of the values: its neighbours' must not be paired with its others.
        return {name: value for name, value in filled.items() if name not in has_value}
    return filled


def is_version(name: str) -> bool:
    """Return True for the input with the version of a thing (RFC 9110, 13.1.1), which is no id."""
    return name.lower() == "if-match"


def is_blank(text: str) -> bool:
    """Return True if a text has no visible character."""
    return all(category(character)[0] in "CZ" for character in text)


def item_worked(item: JsonValue) -> bool:
    """Return True if an element of a batch's answer does not report a failure."""
    if not isinstance(item, dict):
        return True
    said = {name.lower(): value for name, value in item.items()}
    ended = any(isinstance(s := said.get(n), str) and s.lower() in ENDED for n in _STATES)
    troubled = any(not is_empty(said.get(name)) for name in _TROUBLES)
    return status_of(item) < 400 and not ended and not troubled


def status_of(item: JsonObject) -> int:
    """Return the HTTP status that an element of an answer states; 0 if it states none."""
    found = item.get("status", item.get("code"))
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def is_empty(value: JsonValue) -> bool:
    """Return True if an error in an answer has no content."""
    if isinstance(value, dict):
        return all(inner in (None, "", 0, False, [], {}) for inner in value.values())
    return value in (None, "", 0, False, [])


def _named(value: JsonValue) -> JsonValue:
    return None if isinstance(value, str) and is_blank(value) else value


def _id_in(header: str, value: str, name: str, tool: Tool, called: Tool | None) -> str | None:
    """Return the id of the new thing in an address; None if no path template matches.

    Args:
        header: its name, in lower case.
        value: one address; for Link, several.
        name: the input to fill; an input with the format of a URI takes the whole address.
        tool: the called tool; an address may be its path with one more segment.
        called: the tool of the input.
    """
    templates = [(f"{tool.path.rstrip('/')}/{{}}", "{}")]
    if called is not None:
        if called.properties.get(name, {}).get("format") in ("uri", "uri-reference", "url"):
            return next(_addresses(header, value), None)
        fields = [b.field for b in called.bindings if b.name == name and b.location == "path"]
        templates = [*((called.path, f"{{{field}}}") for field in fields), *templates]
    ids: set[str] = set()
    for address in _addresses(header, value):
        if "/" not in address:
            ids |= {address} - {""}
            continue
        try:
            steps = [step for step in urlsplit(address).path.split("/") if step]
        except ValueError:
            continue
        found = (_segment(steps, *template) for template in templates)
        ids |= {*[one for one in found if one is not None][:1]}
    return ids.pop() if len(ids) == 1 else None


def _segment(steps: list[str], template: str, placeholder: str) -> str | None:
    """Return the step of an address at the position of the placeholder in a path template.

    The template is compared from its end, because the server's own path comes first, and it may end
    after the placeholder: `/bookings/{id}/cancel` cancels the thing at `/bookings/7`.
    """
    wanted = [step for step in template.partition("?")[0].split("/") if step]
    if placeholder not in wanted:
        return None
    for end in (wanted[: wanted.index(placeholder) + 1], wanted):
        length = min(len(steps), len(end))
        pairs = list(zip(steps[len(steps) - length :], end[len(end) - length :], strict=True))
        fits = all("{" in one or unquote(step) == one for step, one in pairs)
        held = [step for step, one in pairs if one == placeholder]
        if fits and held and (length > 1 or len(steps) == len(end) == 1):
            return unquote(held[0])
    return None


def _addresses(header: str, value: str) -> Iterator[str]:
    """Yield the address of a header; for Link, the addresses of the thing itself, else all."""
    if header != "link":
        yield value.strip()
        return
    links = _LINK.findall(value)
    own = [address for address, terms in links if _OF_ITSELF.search(terms)]
    yield from own or [address for address, _ in links]


def input_read(expression: Expression, tool: Tool) -> str | None:
    """Return the input of `tool` that the expression reads whole, or None.

    >>> input_read(parse_expression("$request.body#/client_reference"), tool)
    'client_reference'
    """
    if expression.message != "request" or len(expression.path) != 1:
        return None
    name, source = expression.path[0], expression.source
    for binding in tool.bindings:
        is_header = source == "header" and binding.field.lower() == name.lower()
        if binding.location == source and (binding.field == name or is_header):
            return binding.name
    return None


def reads_only_response(template: ToolCallTemplate) -> bool:
    """Return True if the template reads only the answer: a lost answer leaves it unfilled."""
    expressions = expressions_of(template)
    return bool(expressions) and all(e.message == "response" for e in expressions)


def response_headers_read(tool: Tool) -> frozenset[str]:
    """Return the lower-case names of the answer's headers that the tool's compensation reads."""
    return frozenset(
        expression.path[0].lower()
        for template in (tool.compensation.templates if tool.compensation is not None else ())
        for expression in expressions_of(template)
        if expression.message == "response" and expression.source == "header"
    )


def expressions_of(template: ToolCallTemplate) -> tuple[Expression, ...]:
    """Return every expression in the template's arguments.

    Raises:
        ValueError: one of them is malformed.
    """
    return tuple(
        expression
        for value in template.arguments.values()
        for expression in parse_filling(value).expressions
    )
