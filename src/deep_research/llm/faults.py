"""A failed call → the error of ours that says what to do about it, by status and never by the message's words."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from deep_research.errors import CallFailed, ModelBusy, ModelError, ModelRefused, NetworkError
from deep_research.llm.address import host_of
from deep_research.llm.vendor import Endpoint, Fault
from deep_research.request import Spend

_BUSY: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
# What a server answers when it does not take a request as it is asked.
UNTAKEN: Final = frozenset({400, 422})


def error_of(fault: Fault, endpoint: Endpoint, spend: Spend) -> CallFailed:
    """Return the error for a failed call; it holds neither key nor prompt nor what the server wrote."""
    status, name = fault.status, endpoint.name
    if status is None:
        return NetworkError(f"The connection to {name} at {host_of(endpoint.address)} failed.", spend=spend)
    if status in _BUSY:
        wait_s = retry_after_s(fault.headers) if fault.retry_after_s is None else fault.retry_after_s
        return ModelBusy(f"{name} is overloaded (status {status}).", spend=spend, retry_after_s=wait_s)
    remedy = _remedy(status, endpoint)
    if remedy:
        return ModelRefused(f"{name} refuses every call (status {status}): {remedy}", spend=spend)
    return ModelError(f"{name} did not take the request (status {status}).", spend=spend)


def _remedy(status: int, endpoint: Endpoint) -> str:
    provider = endpoint.provider
    key = f"the key in {provider.key_variable}" if provider.key_variable else "its access rights"
    address = f"the setting {provider.setting}_address"
    models = "the settings thinking_model and task_model"
    if 300 <= status < 400:
        return f"the server sends callers elsewhere; check {address}."
    return {
        401: f"check {key}.",
        402: "the account has no credit left.",
        403: f"check {key}, and whether it may use this model.",
        404: f"there is no such model or address; check {models}, and {address}.",
    }.get(status, "")


def retry_after_s(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Return how many seconds a server asks to wait, given in milliseconds, seconds or as a date."""
    given = {name.lower(): value.strip() for name, value in headers.items()}
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            wait_s = float(given[name]) * unit_s
        except (KeyError, ValueError):
            continue
        # Also where it is not a number or has no end.
        return wait_s if 0 <= wait_s < float("inf") else None
    try:
        until = parsedate_to_datetime(given["retry-after"])
    except (KeyError, ValueError):
        return None
    # A date without a zone is meant as UTC (RFC 9110).
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - (now or datetime.now(UTC))).total_seconds())
