"""Send webhooks by the Standard Webhooks specification: signed, without redirects, to one host."""

import asyncio
from collections.abc import Iterable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final

import httpx
from standardwebhooks import Webhook
from standardwebhooks.webhooks import EmptyWebhookSecretError

from orchestrator.adapters.http.destinations import (
    DEFAULT_PORTS,
    AddressPolicy,
    AddressRefused,
    OnlyHosts,
)
from orchestrator.adapters.http.refusal import wait_s
from orchestrator.adapters.http.transport import HTTPX_ERRORS, CheckedTransport, fault_of
from orchestrator.adapters.notices.notice_rules import WebhookChannel
from orchestrator.adapters.secrets import SecretStore, value_for, wire_logs_dropped
from orchestrator.core.errors import NoticeUndelivered

ANSWER_S: Final = 15.0
"""The time for a receiver to answer, as the specification recommends: 15 to 30 s."""
_LONGEST_WAIT_S: Final = 3600.0


class WebhookSender:
    """Sends signed webhooks; every request is checked for its host and its address."""

    def __init__(
        self,
        secrets: SecretStore,
        *,
        allowed_private_hosts: Iterable[str] = (),
        proxy: str | None = None,
        answer_s: float = ANSWER_S,
    ) -> None:
        self._secrets = secrets
        self._allowed = tuple(allowed_private_hosts)
        self._proxy = proxy
        self._answer_s = answer_s

    async def send(self, name: str, channel: WebhookChannel, message_id: str, body: bytes) -> None:
        """Send one webhook.

        Raises:
            NoticeUndelivered: the receiver did not confirm it.
            SecretMissing: this worker has no value for one of the channel's secrets.
        """
        now = datetime.now(UTC)
        signatures = []
        for secret in channel.secrets:
            signer = signer_of(name, secret, value_for(self._secrets, secret, channel.host))
            signatures.append(signer.sign(message_id, now, body.decode()))
        headers = {
            "content-type": "application/json",
            "user-agent": "orchestrator-notices",
            "webhook-id": message_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": " ".join(signatures),
        }
        url = httpx.URL(channel.webhook)
        host = f"[{url.host}]" if ":" in url.host else url.host
        only = OnlyHosts((f"{host}:{url.port or DEFAULT_PORTS[url.scheme]}",))
        transport = CheckedTransport(AddressPolicy(self._allowed), proxy=self._proxy, only=only)
        try:
            with wire_logs_dropped():
                async with (
                    asyncio.timeout(self._answer_s),
                    httpx.AsyncClient(
                        transport=transport, timeout=self._answer_s, trust_env=False
                    ) as http,
                    http.stream("POST", channel.webhook, content=body, headers=headers) as response,
                ):
                    _check(name, channel.host, response)
        except TimeoutError:
            why = f"{channel.host} has not answered within {self._answer_s:g} s"
            raise NoticeUndelivered(name, why) from None
        except AddressRefused as refused:
            why = f"{refused}; {refused.remedy}"
            raise NoticeUndelivered(name, why, final=True) from None
        except HTTPX_ERRORS as error:
            raise NoticeUndelivered(name, f"{channel.host}: {fault_of(error).value}") from None


def signer_of(channel: str, secret: str, value: str) -> Webhook:
    """Return the signer with a secret's value.

    Raises:
        NoticeUndelivered: the value is no secret by the specification; it is not quoted.
    """
    try:
        return Webhook(value)
    except (ValueError, RuntimeError, EmptyWebhookSecretError):
        why = f"the value of the secret {secret} is not whsec_ followed by base64"
        raise NoticeUndelivered(channel, why, final=True) from None


def _check(name: str, host: str, response: httpx.Response) -> None:
    status = response.status_code
    if response.is_success:
        return
    why = f"{host} answered {status}"
    if status == HTTPStatus.GONE:
        raise NoticeUndelivered(name, f"{why}: it is gone", final=True, gone=True)
    if 300 <= status < 400:
        raise NoticeUndelivered(name, f"{why}, a redirect, which is not followed", final=True)
    raise NoticeUndelivered(name, why, retry_after_s=retry_after_s(response.headers))


def retry_after_s(headers: httpx.Headers) -> float | None:
    """Return the wait that a receiver asks for, at most an hour; None if it asks for none."""
    asked = wait_s(headers.get("retry-after", ""), datetime.now(UTC))
    return None if asked is None else min(asked, _LONGEST_WAIT_S)
