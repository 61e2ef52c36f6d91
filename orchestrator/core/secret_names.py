"""Names of secrets, one for each security scheme of each document, and their variables.

No two schemes share a name. Two that differ only in case, or of which one ends in `_file` or
`_hosts`, could share a variable: `shared_variable` finds them, and the catalog refuses them.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

VARIABLE_PREFIX: Final = "ORCHESTRATOR_SECRET_"
CLIENT_PARTS: Final = ("client_id", "client_secret")
"""The parts of the secret of a scheme that obtains a token."""
_ESCAPED: Final = re.compile(r"[^A-Za-z0-9._-]|^_|_$|_(?=_)|(?<=_)_")
"""Characters that a part of a name cannot hold: two underscores separate the parts."""
_TWO_WORDS: Final = re.compile(
    rf"[A-Za-z0-9]+__[A-Za-z0-9]+(?:__(?:{'|'.join(CLIENT_PARTS)}))?", re.ASCII
)


class SecretRef(NamedTuple):
    """The name of a secret; safe to log, to trace and to store."""

    name: str


class SchemeName(NamedTuple):
    """A security scheme of a document."""

    document: str
    scheme: str


def secret_for_scheme(document: str, scheme: str) -> SecretRef:
    """Return the secret that a document's security scheme reads: `payments__token`."""
    return SecretRef(f"{_part(document)}__{_part(scheme)}")


def part_of(name: str, part: str) -> str:
    """Return the name of a part of a secret: `payments__token__client_id`."""
    return f"{name}__{part}"


def variable_of(name: str) -> str:
    """Return the environment variable that a secret is read from.

    Letters become upper case; each byte of other characters than digits and underscores becomes `x`
    and two digits: `my-bank__key` is ORCHESTRATOR_SECRET_MYx2dBANK__KEY.
    """
    # Unlike `str.upper`, which would change characters of other alphabets too.
    upper = re.sub(r"[a-z]", lambda found: found[0].upper(), name)

    def as_bytes(found: re.Match[str]) -> str:
        return "".join(f"x{byte:02x}" for byte in _utf8(found[0]))

    return VARIABLE_PREFIX + re.sub(r"[^A-Z0-9_]", as_bytes, upper)


def variables_of(name: str) -> tuple[str, ...]:
    """Return the variables that may hold a secret, the preferred one first.

    One underscore is enough where document and scheme are one word each, as such a name can be
    split in only one way: `payments__token` is also read from ORCHESTRATOR_SECRET_PAYMENTS_TOKEN.
    """
    whole = variable_of(name)
    short = whole.replace("__", "_") if _TWO_WORDS.fullmatch(name) else whole
    return (whole,) if short == whole else (whole, short)


def shared_variable(schemes: Iterable[SchemeName]) -> tuple[SchemeName, SchemeName, str] | None:
    """Return the first two schemes that would read one variable, and that variable."""
    readers: dict[str, SchemeName] = {}
    for one in dict.fromkeys(schemes):
        name = secret_for_scheme(*one).name
        read = (name, *(part_of(name, part) for part in CLIENT_PARTS))
        variables = (variable for each in read for variable in variables_of(each))
        for variable in (f"{v}{suffix}" for v in variables for suffix in ("", "_FILE", "_HOSTS")):
            other = readers.setdefault(variable, one)
            if other != one:
                return other, one, variable
    return None


def _part(name: str) -> str:
    return _ESCAPED.sub(lambda found: "".join(f"%{b:02X}" for b in _utf8(found[0])), name)


def _utf8(character: str) -> bytes:
    return character.encode("utf-8", "surrogateescape")
