"""Who is calling: checks the access token that comes with every request. (The SDK answers without one, and says where to get
one. It also keeps the sessions of the legacy era apart by user.)

What this must never do: pass a token on to a third party, or take one that was issued for somebody else.
"""

import asyncio
from urllib.parse import urlsplit

import httpx2
import jwt
from mcp.server.auth.provider import AccessToken, TokenVerifier


class Door(TokenVerifier):
    """RFC 9068: signed by the authorization server, meant for this very server, an access token, alive."""

    def __init__(self, issuer: str, resource: str, keys: jwt.PyJWKClient) -> None:
        self._issuer, self._resource, self._keys = issuer, resource, keys

    @classmethod
    async def open(cls, issuer: str, resource: str) -> "Door":
        """Asks the authorization server for its metadata (RFC 8414)."""
        parts = urlsplit(issuer)
        path = parts.path.rstrip("/")
        well_known = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-authorization-server{path}"
        async with httpx2.AsyncClient(timeout=10, trust_env=False) as http:
            metadata = (await http.get(well_known)).raise_for_status().json()
        if metadata["issuer"] != issuer:
            raise SystemExit(f"{well_known} is of another issuer")
        return cls(issuer, resource, jwt.PyJWKClient(metadata["jwks_uri"], timeout=10))

    async def verify_token(self, token: str) -> AccessToken | None:
        # Fetching keys would block every other request.
        claims = await asyncio.to_thread(self._verified, token)
        if claims is None:
            return None
        return AccessToken(
            token=token,
            client_id=str(claims.get("client_id") or claims.get("azp") or ""),
            scopes=str(claims.get("scope", "")).split(),
            expires_at=claims["exp"],
            resource=self._resource,
            subject=claims["sub"],
            claims={"iss": self._issuer},
        )

    def _verified(self, token: str) -> dict | None:
        try:
            kind = jwt.get_unverified_header(token).get("typ")
            if kind not in ("at+jwt", "application/at+jwt"):
                return None
            key = self._keys.get_signing_key_from_jwt(token)
            return jwt.decode(
                token,
                key,
                algorithms=["RS256", "ES256"],
                issuer=self._issuer,
                audience=self._resource,
                options={"require": ["exp", "sub", "iss", "aud"]},
            )
        except jwt.PyJWTError:
            return None
