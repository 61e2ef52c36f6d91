"""Where requests may go: only to declared hosts, and only to addresses that may be called."""

import asyncio
import datetime
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from orchestrator.adapters.http.tool_client import ToolClient
from orchestrator.catalog.catalog import Catalog
from orchestrator.core.errors import ArgumentsInvalid, EgressRefused, TransportFailed
from orchestrator.saga.outcome import ToolOutcome
from tests.fakes import MemoryPii, MemorySecrets

Start = Callable[[Callable[..., Awaitable[None]]], Awaitable[int]]
BODY = b'{"ok": 1}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n" + BODY


def document(url: str) -> dict[str, Any]:
    """One read at one server."""
    schema = {"schema": {"type": "object"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": url}],
        "paths": {
            "/things/{thing}": {
                "get": {
                    "operationId": "thing_get",
                    "x-orchet-tool": True,
                    "parameters": [
                        {
                            "name": "thing",
                            "in": "path",
                            "required": True,
                            "schema": {"type": "string"},
                        }
                    ],
                    "responses": {
                        "200": {"description": "ok", "content": {"application/json": schema}}
                    },
                }
            }
        },
    }


async def get(url: str, thing: str = "1", **options: Any) -> ToolOutcome:
    """Call the one tool of a document with this server."""
    catalog = Catalog.from_documents({"doc": document(url)})
    async with ToolClient(secrets=MemorySecrets(), pii=MemoryPii(), **options) as client:
        return await client.call(
            catalog,
            catalog.tool("thing_get"),
            {"thing": thing},
            call_id="m.l.1",
            idempotency_key=None,
            timeout_s=3,
        )


class Resolver:
    """Names that lead where a test says, each answer of a name used once."""

    def __init__(self) -> None:
        self.answers: dict[str, list[list[str]]] = {}
        self.asked: list[str] = []

    async def getaddrinfo(self, host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
        self.asked.append(host)
        addresses = self.answers[host].pop(0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port)) for a in addresses]


@pytest.fixture
async def names(monkeypatch: pytest.MonkeyPatch) -> Resolver:
    resolver = Resolver()
    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolver.getaddrinfo)
    return resolver


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("0x7f.1", "loopback"),
        ("[::ffff:127.0.0.1]", "loopback"),
        ("169.254.169.254", "link-local"),
    ],
)
async def test_addresses_that_are_not_public_are_refused(
    provider: Any, host: str, kind: str
) -> None:
    """In every notation; the error says how to allow the host."""
    with pytest.raises(EgressRefused, match=kind) as refused:
        await get(f"http://{host}:{provider.port}")

    assert str(refused.value).endswith("add the host to ORCHESTRATOR_ALLOWED_PRIVATE_HOSTS")
    assert provider.seen == []


async def test_a_name_is_judged_by_where_it_leads(provider: Any, names: Resolver) -> None:
    """A public-looking name with a private address is refused."""
    names.answers["api.example.com"] = [["10.0.0.1", "127.0.0.1"]]

    with pytest.raises(EgressRefused, match=r"api\.example\.com leads to 10\.0\.0\.1"):
        await get(f"http://api.example.com:{provider.port}")

    assert provider.seen == []


async def test_the_address_that_was_looked_at_is_the_one_that_is_called(
    provider: Any, names: Resolver
) -> None:
    """A name that changes its mind is asked once: the connection goes to the checked address."""
    names.answers["box.example.com"] = [["127.0.0.1"], ["192.0.2.1"]]

    outcome = await get(
        f"http://box.example.com:{provider.port}", allowed_private_hosts=["box.example.com"]
    )

    assert outcome.kind == "succeeded"
    assert names.asked == ["box.example.com"]
    assert provider.seen[0].headers["host"] == f"box.example.com:{provider.port}"


async def test_a_rebound_name_is_refused_the_second_time(names: Resolver) -> None:
    """First public and silent, then private: each connection is judged anew."""
    names.answers["flip.example.com"] = [["192.0.2.1"], ["127.0.0.1"]]
    kinds = []

    for _ in range(2):
        with pytest.raises(EgressRefused) as refused:
            await get("http://flip.example.com")
        kinds.append(str(refused.value))

    assert "192.0.2.1" in kinds[0]
    assert "127.0.0.1" in kinds[1]


async def test_the_next_address_is_tried_when_one_does_not_answer(
    provider: Any, names: Resolver
) -> None:
    """A host with two addresses is up as long as one of them is."""
    names.answers["two.example.com"] = [["127.0.0.2", "127.0.0.1"]]

    outcome = await get(
        f"http://two.example.com:{provider.port}", allowed_private_hosts=["two.example.com"]
    )

    assert outcome.kind == "succeeded"


@pytest.mark.parametrize(
    "thing",
    [
        "..%2f..%2fadmin",
        "%2e%2e/admin",
        "@evil.example/x",
        "//evil.example/x",
        "http://evil.example/x",
        "1?admin=1",
        "1#x",
        "\\\\evil.example",
        "1;admin=1",
        " ",
    ],
)
async def test_arguments_cannot_steer_the_address(provider: Any, thing: str) -> None:
    """Whatever a path parameter holds, it is one segment of the declared path at the same host."""
    await get(f"http://127.0.0.1:{provider.port}/api", thing, allowed_private_hosts=["127.0.0.1"])

    target = provider.seen[0].target
    assert target.startswith("/api/things/")
    assert target.count("/") == 3
    assert not set(target) & set("?#@\\")


@pytest.mark.parametrize("thing", ["", ".", "..", "../../admin", "a/..", "..\\admin", "a/./b"])
async def test_segments_that_servers_resolve_are_refused(provider: Any, thing: str) -> None:
    """Dots are not encoded by anybody, and a slash that is may be decoded before it is resolved."""
    with pytest.raises(ArgumentsInvalid, match="cannot be part of a path"):
        await get(
            f"http://127.0.0.1:{provider.port}/api", thing, allowed_private_hosts=["127.0.0.1"]
        )

    assert provider.seen == []


async def test_a_name_that_leads_nowhere_was_called_by_nobody(names: Resolver) -> None:
    """DNS failure: the provider cannot have acted."""
    names.answers["gone.example.com"] = [[]]

    with pytest.raises(TransportFailed, match="name could not be resolved") as failure:
        await get("http://gone.example.com")

    assert failure.value.may_have_arrived is False


async def test_a_real_resolver_that_fails_is_told_too() -> None:
    """A name that the system refuses to resolve: `.invalid` never exists, a long label cannot."""
    for host in ("nothing.invalid", f"{'x' * 64}.example.com"):
        with pytest.raises(TransportFailed, match="name could not be resolved"):
            await get(f"http://{host}")


async def test_proxies_of_the_environment_are_not_used(
    provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HTTP_PROXY would decide unseen where credentials go."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    outcome = await get(f"http://127.0.0.1:{provider.port}", allowed_private_hosts=["127.0.0.1"])

    assert outcome.kind == "succeeded"


async def test_a_configured_proxy_is_used_with_its_credentials() -> None:
    """All calls go through it, by name: it resolves the host."""
    heads: list[bytes] = []

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(ANSWER)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(relay, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        outcome = await get("http://api.example.com/v1", proxy=f"http://user:pw@127.0.0.1:{port}")

    assert outcome.body == {"ok": 1}
    assert heads[0].startswith(b"GET http://api.example.com/v1/things/1 HTTP/1.1\r\n")
    assert b"\r\nProxy-Authorization: Basic dXNlcjpwdw==\r\n" in heads[0]


async def test_a_proxy_is_not_asked_for_an_address_that_is_not_public(raw_provider: Start) -> None:
    """A host that is written as an address needs no resolver to be judged."""
    asked = []

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(1)
        writer.write(ANSWER)

    port = await raw_provider(relay)
    with pytest.raises(EgressRefused, match="link-local"):
        await get("http://169.254.169.254/latest", proxy=f"http://127.0.0.1:{port}")

    assert asked == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 and tls.example.com, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    names = [
        x509.DNSName("tls.example.com"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    ]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture
async def tls_port(certificate: Path) -> AsyncIterator[int]:
    """A server that answers over TLS."""

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)
        await writer.drain()
        writer.close()

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    server = await asyncio.start_server(converse, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_a_certificate_that_nobody_vouches_for_stops_the_call(tls_port: int) -> None:
    """Nothing was sent: not even the path left."""
    with pytest.raises(TransportFailed, match="no secure connection") as failure:
        await get(f"https://127.0.0.1:{tls_port}", allowed_private_hosts=["127.0.0.1"])

    assert failure.value.may_have_arrived is False


async def test_certificates_that_the_environment_names_are_trusted(
    tls_port: int, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A company's own authority works; the name in the URL is what the certificate must name."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    outcome = await get(f"https://127.0.0.1:{tls_port}", allowed_private_hosts=["127.0.0.1"])

    assert outcome.body == {"ok": 1}


async def test_a_checked_address_is_asked_for_the_certificate_of_the_name(
    tls_port: int, certificate: Path, monkeypatch: pytest.MonkeyPatch, names: Resolver
) -> None:
    """Connecting to an address does not loosen whom the certificate must name."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    names.answers = {"tls.example.com": [["127.0.0.1"]], "other.example.com": [["127.0.0.1"]]}
    allowed = ["tls.example.com", "other.example.com"]

    right = await get(f"https://tls.example.com:{tls_port}", allowed_private_hosts=allowed)
    with pytest.raises(TransportFailed, match="no secure connection"):
        await get(f"https://other.example.com:{tls_port}", allowed_private_hosts=allowed)

    assert right.kind == "succeeded"


async def test_tls_to_a_server_that_speaks_none_never_arrived(provider: Any) -> None:
    """An https address of a plain server."""
    with pytest.raises(TransportFailed, match="no secure connection") as failure:
        await get(f"https://127.0.0.1:{provider.port}", allowed_private_hosts=["127.0.0.1"])

    assert failure.value.may_have_arrived is False
