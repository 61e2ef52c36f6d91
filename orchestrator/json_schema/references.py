"""JSON pointers (RFC 6901) and references (`$ref`) inside one document or compiled schema."""

from collections.abc import Iterable
from urllib.parse import quote, unquote

from pydantic import JsonValue

from orchestrator.core.record import JsonObject

FILES_KEY = "x-orchet-files"
"""The key of a bundled document's other files, by relative path.

The value of an unreadable file is the reason.
"""


def format_pointer(tokens: Iterable[str | int]) -> str:
    """Return the pointer of these steps, e.g. `/paths/~1book/post`; '' for no steps."""
    return "".join(f"/{str(token).replace('~', '~0').replace('/', '~1')}" for token in tokens)


def parse_pointer(pointer: str) -> tuple[str, ...]:
    """Return the steps of a pointer.

    Raises:
        ValueError: it is not empty and does not start with a slash.
    """
    if not pointer:
        return ()
    if not pointer.startswith("/"):
        raise ValueError(f"a JSON pointer begins with a slash, {pointer!r} does not")
    return tuple(t.replace("~1", "/").replace("~0", "~") for t in pointer[1:].split("/"))


def follow(root: JsonValue, tokens: Iterable[str]) -> JsonValue:
    """Return the value at the end of these steps.

    Raises:
        LookupError: a step leads nowhere.
    """
    value = root
    for token in tokens:
        if isinstance(value, dict):
            value = value[token]
        elif isinstance(value, list) and token.isascii() and token.isdigit():
            value = value[int(token)]
        else:
            raise LookupError(token)
    return value


def format_reference(*steps: str) -> str:
    """Return the reference to the end of these steps, e.g. `#/$defs/Tree`."""
    return "#" + quote(format_pointer(steps), safe="/$")


def parse_reference(reference: str) -> tuple[str, ...] | None:
    """Return the steps of a reference, from the root of its document.

    Returns:
        None if it leads out of the document.

    Raises:
        ValueError: its fragment is not a JSON pointer; anchors are not supported.
    """
    address, _, fragment = reference.partition("#")
    return None if address else parse_pointer(unquote(fragment))


def reference_of(schema: JsonValue) -> str | None:
    """Return the `$ref` of a schema or reference object as written, or None."""
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    return reference if isinstance(reference, str) else None


def definition_of(reference: str, root: JsonObject) -> JsonObject:
    """Return the definition that a reference in a compiled schema names, or {}: all is valid.

    `root` is the whole schema, with its `$defs`, as in the functions below.
    """
    try:
        steps = parse_reference(reference)
        found = follow(root, steps) if steps is not None else None
    except (LookupError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def with_definitions(schema: JsonObject, root: JsonObject) -> JsonObject:
    """Return a part of a compiled schema with the definitions that it may refer to."""
    if "$defs" not in root or "$ref" not in str(schema):
        return schema
    return {**schema, "$defs": root["$defs"]}


def resolve(schema: JsonObject, root: JsonObject, merged: set[str] | None = None) -> JsonObject:
    """Merge a compiled schema's reference and allOf into one object.

    A single alternative apart from null is merged too. Keywords next to a `$ref` or an allOf take
    precedence over the merged ones. Nested schemas stay unchanged. A reference is merged only once,
    which ends circles; `merged` holds those of the schemas around.
    """
    merged = set() if merged is None else merged
    while True:
        if (reference := reference_of(schema)) is not None:
            found = definition_of(reference, root) if reference not in merged else {}
            merged.add(reference)
            schema = {**found, **_without(schema, "$ref")}
        elif isinstance(members := schema.get("allOf"), list):
            schema = _without(schema, "allOf")
            for member in members:
                found = resolve(member, root, merged) if isinstance(member, dict) else {}
                for keyword, held in found.items():
                    # Properties and required names are joined; else the schema wins.
                    present = schema.get(keyword)
                    if isinstance(present, dict) and isinstance(held, dict):
                        schema[keyword] = {**held, **present}
                    elif isinstance(present, list) and isinstance(held, list):
                        schema[keyword] = present + held if keyword == "required" else present
                    else:
                        schema.setdefault(keyword, held)
        else:
            written = (schema.get("anyOf"), schema.get("oneOf"))
            branches = next((one for one in written if isinstance(one, list)), [])
            real = [b for b in branches if isinstance(b, dict) and b.get("type") != "null"]
            if len(real) != 1:
                return schema
            schema = {**real[0], **_without(schema, "anyOf", "oneOf")}


def _without(schema: JsonObject, *keywords: str) -> JsonObject:
    return {keyword: held for keyword, held in schema.items() if keyword not in keywords}
