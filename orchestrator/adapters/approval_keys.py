"""Keys of signed decisions: public ones from a file or a URL, private ones in files."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from orchestrator.adapters.storage.files import create_file
from orchestrator.confirmation.signatures import PublicKeys, SigningKey, read_public_keys
from orchestrator.core.errors import DocumentUnreadable, ServiceUnavailable, UsageError
from orchestrator.core.shown_text import address_shown

FRESH_S = 300.0
"""Seconds after which keys of a URL are fetched again."""
STALE_S = 3_600.0
"""Seconds after which keys are no longer used if the URL fails; then nothing is approved."""
_PAUSE_S = 10.0
"""Seconds between two tries of a URL that fails."""
_TIMEOUT_S = 3.0
"""Shorter than the pause between two heartbeats that an activity is allowed."""
_MOST_BYTES = 262_144


class ApprovalKeys:
    """The current content of a JWK set.

    A file is read each time. A URL is fetched every five minutes; when it fails, its last keys
    are used for an hour.
    """

    def __init__(
        self,
        source: str,
        *,
        proxy: str | None = None,
        http: httpx.AsyncClient | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take a path or an https URL; nothing is read yet. The clock is in seconds.

        Raises:
            UsageError: it is a URL, and not https.
        """
        if "://" in source and not source.startswith("https://"):
            raise UsageError(
                f"approval keys come from a file or an https URL, not {address_shown(source)}"
            )
        self.source = source
        self._proxy = proxy
        self._http = http
        self._clock = clock
        self._kept: PublicKeys | None = None
        self._kept_at = self._asked_at = -STALE_S
        self._why = "it was not asked yet"
        self._asking = asyncio.Lock()

    @property
    def is_url(self) -> bool:
        """True if the keys come over the network."""
        return "://" in self.source

    def check(self) -> None:
        """Read a file once, so that a wrong one fails a worker's start; a URL may come later.

        Raises:
            UsageError: the file has no usable keys.
        """
        if not self.is_url:
            try:
                self._of_file()
            except (OSError, UsageError) as error:
                raise UsageError(f"ORCHESTRATOR_APPROVAL_KEYS: {error}") from error

    async def current(self) -> PublicKeys:
        """Return the current keys.

        Raises:
            ServiceUnavailable: as ApprovalKeysUnavailable: there are none that may be used now.
        """
        if not self.is_url:
            try:
                return await asyncio.to_thread(self._of_file)
            except (OSError, UsageError) as error:
                raise self._unavailable(str(error)) from error
        async with self._asking:
            now = self._clock()
            if now - self._kept_at >= FRESH_S and now - self._asked_at >= _PAUSE_S:
                self._asked_at = now
                try:
                    self._kept = read_public_keys(await self._fetch(), address_shown(self.source))
                    self._kept_at = now
                except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, UsageError) as error:
                    quotes_url = isinstance(error, httpx.InvalidURL)
                    self._why = (
                        type(error).__name__ if quotes_url else str(error) or type(error).__name__
                    )
            if self._kept is None or now - self._kept_at >= STALE_S:
                raise self._unavailable(self._why)
            return self._kept

    def _of_file(self) -> PublicKeys:
        return read_public_keys(Path(self.source).read_bytes(), self.source)

    def _unavailable(self, reason: str) -> ServiceUnavailable:
        source = address_shown(self.source)
        text = f"the approval keys of {source} are not available: {reason}"
        return ServiceUnavailable(text, code="ApprovalKeysUnavailable")

    async def _fetch(self) -> bytes:
        if self._http is not None:
            return await _body(self._http, self.source)
        async with httpx.AsyncClient(proxy=self._proxy, trust_env=False) as http:
            return await _body(http, self.source)


async def _body(http: httpx.AsyncClient, url: str) -> bytes:
    """Fetch a URL, up to the size of any real key set, without following redirects."""
    async with asyncio.timeout(_TIMEOUT_S), http.stream("GET", url) as answer:
        if answer.status_code != httpx.codes.OK:
            raise httpx.HTTPError(f"it answers HTTP {answer.status_code}")
        body = b""
        async for chunk in answer.aiter_bytes():
            body += chunk
            if len(body) > _MOST_BYTES:
                raise httpx.HTTPError("its answer is too long for a JWK set")
        return body


def load_signing_key(path: Path) -> SigningKey:
    """Return the private key of a PEM or JWK file.

    Raises:
        DocumentUnreadable: the file is missing, or has no key that can sign a decision.
    """
    try:
        return SigningKey.read(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, UsageError) as error:
        raise DocumentUnreadable(str(path), str(error).splitlines()[0]) from error


def write_signing_key(path: Path, text: str) -> None:
    """Write a private key to a new private file.

    Raises:
        UsageError: the file exists, or cannot be written.
    """
    try:
        is_new = create_file(path, text.encode())
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    if not is_new:
        raise UsageError(f"{path} exists; a key that is replaced can sign nothing any more")
