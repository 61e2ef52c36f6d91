"""The file of `orchestrator serve`: what it says, and the one sentence for each mistake."""

import json
from pathlib import Path

import jsonschema
import pytest

from orchestrator.catalog.yaml12 import load_yaml
from orchestrator.core.errors import DocumentUnreadable
from orchestrator.web.config import ServeConfig, groups_of, read_serve_config, subject_of
from orchestrator.web.people import Role
from tests.serve_schema import SCHEMA_FILE, schema_text

GOOD = """
url: https://missions.example.com
sign_in:
  issuer: https://login.example.com
  client_id: missions
  client_secret: serve__client
machines:
  - {issuer: https://login.example.com, audience: missions-api}
roles:
  - {group: finance, roles: [approver], sees: all}
  - {group: "team-*", roles: [viewer]}
  - {person: "*@example.com", roles: [requester]}
signing_key: service.jwk
session: {lifetime: PT8H, idle: 1800}
proxies: [10.0.0.0/8, "::1"]
"""


def read(folder: Path, text: str) -> ServeConfig:
    file = folder / "serve.yaml"
    file.write_text(text)
    return read_serve_config(file)


def test_a_file_says_who_has_which_roles(tmp_path: Path) -> None:
    """All rules that fit a person count; somebody whom none fits has none."""
    config = read(tmp_path, GOOD)

    assert config.standing_of("ana@example.com", ("finance", "team-a")) == (
        (Role.APPROVER, Role.REQUESTER, Role.VIEWER),
        True,
    )
    assert config.standing_of("Ana@EXAMPLE.com", ()) == ((Role.REQUESTER,), False)
    assert config.standing_of("eve@elsewhere.com", ("finances",)) == ((), False)
    assert config.standing_of("", ()) == ((), False)
    assert config.session.idle.total_seconds() == 1800
    assert config.signing_key == tmp_path / "service.jwk"


@pytest.mark.parametrize(
    ("old", "new", "pointer", "remedy"),
    [
        ("issuer: https://login", "isuer: https://login", "/sign_in/isuer", "did you mean issuer?"),
        ("signing_key:", "signingkey:", "/signingkey", "did you mean signing_key?"),
        ("sees: all", "see: all", "/roles/0/see", "did you mean sees?"),
        ("audience:", "for:", "/machines/0/for", "it may have issuer, audience"),
        ("  client_id: missions\n", "", "/sign_in/client_id", "add it"),
        ("https://missions", "http://missions", "/url", "write an https URL"),
        ("example.com\nsign_in", "example.com/app\nsign_in", "/url", "without a path"),
        ("https://login.example.com\n", "login\n", "/sign_in/issuer", "write an https URL"),
        ("[approver]", "[aprover]", "/roles/0/roles/0", "'approver'"),
        ("[approver]", "[]", "/roles/0/roles", "at least 1"),
        ("[approver]", "approver", "/roles/0/roles", "write a list"),
        ("group: finance,", "", "/roles/0", "either a group or a person"),
        ("PT8H", "soon", "/session/lifetime", "duration"),
        ("1800", "0", "/session/idle", "greater than"),
        ("10.0.0.0/8", "my-proxy", "/proxies/0", "such as 10.0.0.0/8"),
        ("missions-api", "missions", "/", "register an audience of its own"),
        ("client_secret: serve__client", "scopes: [email]", "/sign_in", "contain openid"),
        ("serve__client", "two words", "/sign_in/client_secret", "pattern"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, old: str, new: str, pointer: str, remedy: str) -> None:
    assert old in GOOD
    with pytest.raises(DocumentUnreadable) as refused:
        read(tmp_path, GOOD.replace(old, new, 1))
    assert "serve.yaml cannot be read" in str(refused.value)
    assert refused.value.reason.startswith(f"{pointer}: ")
    assert remedy in refused.value.reason
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "- a", "url: [", "url: a\nurl: b"])
def test_what_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DocumentUnreadable):
        read(tmp_path, text)
    with pytest.raises(DocumentUnreadable):
        read_serve_config(tmp_path / "missing.yaml")


def test_a_mistake_quotes_no_value(tmp_path: Path) -> None:
    """A secret may stand where its name belongs."""
    with pytest.raises(DocumentUnreadable) as refused:
        read(tmp_path, GOOD.replace("serve__client", "planted secret!"))
    assert "planted" not in str(refused.value)


@pytest.mark.parametrize(
    ("claims", "claim", "subject"),
    [
        ({"sub": "u1", "email": "a@x.io", "email_verified": True}, "auto", "a@x.io"),
        ({"sub": "u1", "email": "a@x.io", "email_verified": "true"}, "auto", "u1"),
        ({"sub": "u1", "email": "a@x.io"}, "auto", "u1"),
        ({"sub": "u1", "email": "a@x.io"}, "email", "a@x.io"),
        ({"sub": "u1", "upn": "ana"}, "upn", "ana"),
        ({"sub": "policy:meals"}, "auto", ""),
        ({"sub": "Group:finance"}, "auto", ""),
        ({"sub": "a\nb"}, "auto", ""),
        ({"sub": "a" * 201}, "auto", ""),
        ({"sub": 7}, "auto", ""),
        ({}, "auto", ""),
    ],
)
def test_a_subject_can_stand_in_a_policy(
    claims: dict[str, object], claim: str, subject: str
) -> None:
    """An address only if the issuer has verified it, unless the file says otherwise."""
    assert subject_of(claims, claim) == subject


@pytest.mark.parametrize(
    ("listed", "groups"),
    [
        (["a", "b", "a"], ("a", "b")),
        ("a", ("a",)),
        (["a", 1, None, "", "b\n", "c" * 201], ("a",)),
        ({"a": 1}, ()),
        (None, ()),
    ],
)
def test_groups_are_names(listed: object, groups: tuple[str, ...]) -> None:
    assert groups_of({"groups": listed}, "groups") == groups


def test_the_published_schema_is_that_of_the_file() -> None:
    """`python -m tests.serve_schema` writes it; the example of the documentation fits it."""
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    page = (SCHEMA_FILE.parents[1] / "docs/serve.md").read_text(encoding="utf-8")
    example = load_yaml(page.partition("```yaml\n")[2].partition("```")[0])

    assert SCHEMA_FILE.read_text(encoding="utf-8") == schema_text()
    jsonschema.Draft202012Validator(schema).validate(example)
    assert ServeConfig.model_validate(example).sign_in.client_id == "missions"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate({**example, "rolls": []})
