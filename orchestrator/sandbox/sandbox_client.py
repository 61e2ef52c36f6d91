"""HTTP client of a running sandbox: reads its ledger and plans its faults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import httpx

from orchestrator.sandbox.faults import RULES, FaultRule
from orchestrator.sandbox.served_schemas import JsonObject

_KEPT_OPEN_S = 2.0
"""Shorter than the five seconds after which the sandbox closes an idle connection."""


class SandboxClient:
    """Client of the endpoints under /_sandbox; results are plain JSON.

    Example:
        async with SandboxClient("http://127.0.0.1:8700") as sandbox:
            assert await sandbox.live("m-7f3a") == []
    """

    def __init__(
        self, base_url: str, *, timeout_s: float = 10.0, keeps_connections: bool = True
    ) -> None:
        """Take the sandbox's address.

        Args:
            base_url: without the path of its control endpoints.
            timeout_s: of each request, in seconds.
            keeps_connections: False closes the connection after each request.
        """
        limits = httpx.Limits(
            max_keepalive_connections=None if keeps_connections else 0,
            keepalive_expiry=_KEPT_OPEN_S,
        )
        # trust_env: a proxy of the environment must not intercept loopback requests.
        self._http = httpx.AsyncClient(
            base_url=f"{base_url.rstrip('/')}/_sandbox",
            timeout=timeout_s,
            limits=limits,
            trust_env=False,
        )

    async def health(self) -> bool:
        """Return True when the sandbox answers."""
        return bool((await self._get("/health"))["healthy"])

    async def ledger(self, mission_id: str | None = None) -> list[JsonObject]:
        """Return every effect, oldest first."""
        return list((await self._get("/ledger", mission_id))["effects"])

    async def requests(self, mission_id: str | None = None) -> list[JsonObject]:
        """Return every request that reached an operation, oldest first."""
        return list((await self._get("/ledger", mission_id))["requests"])

    async def live(self, mission_id: str | None = None) -> list[JsonObject]:
        """Return the live obligations."""
        return list((await self._get("/live", mission_id))["live"])

    async def duplicates(self, mission_id: str | None = None) -> list[JsonObject]:
        """Return the calls that had their effect more than once."""
        return list((await self._get("/duplicates", mission_id))["duplicates"])

    async def set_faults(self, rules: Sequence[FaultRule], *, seed: int | None = None) -> None:
        """Replace the planned faults."""
        plan = {"seed": seed, "rules": RULES.dump_python(list(rules), mode="json")}
        (await self._http.put("/faults", json=plan)).raise_for_status()

    async def faults(self, request_prefix: str = "") -> JsonObject:
        """Return the planned faults of a prefix, or all, and how often each rule struck."""
        return await self._get("/faults", request_prefix=request_prefix)

    async def clear_faults(self) -> None:
        """Remove all planned faults."""
        (await self._http.delete("/faults")).raise_for_status()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _get(
        self, path: str, mission_id: str | None = None, *, request_prefix: str = ""
    ) -> JsonObject:
        given = {"mission": mission_id, "request_prefix": request_prefix}
        params = {name: value for name, value in given.items() if value}
        response = await self._http.get(path, params=params)
        response.raise_for_status()
        found: JsonObject = response.json()
        return found
