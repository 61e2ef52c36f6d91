"""The MCP servers of an installation: an address or a command, credentials, allowed tools."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from orchestrator.adapters.secrets import SecretStore, value_for
from orchestrator.core.errors import UsageError

_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,39}$")]
_SecretName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,99}$")]


class SecretText(BaseModel):
    """A text that ends with a secret, such as `Bearer` and a token."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    secret: _SecretName
    """The secret's name; see `EnvironmentSecrets`."""
    prefix: str = ""
    """Precedes the secret, with its blank: `Bearer `."""


class McpServer(BaseModel):
    """A server whose tools are called: `url` for streamable HTTP, `command` for stdio.

    ```yaml
    - name: rooms
      url: https://rooms.example.com/mcp
      headers: {Authorization: {secret: rooms_token, prefix: "Bearer "}}
      tools: [book_room, cancel_room]
      overlay: rooms-overlay.yaml
    - name: files
      command: [npx, -y, "@modelcontextprotocol/server-filesystem", /srv/files]
    ```
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: _Name
    """The name of its document, and so of the tools' domain."""
    url: str | None = Field(default=None, pattern=r"^https?://[^\s@#]+$")
    command: tuple[str, ...] = ()
    """The program and its arguments; no shell reads them."""
    headers: dict[str, str | SecretText] = Field(default_factory=dict)
    """Sent with each request over HTTP."""
    env: dict[str, str | SecretText] = Field(default_factory=dict)
    """All variables that a command gets, except for PATH, HOME and LANG."""
    cwd: Path | None = None
    """The folder in which a command runs."""
    tools: tuple[str, ...] = ()
    """The tools that may be called, by the server's own names; none named: all."""
    overlay: Path | None = None
    """An OpenAPI Overlay over the document of its tools."""

    @model_validator(mode="after")
    def _check_transport(self) -> Self:
        if (self.url is None) == (not self.command):
            raise ValueError(f"{self.name} needs either a url or a command")
        if self.url is None and self.headers:
            raise ValueError(f"{self.name} has headers, which a command does not get: use env")
        if self.url is not None and (self.env or self.cwd):
            raise ValueError(f"{self.name} has env or cwd, which are of a command")
        return self

    @property
    def host(self) -> str:
        """The host to which its secrets go; empty for a command."""
        return (self.url or "").partition("://")[2].partition("/")[0].partition(":")[0]


class Resolved(BaseModel):
    """Texts with their secrets, and the secrets alone, to be hidden in answers."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    texts: dict[str, str] = Field(repr=False)
    secrets: dict[str, str] = Field(repr=False)


def resolve_secrets(
    texts: Mapping[str, str | SecretText], secrets: SecretStore, host: str
) -> Resolved:
    """Return headers or variables with their secrets.

    Raises:
        SecretMissing: one is not configured, or not for this host.
    """
    found: dict[str, str] = {}
    used: dict[str, str] = {}
    for name, text in texts.items():
        if isinstance(text, str):
            found[name] = text
            continue
        value = used[text.secret] = value_for(secrets, text.secret, host)
        found[name] = f"{text.prefix}{value}"
    return Resolved(texts=found, secrets=used)


def by_name(servers: Sequence[McpServer]) -> dict[str, McpServer]:
    """Return servers by name, or raise UsageError: two have one name."""
    found: dict[str, McpServer] = {}
    for server in servers:
        if found.setdefault(server.name, server) is not server:
            raise UsageError(f"two MCP servers are called {server.name!r}: rename one")
    return found
