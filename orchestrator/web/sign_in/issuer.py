"""The issuer that people sign in at: OpenID Connect's code flow with PKCE, by authlib."""

import asyncio
import hmac
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, Any, Final

import httpx2
from authlib.integrations.base_client import OAuthError  # type: ignore[import-untyped]
from authlib.integrations.httpx_client import AsyncOAuth2Client  # type: ignore[import-untyped]
from authlib.oidc.core import CodeIDToken  # type: ignore[import-untyped]
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from pydantic import AfterValidator, BaseModel, TypeAdapter, ValidationError

from orchestrator.adapters.access_tokens import ALGORITHMS, LEEWAY_S, is_secure
from orchestrator.adapters.secrets import SecretStore
from orchestrator.web.config import SignInConfig
from orchestrator.web.problem_details import ProblemError

CALLBACK: Final = "/sign-in/callback"
SIGNED_OUT: Final = "/signed-out"
_FRESH_S: Final = 300.0
_PAUSE_S: Final = 2.0
"""Without a new try after an issuer gave no metadata."""
_MOST_BYTES: Final = 1_000_000
_Object: Final = TypeAdapter(dict[str, Any])


def _secure(url: str) -> str:
    if not is_secure(url):
        raise ValueError("an endpoint has to be an https URL")
    return url


Endpoint = Annotated[str, AfterValidator(_secure)]


class IssuerMetadata(BaseModel):
    """What this service uses of an issuer's description of itself (OpenID Connect Discovery)."""

    issuer: str
    authorization_endpoint: Endpoint
    token_endpoint: Endpoint
    jwks_uri: Endpoint
    userinfo_endpoint: Endpoint | None = None
    end_session_endpoint: Endpoint | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)
    id_token_signing_alg_values_supported: tuple[str, ...] = ("RS256",)


class Metadata:
    """The current metadata of an issuer (its URL), fetched again every five minutes."""

    def __init__(
        self,
        issuer: str,
        *,
        proxy: str | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.issuer = issuer
        self._proxy = proxy
        self._transport = transport
        self._clock = clock
        self._kept: IssuerMetadata | None = None
        self._kept_at = 0.0
        self._failed: tuple[float, ProblemError] | None = None
        self._asking = asyncio.Lock()

    @property
    def http_options(self) -> dict[str, Any]:
        """The options of HTTP clients that call this issuer."""
        return {
            "timeout": 5.0,
            "trust_env": False,
            "follow_redirects": False,
            "proxy": self._proxy,
            "transport": self._transport,
        }

    async def current(self) -> IssuerMetadata:
        """Return the metadata; ProblemError: the issuer does not give it, or not its own."""
        async with self._asking:
            if self._kept is not None and self._clock() - self._kept_at < _FRESH_S:
                return self._kept
            # An issuer that hangs must not make people wait in turn, each for a timeout.
            if self._failed is not None and self._clock() - self._failed[0] < _PAUSE_S:
                raise self._failed[1]
            try:
                self._kept = await self._fetch()
            except ProblemError as problem:
                self._failed = (self._clock(), problem)
                raise
            self._kept_at = self._clock()
            return self._kept

    async def keys(self) -> bytes:
        """Return the JWK set of the issuer as it is now."""
        return await self.get((await self.current()).jwks_uri)

    async def get(self, url: str, *, bearer: str = "") -> bytes:
        """Return what a URL of the issuer answers with 200, else raise ProblemError."""
        headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        body = b""
        try:
            async with (
                httpx2.AsyncClient(**self.http_options) as http,
                http.stream("GET", url, headers=headers) as answer,
            ):
                if answer.status_code != HTTPStatus.OK:
                    raise unavailable(f"it answers HTTP {answer.status_code}")
                async for chunk in answer.aiter_bytes():
                    body += chunk
                    if len(body) > _MOST_BYTES:
                        raise unavailable("its answer is too long")
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise unavailable(type(error).__name__) from error
        return body

    async def _fetch(self) -> IssuerMetadata:
        read = await self.get(f"{self.issuer}/.well-known/openid-configuration")
        try:
            found = IssuerMetadata.model_validate_json(read)
        except ValidationError as error:
            raise unavailable("its metadata cannot be used") from error
        if found.issuer.rstrip("/") != self.issuer:
            raise unavailable("its metadata is of another issuer")
        return found


@dataclass(frozen=True)
class Issuer:
    """Sends people to the issuer, and checks what they bring back to the `url` of this service.

    The key derives nonce and code verifier from the state, so that no cookie has them.
    """

    config: SignInConfig
    metadata: Metadata
    url: str
    secrets: SecretStore
    key: bytes = field(repr=False)

    async def sign_in_url(self, state: str, *, max_age: int | None) -> str:
        """Return the address at the issuer where a person signs in."""
        metadata = await self.metadata.current()
        fresh = {} if max_age is None else {"max_age": max_age, "prompt": "login"}
        async with self._client(metadata) as client:
            url, _ = client.create_authorization_url(
                metadata.authorization_endpoint,
                state=state,
                nonce=self._derived("nonce", state),
                code_verifier=self._derived("verifier", state),
                **fresh,
            )
        return str(url)

    async def claims(self, code: str, state: str, *, auth_after: float | None) -> Mapping[str, Any]:
        """Exchange a code; return the claims of the person, from a checked ID token.

        Args:
            code: that the issuer gave to the person's browser.
            state: of this sign-in.
            auth_after: the person has to have proved who they are since then, in seconds since
                1970; None for at any time.
        """
        metadata = await self.metadata.current()
        async with self._client(metadata) as client:
            try:
                token = await client.fetch_token(
                    metadata.token_endpoint,
                    grant_type="authorization_code",
                    code=code,
                    code_verifier=self._derived("verifier", state),
                )
            except OAuthError as error:
                raise refused("the issuer refused the code") from error
            except (httpx2.HTTPError, ValueError, KeyError) as error:
                raise unavailable(type(error).__name__) from error
        claims = await self._checked(metadata, token, state)
        auth_time = claims.get("auth_time")
        if auth_after is not None and not (
            isinstance(auth_time, int | float) and auth_time >= auth_after - LEEWAY_S
        ):
            raise refused("the issuer did not ask the person to sign in again")
        # Some claims an issuer gives at its user info endpoint alone.
        wanted = (self.config.groups_claim, "email")
        endpoint, access = metadata.userinfo_endpoint, token.get("access_token")
        if endpoint is None or not access or all(name in claims for name in wanted):
            return claims
        try:
            more = _Object.validate_json(await self.metadata.get(endpoint, bearer=str(access)))
        except ValidationError as error:
            raise unavailable("its user info cannot be read") from error
        if more.get("sub") != claims["sub"]:
            raise refused("the issuer's user info is of another person")
        return {**more, **claims}

    async def end_session_url(self) -> str | None:
        """Return the address at the issuer that ends a person's session there; None without one."""
        try:
            endpoint = (await self.metadata.current()).end_session_endpoint
        except ProblemError:
            endpoint = None
        if endpoint is None:
            return None
        here, client_id = f"{self.url}{SIGNED_OUT}", self.config.client_id
        back = {"client_id": client_id, "post_logout_redirect_uri": here}
        return str(httpx2.URL(endpoint).copy_merge_params(back))

    def _client(self, metadata: IssuerMetadata) -> AsyncOAuth2Client:
        secret = self.config.client_secret
        methods = metadata.token_endpoint_auth_methods_supported
        in_header = "client_secret_basic" in methods or "client_secret_post" not in methods
        method = "client_secret_basic" if in_header else "client_secret_post"
        return AsyncOAuth2Client(
            client_id=self.config.client_id,
            client_secret=None if secret is None else self.secrets.get(secret),
            token_endpoint_auth_method="none" if secret is None else method,
            scope=" ".join(self.config.scopes),
            redirect_uri=f"{self.url}{CALLBACK}",
            code_challenge_method="S256",
            **self.metadata.http_options,
        )

    async def _checked(
        self, metadata: IssuerMetadata, token: Mapping[str, Any], state: str
    ) -> dict[str, Any]:
        """Return the claims of an ID token after checking all of it."""
        stated = metadata.id_token_signing_alg_values_supported
        algorithms = [one for one in ALGORITHMS if one in stated]
        keys = await self.metadata.keys()
        try:
            decoded = jwt.decode(
                str(token["id_token"]),
                KeySet.import_key_set(_Object.validate_json(keys)),  # type: ignore[arg-type]
                algorithms=algorithms,
            )
            CodeIDToken(
                decoded.claims,
                decoded.header,
                {
                    "iss": {"essential": True, "value": metadata.issuer},
                    "aud": {"essential": True, "value": self.config.client_id},
                },
                {
                    "nonce": self._derived("nonce", state),
                    "client_id": self.config.client_id,
                    "access_token": token.get("access_token"),
                },
            ).validate(leeway=LEEWAY_S)
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise refused("the issuer's ID token is not valid") from error
        return dict(decoded.claims)

    def _derived(self, purpose: str, state: str) -> str:
        return hmac.new(self.key, f"{purpose} {state}".encode(), "sha256").hexdigest()


def unavailable(reason: str) -> ProblemError:
    """Return the problem of an issuer that does not do its part."""
    return ProblemError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        f"nobody can sign in now: the issuer is not available ({reason}); try again in a minute",
        code="IssuerUnavailable",
        headers={"Retry-After": "30"},
    )


def refused(reason: str) -> ProblemError:
    """Return the problem of a sign-in that failed."""
    return ProblemError(
        HTTPStatus.FORBIDDEN, f"the sign-in failed: {reason}; sign in again", code="SignInFailed"
    )
