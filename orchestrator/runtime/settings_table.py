"""The table of all settings: what each variable is for, its default, and what it holds now."""

import ast
import inspect
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from pydantic import SecretStr
from rapidfuzz import fuzz, process

from orchestrator.core.record import Record
from orchestrator.core.secret_names import VARIABLE_PREFIX as SECRET_PREFIX
from orchestrator.core.shown_text import address_shown
from orchestrator.settings import OWN_FOLDER, Settings

PREFIX: Final = "ORCHESTRATOR_"
READ_ELSEWHERE: Final[Mapping[str, str]] = {
    f"{SECRET_PREFIX}DOCUMENT__SCHEME": "The credential of a security scheme of a document; with "
    "the suffix _FILE, a file with it; with _HOSTS, the only hosts that it is sent to.",
    f"{SECRET_PREFIX}EMBEDDER_TOKEN": "The credential of an embedder; likewise.",
    "ORCHESTRATOR_PROXY_TOKEN": "The token of callers of `orchestrator proxy`, where the proxy has "
    "the provider's key.",
    "ORCHESTRATOR_CODEC_TOKEN": "The token of callers of `orchestrator codec-server`.",
    "ORCHESTRATOR_CODEC_TOKEN_FILE": "A file with this token.",
}
"""Variables of ours that no field of the settings reads."""
_UNSET: Final = "unset"
_INSTALLED: Final = Path(__file__).parents[2]
_LIKE: Final = 80.0
"""From how many percent of alikeness on a misspelt variable is told what was meant."""


class SettingRow(Record):
    """One variable of the environment."""

    variable: str
    default: str
    now: str
    meaning: str

    @property
    def is_set(self) -> bool:
        """Whether it holds something else than its default."""
        return self.now != self.default


def setting_rows(settings: Settings) -> tuple[SettingRow, ...]:
    """One for each variable; of a secret, only whether it is set."""
    usual = Settings.model_construct(state_dir=Path("~", OWN_FOLDER))
    own = [
        SettingRow(
            variable=PREFIX + name.upper(),
            default=_shown(getattr(usual, name)),
            now=_shown(getattr(settings, name)),
            meaning=meaning,
        )
        for name, meaning in _meanings().items()
    ]
    others = [
        SettingRow(variable=name, default=_UNSET, now=_UNSET, meaning=meaning)
        for name, meaning in READ_ELSEWHERE.items()
    ]
    return (*own, *others)


def unknown_variables(environment: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each variable that begins like ours and is read by nothing: it was misspelt.

    Its value is not told: it may be a secret.
    """
    known = {PREFIX + name.upper() for name in Settings.model_fields} | READ_ELSEWHERE.keys()
    for name in sorted(environment):
        if not name.startswith(PREFIX) or name.startswith(SECRET_PREFIX) or name in known:
            continue
        names = {variable.removeprefix(PREFIX): variable for variable in sorted(known)}
        near = process.extractOne(
            name.removeprefix(PREFIX), names.keys(), scorer=fuzz.ratio, score_cutoff=_LIKE
        )
        meant = f"; {names[near[0]]} is one" if near else ""
        yield f"{name} is no setting and changes nothing{meant} (orchestrator settings)"


def markdown_table() -> str:
    """The variables with their defaults and meanings, as they stand in docs/settings.md."""
    rows = setting_rows(Settings.model_construct())
    lines = [f"| `{row.variable}` | {_cell(row.default)} | {row.meaning} |" for row in rows]
    return "\n".join(["| variable | default | what it is for |", "|---|---|---|", *lines])


def _cell(default: str) -> str:
    return default if default == _UNSET else f"`{default}`"


@cache
def _meanings() -> dict[str, str]:
    """The text below each field of the settings, in one line."""
    (body,) = (
        node.body
        for node in ast.parse(inspect.getsource(Settings)).body
        if isinstance(node, ast.ClassDef)
    )
    meanings = dict.fromkeys(Settings.model_fields, "")
    for field, below in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            text = below.value if isinstance(below, ast.Expr) else None
            if isinstance(text, ast.Constant) and field.target.id in meanings:
                meanings[field.target.id] = " ".join(str(text.value).split())
    return meanings


def _shown(value: Any) -> str:
    """As it would be written in the environment."""
    if value is None or value in ((), {}):
        return _UNSET
    if isinstance(value, SecretStr):
        return "set"
    if isinstance(value, str):
        return address_shown(value)
    if isinstance(value, timedelta):
        return f"{value.total_seconds():.0f}"
    if isinstance(value, Path):
        return _shown_path(value)
    if isinstance(value, tuple):
        return ",".join(_shown(one) for one in value)
    if isinstance(value, dict):
        return json.dumps(
            {document: dict.fromkeys(held, "set") for document, held in value.items()}
        )
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shown_path(path: Path) -> str:
    """Not by where this machine has its home and our packages."""
    for place, name in _places():
        if path.is_relative_to(place):
            return str(Path(name) / path.relative_to(place))
    return str(path)


def _places() -> Iterator[tuple[Path, str]]:
    yield _INSTALLED, "."
    with suppress(RuntimeError):  # a number that no user has is at home nowhere
        yield Path.home(), "~"
