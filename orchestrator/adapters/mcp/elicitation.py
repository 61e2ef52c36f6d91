"""Reads what a server asks for during a call, within limits, as a question that a person answers.

Everything here is the server's own text: it is escaped, bounded, and kept in histories. So nothing
is asked that no history may hold.
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from orchestrator.adapters.http.masking import Mask
from orchestrator.core.record import JsonObject
from orchestrator.core.shown_text import visible, visible_block
from orchestrator.language.words import tokens
from orchestrator.saga.outcome import InputWanted

_LONGEST_STATE: Final = 16_000
_LONGEST_TEXT: Final = 2_000
_LONGEST_LABEL: Final = 200
_LARGEST: Final = 12_000
"""Bytes of all schemas as JSON."""
_MOST_FIELDS: Final = 20
_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")
_NAME: Final = re.compile(r"[A-Za-z_][\w.-]{0,63}", re.ASCII)
_SECRETS: Final = frozenset(
    {"credential", "credentials", "cvc", "cvv", "otp", "passcode", "passphrase", "passwd"}
    | {"password", "passwords", "passwort", "pin", "secret", "secrets", "token", "tokens"}
)
"""Words in names and titles of fields that no answer may hold: it would stand in histories."""
_SAID_SECRETS: Final = _SECRETS - {"pin", "token", "tokens", "secret", "secrets"}
"""Those that also count in a sentence."""
_NUMBERS: Final = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
_TYPES: Final = frozenset({"string", "number", "integer", "boolean"})


class _Refused(Exception):
    """Nobody is asked; the message is the predicate of a sentence about the server."""


def read_input(server: str, result: Mapping[str, Any], mask: Mask) -> InputWanted:
    """Return the input that a result of type `input_required` asks for.

    Args:
        server: its name in the settings.
        result: as the protocol writes it.
        mask: hides the secrets that the server was sent.
    """
    try:
        return _read(server, result, mask)
    except _Refused as refused:
        return InputWanted(server=server, refused=str(refused))


def masked(wanted: InputWanted, mask: Mask) -> InputWanted:
    """Return the question without the personal values that the call was sent with.

    The server's state cannot be changed: one that repeats such a value is not stored.
    """
    if wanted.state is not None and mask.text(wanted.state) != wanted.state:
        return InputWanted(server=wanted.server, refused="repeats a sent value in its state")
    fields: Any = mask.json(dict(wanted.fields))
    return wanted.model_copy(update={"text": mask.text(wanted.text), "fields": fields})


def _read(server: str, result: Mapping[str, Any], mask: Mask) -> InputWanted:
    state, requests = result.get("requestState"), result.get("inputRequests") or {}
    if state is not None and not isinstance(state, str):
        raise _Refused("sent a state that is no text")
    if state is not None and len(state.encode("utf-8", "surrogatepass")) > _LONGEST_STATE:
        raise _Refused(f"wants more than {_LONGEST_STATE:,} bytes to be kept as its state")
    if not isinstance(requests, dict):
        raise _Refused("asks in a way that the protocol does not know")
    texts: list[str] = []
    fields: dict[str, JsonObject] = {}
    asked: dict[str, tuple[str, ...]] = {}
    for key, request in requests.items():
        if not _KEY.fullmatch(key):
            raise _Refused("names a request by other than printed characters")
        params = _form(request)
        texts.append(visible_block(mask.text(str(params.get("message") or "")).strip()))
        own = dict(_fields(params.get("requestedSchema") or {}, mask))
        if set(own) & set(fields):
            raise _Refused("asks for one field twice")
        asked[key] = tuple(own)
        fields |= own
    text = "\n".join(texts)
    if len(text) > _LONGEST_TEXT or len(fields) > _MOST_FIELDS:
        raise _Refused("asks for more than a question holds")
    if len(json.dumps(fields)) > _LARGEST:
        raise _Refused("describes its fields at more length than a question holds")
    if _names_secret(text, _SAID_SECRETS):
        raise _Refused("asks for a credential, which no answer may hold")
    wanted = InputWanted(server=server, text=text, fields=fields, asked=asked, state=state)
    return masked(wanted, mask)


def _form(request: Any) -> Mapping[str, Any]:
    """Return the parameters of a request for a form."""
    method = request.get("method") if isinstance(request, dict) else None
    params = request.get("params") if isinstance(request, dict) else None
    if method == "sampling/createMessage":
        raise _Refused("asks for an answer of a model, which it does not get")
    if method != "elicitation/create" or not isinstance(params, dict):
        raise _Refused("asks for something that this client has not offered")
    if params.get("mode", "form") != "form":
        raise _Refused("asks a person to open an address, which this client has not offered")
    return params


def _fields(schema: Any, mask: Mask) -> Iterator[tuple[str, JsonObject]]:
    """Yield the fields of a form with as much of their schemas as a person is shown."""
    properties = schema.get("properties", {}) if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        raise _Refused("asks for a form without fields")
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    for name, given in properties.items():
        if not _NAME.fullmatch(name) or not isinstance(given, dict):
            raise _Refused("names a field in a way that cannot be answered")
        field = _field(given, mask)
        named, about = f"{name} {field.get('title', '')}", str(field.get("description", ""))
        is_secret = _names_secret(named, _SECRETS) or _names_secret(about, _SAID_SECRETS)
        if is_secret or given.get("format") == "password":
            raise _Refused("asks for a credential, which no answer may hold")
        if name not in needed:
            field.setdefault("default", None)
        yield name, field


def _names_secret(text: str, words: frozenset[str]) -> bool:
    found = tokens(text)
    return bool(words & set(found)) or ("api", "key") in pairwise(found)


def _field(given: Mapping[str, Any], mask: Mask) -> JsonObject:
    kind = given.get("type", "string")
    field: JsonObject = {"type": kind}
    for name in ("title", "description"):
        if isinstance(text := given.get(name), str):
            field[name] = visible(mask.text(text))[:_LONGEST_LABEL]
    for name in _NUMBERS:
        if isinstance(number := given.get(name), int | float) and not isinstance(number, bool):
            field[name] = number
    default = given.get("default")
    if isinstance(default, str | int | float | bool):
        field["default"] = mask.json(default)
    if kind == "array":
        items = given.get("items")
        choices = _choices(items if isinstance(items, dict) else {})
        if not choices:
            raise _Refused("asks for a list of anything")
        field["items"] = {"type": "string", "enum": [one["const"] for one in choices]}
    elif not isinstance(kind, str) or kind not in _TYPES:
        raise _Refused("asks for a value of a kind that no form has")
    elif choices := _choices(given):
        field["oneOf"] = choices
    if given.get("format") in ("email", "date", "date-time", "uri"):
        field["format"] = str(given["format"])
    return field


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    """Return the listed values with their titles."""
    values, titles = schema.get("enum"), schema.get("enumNames")
    if isinstance(values, list):
        named = titles if isinstance(titles, list) else []
        pairs = [(one, named[n] if n < len(named) else None) for n, one in enumerate(values)]
    else:
        listed = schema.get("oneOf", schema.get("anyOf"))
        branches = listed if isinstance(listed, list) else []
        pairs = [
            (one["const"], one.get("title"))
            for one in branches
            if isinstance(one, dict) and "const" in one
        ]
    return [_choice(value, title) for value, title in pairs]


def _choice(value: Any, title: Any) -> JsonObject:
    if not isinstance(value, str) or visible(value) != value or len(value) > _LONGEST_LABEL:
        raise _Refused("offers a choice that cannot be shown")
    label = visible(title)[:_LONGEST_LABEL] if isinstance(title, str) else ""
    return {"const": value, **({"title": label} if label else {})}
