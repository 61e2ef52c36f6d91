"""The YAML file of `orchestrator serve`: sign-in, roles, machines, signing and sessions."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from rapidfuzz import fuzz, process

from orchestrator.catalog.yaml12 import load_yaml
from orchestrator.confirmation.policy import GROUP_PREFIX, Pattern, fits
from orchestrator.core.errors import DocumentUnreadable
from orchestrator.web.people import Role

LOOPBACK_HOSTS: Final = ("127.0.0.1", "localhost", "::1")
_REMEDIES: Final = {
    "missing": "add it",
    "string_type": "write a text",
    "tuple_type": "write a list: [one, another]",
    "model_type": "write a mapping, with one `key: value` a line",
}


def _base_url(text: str) -> str:
    parts = urlsplit(text)
    is_local = parts.scheme == "http" and parts.hostname in LOOPBACK_HOSTS
    if not (parts.scheme == "https" or is_local) or not parts.hostname:
        raise ValueError("write an https URL (http only for an address of this machine)")
    if parts.query or parts.fragment or parts.username:
        raise ValueError("write a URL without user, query and fragment")
    return text.rstrip("/")


def _own_url(text: str) -> str:
    if urlsplit(text).path not in ("", "/"):
        raise ValueError("write a URL without a path: the service has its host to itself")
    return _base_url(text).lower()


def _network(text: str) -> str:
    try:
        return str(ip_network(text))
    except ValueError:
        raise ValueError("write an address or a network, such as 10.0.0.0/8") from None


def _seconds(value: Any) -> Any:
    """Read a plain number as seconds, as in tool contracts."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return timedelta(seconds=value) if is_number else value


BaseUrl = Annotated[str, AfterValidator(_base_url)]
Wait = Annotated[timedelta, BeforeValidator(_seconds), Field(gt=timedelta(0))]
SecretName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,100}$")]
"""`serve__x` is read from ORCHESTRATOR_SECRET_SERVE__X, or the file that ..._FILE names."""


class _Part(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, use_attribute_docstrings=True
    )


class SignInConfig(_Part):
    """An OpenID Connect issuer that people sign in at."""

    issuer: BaseUrl
    """Its URL, as its tokens name it; a slash at the end does not count."""
    client_id: str = Field(min_length=1)
    client_secret: SecretName | None = None
    """The name of a secret; unset, a public client, which PKCE alone protects."""
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    groups_claim: str = "groups"
    """The claim that lists a person's groups."""
    subject_claim: str = "auto"
    """The claim with a person's name in policies; `auto`: the e-mail address if the issuer has
    verified it, else `sub`."""

    @model_validator(mode="after")
    def _asks_for_identity(self) -> "SignInConfig":
        if "openid" not in self.scopes:
            raise ValueError("scopes have to contain openid")
        return self


class MachineConfig(_Part):
    """An issuer whose access tokens (JWTs) prove machines."""

    issuer: BaseUrl
    audience: str = Field(min_length=1)
    """The audience that a token has to name: this service, as the issuer knows it."""
    groups_claim: str = "groups"
    subject_claim: str = "sub"


class RoleRule(_Part):
    """The roles of a group, or of people by their names. All rules that fit somebody count."""

    group: Pattern | None = None
    person: Pattern | None = None
    roles: tuple[Role, ...] = Field(min_length=1)
    sees: Literal["own", "all"] = "own"
    """`all`: missions of everybody; `own`: their own, and cards that they may decide."""

    @model_validator(mode="after")
    def _names_one(self) -> "RoleRule":
        if (self.group is None) == (self.person is None):
            raise ValueError("a rule names either a group or a person")
        return self

    def covers(self, subject: str, groups: tuple[str, ...]) -> bool:
        """Return True if the rule is about this person."""
        if self.person is not None:
            return fits(subject, (self.person,))
        return any(fits(group, (self.group or "",)) for group in groups)


class SessionConfig(_Part):
    """How long a sign-in lasts."""

    lifetime: Wait = timedelta(hours=12)
    """After it, people sign in again, whatever they do."""
    idle: Wait = timedelta(hours=1)
    """Without a request for so long, people sign in again."""
    key: SecretName = "serve__session_key"
    """The name of the secret that signs sessions: one key of at least 32 characters a line. The
    first signs, each is accepted."""


class ServeConfig(_Part):
    """The file of `orchestrator serve`."""

    url: Annotated[str, AfterValidator(_own_url)]
    """How browsers reach the service, such as https://missions.example.com."""
    sign_in: SignInConfig
    machines: tuple[MachineConfig, ...] = ()
    roles: tuple[RoleRule, ...] = Field(min_length=1)
    signing_key: Path | None = None
    """A private key (JWK or PEM) that signs the decisions of people who are signed in."""
    session: SessionConfig = Field(default_factory=SessionConfig)
    proxies: tuple[Annotated[str, AfterValidator(_network)], ...] = ()
    """Addresses of reverse proxies, whose X-Forwarded-For and -Proto headers are believed."""

    @model_validator(mode="after")
    def _separates_tokens(self) -> "ServeConfig":
        own = self.sign_in.client_id
        for number, machine in enumerate(self.machines):
            if machine.issuer == self.sign_in.issuer and machine.audience == own:
                raise ValueError(
                    f"machines/{number}/audience is the client_id of sign_in, so that an ID token "
                    "of a browser would pass as an access token: register an audience of its own"
                )
        return self

    def standing_of(self, subject: str, groups: tuple[str, ...]) -> tuple[tuple[Role, ...], bool]:
        """Return the roles of a person, and whether they see the missions of everybody."""
        rules = [rule for rule in self.roles if rule.covers(subject, groups)]
        roles = {role for rule in rules for role in rule.roles}
        return tuple(sorted(roles)), any(rule.sees == "all" for rule in rules)


def read_serve_config(path: Path) -> ServeConfig:
    """Return the configuration in a YAML or JSON file; an error says its first mistake and fix."""
    try:
        content = load_yaml(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it should be a mapping with url, sign_in and roles")
        config = ServeConfig.model_validate(content)
    except ValidationError as error:
        raise DocumentUnreadable(str(path), _sentence(error)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise DocumentUnreadable(str(path), reason) from error
    key = config.signing_key
    if key is not None and not key.is_absolute():
        return config.model_copy(update={"signing_key": path.parent / key})
    return config


def _sentence(error: ValidationError) -> str:
    faults = error.errors(include_input=False, include_url=False)
    # A misspelt key is also a missing one, and says more.
    unknown = (one for one in faults if one["type"] == "extra_forbidden")
    fault = next(unknown, faults[0])
    pointer = "/" + "/".join(str(part) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        *place, key = fault["loc"]
        part: type[BaseModel] = ServeConfig
        for name in place:
            if isinstance(name, str):
                part = next(_models_in(part.model_fields[name].annotation))
        known = list(part.model_fields)
        near = process.extractOne(str(key), known, scorer=fuzz.ratio, score_cutoff=70)
        remedy = f"did you mean {near[0]}?" if near else f"it may have {', '.join(known)}"
        return f"{pointer}: there is no such key; {remedy}"
    said = fault["msg"].removeprefix("Value error, ")
    fix = _REMEDIES.get(fault["type"])
    return f"{pointer}: {said}; {fix}" if fix else f"{pointer}: {said}"


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) in (tuple, Union, UnionType):
        for part in get_args(annotation):
            yield from _models_in(part)


def subject_of(claims: Mapping[str, Any], subject_claim: str) -> str:
    """Return the name of a token's person in policies; '' if the claims have no usable name."""
    if subject_claim == "auto":
        is_verified = claims.get("email_verified") is True and claims.get("email")
        subject_claim = "email" if is_verified else "sub"
    name = claims.get(subject_claim)
    is_name = isinstance(name, str) and name.strip() and name.isprintable() and len(name) <= 200
    if not is_name or str(name).casefold().startswith(("policy:", GROUP_PREFIX)):
        return ""
    return str(name)


def groups_of(claims: Mapping[str, Any], groups_claim: str) -> tuple[str, ...]:
    """Return the groups in the claims of a token; names that are no text are left out."""
    listed = claims.get(groups_claim)
    found = [listed] if isinstance(listed, str) else listed if isinstance(listed, list) else []
    usable = (one for one in found if isinstance(one, str) and one and one.isprintable())
    return tuple(dict.fromkeys(one for one in usable if len(one) <= 200))
