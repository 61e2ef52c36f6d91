"""The table of all settings, for the command and the docs."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
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
    "ORCHESTRATOR_PROXY_TOKEN": "The token of callers of `orchestrator proxy`, where the proxy has "
    "the provider's key.",
    "ORCHESTRATOR_CODEC_TOKEN": "The token of callers of `orchestrator codec-server`.",
    "ORCHESTRATOR_CODEC_TOKEN_FILE": "A file with this token.",
}
"""Our variables that no field of the settings reads."""
_UNSET: Final = "unset"
_LIKE: Final = 80.0
"""The similarity in percent from which a misspelt variable is recognised."""


class SettingRow(Record):
    """An environment variable."""

    variable: str
    default: str
    now: str
    meaning: str

    @property
    def is_set(self) -> bool:
        """True if it differs from its default."""
        return self.now != self.default


def setting_rows(settings: Settings) -> tuple[SettingRow, ...]:
    """Return one row per variable; for a secret, only if it is set."""
    usual = Settings.model_construct(state_dir=Path("~", OWN_FOLDER))
    own = [
        SettingRow(
            variable=PREFIX + name.upper(),
            default=_shown(getattr(usual, name)),
            now=_shown(getattr(settings, name)),
            meaning=" ".join((field.description or "").split()),
        )
        for name, field in Settings.model_fields.items()
    ]
    others = [
        SettingRow(variable=name, default=_UNSET, now=_UNSET, meaning=meaning)
        for name, meaning in READ_ELSEWHERE.items()
    ]
    return (*own, *others)


def unknown_variables(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each variable with our prefix that nothing reads: it is misspelt.

    Its value is left out, as it may be a secret.
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


def _shown(value: Any) -> str:
    if value is None or value in ((), {}):
        return _UNSET
    if isinstance(value, SecretStr):
        return "set"
    if isinstance(value, str):
        return address_shown(value)
    if isinstance(value, timedelta):
        return f"{value.total_seconds():.0f}"
    if isinstance(value, Path):
        # Without this machine's home folder and the location of our packages.
        places = [(Path(__file__).parents[2], ".")]
        with suppress(RuntimeError):  # an unknown user id has no home
            places.append((Path.home(), "~"))
        for place, name in places:
            if value.is_relative_to(place):
                return str(Path(name) / value.relative_to(place))
        return str(value)
    if isinstance(value, tuple):
        return ",".join(_shown(one) for one in value)
    if isinstance(value, dict):
        return json.dumps(
            {document: dict.fromkeys(held, "set") for document, held in value.items()}
        )
    return f"{value:g}" if isinstance(value, float) else str(value)
