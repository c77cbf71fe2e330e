"""What this server is told by its environment."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    # The address of the MCP endpoint as its clients know it: the audience of their tokens.
    resource: str
    # The authorization server that issues those tokens.
    issuer: str
    # The scope that a token must have.
    scope: str
    # Consentry's internal listener, and this server's key for it.
    consentry_url: str
    consentry_api_key: str
    # How a client of the legacy era is asked: within the call ("request"), or by an error.
    prefer: str
    # GitHub's API.
    github: str
    # How long a call waits for the user, in seconds.
    patience: int

    @classmethod
    def of_environment(cls) -> "Settings":
        try:
            issuer, api_key = os.environ["ISSUER"], os.environ["CONSENTRY_API_KEY"]
        except KeyError as missing:
            raise SystemExit(f"{missing} is not set; README.md says what it is") from None
        return cls(
            resource=os.environ.get("RESOURCE", "http://127.0.0.1:4000/mcp"),
            issuer=issuer,
            scope=os.environ.get("SCOPE", "mcp"),
            consentry_url=os.environ.get("CONSENTRY_URL", "http://127.0.0.1:8081"),
            consentry_api_key=api_key,
            prefer=os.environ.get("PREFER", "request"),
            github=os.environ.get("GITHUB_API", "https://api.github.com"),
            patience=int(os.environ.get("PATIENCE", "600")),
        )
