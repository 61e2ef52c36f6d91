"""An OpenID issuer on this machine: oidc-provider-mock, which here enforces PKCE as well.

`python -m tests.oidc_issuer PORT` serves it until it is killed. `PUT /users/SUB` sets the claims of
a user, which replace those of the ID token: a test can have it issued for another audience, too.
"""

import base64
import hashlib
import io
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs, urlsplit

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import oidc_provider_mock  # type: ignore[import-untyped]
from werkzeug.serving import make_server

Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Pkce:
    """WSGI middleware that compares each code's verifier with its challenge (RFC 7636)."""

    def __init__(self, app: Wsgi) -> None:
        self._app = app
        self._challenges: dict[str, str] = {}

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer a request."""
        if environ["PATH_INFO"] == "/oauth2/token" and not self._is_proved(environ):
            headers = [("Content-Type", "application/json")]
            start_response("400 Bad Request", headers)
            return [b'{"error": "invalid_grant"}']
        challenge = parse_qs(environ["QUERY_STRING"]).get("code_challenge", [""])[0]

        def started(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            query = urlsplit(dict(headers).get("Location", "")).query
            for code in parse_qs(query).get("code", []):
                self._challenges[code] = challenge
            return start_response(status, headers, *more)

        return self._app(environ, started)

    def _is_proved(self, environ: dict[str, Any]) -> bool:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        sent = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        challenge = self._challenges.get(sent.get("code", ""), "")
        digest = hashlib.sha256(sent.get("code_verifier", "").encode()).digest()
        return not challenge or base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == challenge


def main() -> None:
    """Serve an issuer."""
    warnings.simplefilter("ignore")
    app = oidc_provider_mock.app(require_nonce=False)
    make_server("127.0.0.1", int(sys.argv[1]), Pkce(app), threaded=True).serve_forever()


if __name__ == "__main__":
    main()
