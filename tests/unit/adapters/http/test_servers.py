"""Where requests may go."""

from typing import Any

import pytest

from orchestrator.adapters.http.servers import base_url, declared_origins, origin_of
from orchestrator.catalog.operations import operations
from orchestrator.catalog.tool import Tool
from orchestrator.core.errors import EgressRefused, UsageError
from orchestrator.json_schema.document import DocumentNode


def _tool(server: str, **defaults: str) -> Tool:
    return Tool(
        name="t",
        document="d",
        domain="d",
        input_schema={"type": "object"},
        server=server,
        server_variables=defaults,
    )


@pytest.mark.parametrize(
    ("server", "configured", "url"),
    [
        ("https://api.example.com/v1/", {}, "https://api.example.com/v1"),
        ("http://{host}:{port}/x", {}, "http://127.0.0.1:8700/x"),
        ("http://{host}:{port}/x", {"port": "9", "other": "y"}, "http://127.0.0.1:9/x"),
        ("http://{host}:{port}/x", {"host": "[::1]"}, "http://[::1]:8700/x"),
        ("https://api.example.com/{host}", {"host": "a/b"}, "https://api.example.com/a/b"),
    ],
)
def test_configuration_wins_over_the_documents_defaults(
    server: str, configured: dict[str, str], url: str
) -> None:
    """Variables are filled from both."""
    found = base_url(_tool(server, host="127.0.0.1", port="8700"), {"d": configured})

    assert found == url


@pytest.mark.parametrize("value", ["evil.example/", "a@b", "a?b", "a#b", "a\\b", "a b", "a\nb"])
def test_a_value_cannot_move_the_host(value: str) -> None:
    """What would end the host early is refused."""
    with pytest.raises(UsageError, match="'host'"):
        base_url(_tool("https://{host}.example.com/x"), {"d": {"host": value}})


def test_a_variable_without_a_value_is_named() -> None:
    """Neither the document nor the configuration has it."""
    with pytest.raises(UsageError, match="'region'"):
        base_url(_tool("https://{region}.example.com"), {})


@pytest.mark.parametrize(
    "server",
    ["", "/v1", "ftp://h/x", "file:///etc", "http://u:p@h/x", "https://xn--/x", "https://ä..b"],
)
def test_what_names_no_http_host_is_refused(server: str) -> None:
    """Relative servers, other schemes, credentials in them, and what no request could go to."""
    with pytest.raises(EgressRefused) as refused:
        base_url(_tool(server), {})
    assert "u:p" not in str(refused.value)


def test_all_servers_of_an_operation_are_declared() -> None:
    """With their variables filled in; those of other operations are not among them."""
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "http://root"}],
        "paths": {
            "/a": {
                "get": {
                    "servers": [
                        {"url": "https://{n}.x", "variables": {"n": {"default": "one"}}},
                        {"url": "http://two:81"},
                    ]
                },
                "post": {},
            }
        },
    }
    get, post = operations(DocumentNode.of("d", document))

    assert declared_origins(get, {}) == {("https", "one.x", 443), ("http", "two", 81)}
    assert declared_origins(get, {"d": {"n": "other"}}) == {
        ("https", "other.x", 443),
        ("http", "two", 81),
    }
    assert declared_origins(post, {}) == {("http", "root", 80)}


def test_a_value_is_for_one_document() -> None:
    """Another one that has a variable of that name keeps its own default."""
    configured = {"other": {"host": "other.example"}}

    assert base_url(_tool("https://{host}/v1", host="own.example"), configured) == (
        "https://own.example/v1"
    )


@pytest.mark.parametrize("server", ["https://h/v1#f", "https://h/v1?x=1", "https://h?", "//h/#"])
def test_a_server_that_would_swallow_the_path_is_refused(server: str) -> None:
    """A path cannot follow a query or a fragment; neither is quoted, for it may hold a token."""
    with pytest.raises(EgressRefused, match="query or a fragment") as refused:
        base_url(_tool(server), {})
    assert "x=1" not in str(refused.value)


def test_a_value_outside_its_enum_is_refused() -> None:
    """The document says which there are; the sentence says them, and not the value."""
    variable = {"default": "eu", "enum": ["eu", "us"]}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "https://{region}.example.com", "variables": {"region": variable}}],
        "paths": {"/a": {"get": {}}},
    }
    (get,) = operations(DocumentNode.of("d", document))

    assert declared_origins(get, {"d": {"region": "us"}}) == {("https", "us.example.com", 443)}
    with pytest.raises(UsageError, match="one of eu, us") as refused:
        declared_origins(get, {"d": {"region": "staging-5"}})
    assert "staging-5" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("HTTP://API.Example.com/x", ("http", "api.example.com", 80)),
        ("https://h:8443", ("https", "h", 8443)),
        ("https://h:notaport", None),
        ("//h/x", None),
    ],
)
def test_origins(url: str, origin: tuple[str, str, int] | None) -> None:
    """Scheme, host and port; case does not matter."""
    assert origin_of(url) == origin
