"""The internal API of Consentry for an MCP server in Python: one call gives a tool the credential it needs, or the answer
that its client must get.

    async with Consentry("http://127.0.0.1:8081", api_key) as consentry:
        answer = await consentry.resolve({"provider": "github", "subject": {"sub": "alice"}, "client": {...}})
        match answer:
            case Ready(grants): ...                  # call the third party with grants[0].credential["use"]["headers"]
            case ActionRequired() | Refused(): ...   # hand answer.reply to the MCP client
"""

from . import api
from .client import ActionRequired, Consentry, ConsentryError, Grant, Ready, Received, Refused, Resolution
from .webhook import Post, WebhookRefused, verify_webhook

__all__ = [
    "ActionRequired",
    "Consentry",
    "ConsentryError",
    "Grant",
    "Post",
    "Ready",
    "Received",
    "Refused",
    "Resolution",
    "WebhookRefused",
    "api",
    "verify_webhook",
]
