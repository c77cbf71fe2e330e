"""Webhooks, as Standard Webhooks signs them. What this must never do: read a body before its signature has been checked."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from . import api

# How far the time of a post may be from now, in seconds.
TOLERANCE = 5 * 60


class WebhookRefused(Exception):
    """A post that must not be believed: answer it with `status`."""

    def __init__(self, reason: str, status: int = 401) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True)
class Post:
    """A post that is genuine. Deal with each `id` once: it is the same over all tries."""

    id: str
    event: api.Event


def verify_webhook(secrets: Iterable[str], headers: Mapping[str, str], body: bytes, now: float | None = None) -> Post:
    """Checks a post: signed with one of `secrets` (`whsec_...`), and at most five minutes old.

    `headers` are those of the request, in lower case or in a mapping that does not care; `body` is the bytes as they came,
    before anything has parsed them; `now` is in seconds since 1970. Raises `WebhookRefused`.
    """
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    id, timestamp, signatures = (headers.get(name) for name in names)
    if not (id and timestamp and signatures):
        raise WebhookRefused("a header is missing")
    if not (timestamp.isascii() and timestamp.isdecimal() and len(timestamp) <= 12):
        raise WebhookRefused("the timestamp is not one")
    if abs((time.time() if now is None else now) - int(timestamp)) > TOLERANCE:
        raise WebhookRefused("the post is too old, or of the future")

    signed = f"{id}.{timestamp}.".encode() + body
    given = [_decoded(one[3:]) for one in signatures.split(" ") if one.startswith("v1,")]
    keys = [_key(secret) for secret in secrets]
    expected = [hmac.digest(key, signed, hashlib.sha256) for key in keys]
    if not any(hmac.compare_digest(one, wanted) for one in given for wanted in expected):
        raise WebhookRefused("no signature fits")
    try:
        return Post(id, json.loads(body))
    except ValueError:
        raise WebhookRefused("the body is no event", 422) from None


def _key(secret: str) -> bytes:
    key = _decoded(secret.removeprefix("whsec_")) if secret.startswith("whsec_") else b""
    if len(key) < 24:
        raise ValueError("a webhook secret is `whsec_` and the base64 of at least 24 bytes")
    return key


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
