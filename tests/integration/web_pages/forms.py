"""Forms of pages as a browser without scripts reads and sends them."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

import httpx


@dataclass
class Form:
    """A form: its fields with their values, and its buttons."""

    action: str
    values: dict[str, str] = field(default_factory=dict)
    buttons: list[tuple[str, str]] = field(default_factory=list)

    def has(self, name: str, value: str) -> bool:
        """True if it has a button of that name and value."""
        return (name, value) in self.buttons


class _Forms(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Form] = []
        self._open: Form | None = None
        self._area: str | None = None
        self._select: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._open = Form(given.get("action", ""))
            self.found.append(self._open)
        if self._open is None:
            return
        name, value = given.get("name", ""), given.get("value", "")
        is_set = given.get("type") not in ("radio", "checkbox") or "checked" in given
        if tag == "input" and name and is_set:
            self._open.values[name] = value
        elif tag == "button":
            self._open.buttons.append((name, value))
        elif tag == "textarea":
            self._area = name
            self._open.values[name] = ""
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select is not None:
            is_first = self._select not in self._open.values
            self._open.values |= {self._select: value} if is_first or "selected" in given else {}

    def handle_data(self, data: str) -> None:
        if self._open is not None and self._area is not None:
            self._open.values[self._area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._open is not None and self._area is not None:
            # The first line end of a text area belongs to the markup.
            text = self._open.values[self._area]
            self._open.values[self._area] = text.removeprefix("\n")
            self._area = None
        elif tag == "select":
            self._select = None
        elif tag == "form":
            self._open = None


async def form_with(browser: httpx.AsyncClient, address: str, name: str, value: str) -> Form:
    """The form of a page that has a button of this name and value."""
    page = await browser.get(address)
    assert page.status_code == 200, page.text
    (form,) = [one for one in _Forms(page.text).found if one.has(name, value)]
    form.action = form.action or address
    return form


async def send(
    browser: httpx.AsyncClient, form: Form, name: str = "", value: str = "", **changes: str
) -> httpx.Response:
    """Send a form with one of its buttons; `changes` are what a person typed, `__` for a dot."""
    typed = {key.replace("__", "."): text for key, text in changes.items()}
    strange = typed.keys() - form.values.keys()
    assert not strange, f"the form has no {strange}: {sorted(form.values)}"
    pressed = {name: value} if name else {}
    return await browser.post(form.action, data={**form.values, **typed, **pressed})


def forms_in(text: str) -> list[Form]:
    """Every form of a page."""
    return _Forms(text).found
