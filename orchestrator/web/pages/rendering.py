"""Renders the pages' templates: every text is escaped, and hidden characters are made visible."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.filters import do_mark_safe as markup
from pydantic import JsonValue
from starlette.requests import HTTPConnection

from orchestrator.core.shown_text import number_of, visible_block
from orchestrator.messages import names
from orchestrator.web.sign_in.notice_page import TOKEN_FIELD


def render(template: str, **context: Any) -> str:
    """Return a page; a name that the template needs and does not get is an error."""
    return _environment().get_template(template).render(**context)


def moment(at: datetime | None) -> str:
    """Return a `<time>` element in UTC; scripts show it in the reader's own time zone."""
    if at is None:
        return markup("")
    there = at.astimezone(UTC)
    text = f"{there:%Y-%m-%d %H:%M} UTC"
    return markup('<time datetime="{}">{}</time>').format(there.isoformat(), text)


def json_text(value: JsonValue) -> str:
    """Return a value as readers see it: texts as they are, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def words(status: object) -> str:
    """Return a status in words: `rolled_back` is "rolled back"."""
    return str(getattr(status, "value", status)).replace("_", " ")


def _finalized(value: Any) -> Any:
    """Return the text of a value, hidden characters escaped; the template then escapes markup."""
    if value is None:
        return ""
    return value if hasattr(value, "__html__") else visible_block(str(value))


def _joined(texts: Iterable[object], separator: str) -> str:
    """Return texts in one; the filter of Jinja would return markup, which is not finalized."""
    return separator.join(map(str, texts))


def csrf_field(request: HTTPConnection) -> str:
    """Return the hidden field that each form carries; empty where no token is issued."""
    token = getattr(request.state, "csrf_token", None)
    if token is None:
        return markup("")
    return markup('<input type="hidden" name="{}" value="{}">').format(TOKEN_FIELD, token)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("orchestrator.web.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "moment": moment,
        "join": _joined,
        "json_text": json_text,
        "tojson_text": partial(json.dumps, ensure_ascii=False, indent=2),
        "words": words,
        "path_part": partial(quote, safe=""),
        "mission_of": names.mission_of,
    }
    made.globals |= {"csrf_field": csrf_field, "number_of": number_of}
    return made
