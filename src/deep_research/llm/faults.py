"""A failed call → the error of ours that says what to do about it, by status and never by the message's words."""

from typing import Final

from deep_research.errors import CallFailed, ModelBusy, ModelError, ModelRefused, NetworkError
from deep_research.llm.address import is_local, place_of
from deep_research.llm.vendor import Endpoint, Fault
from deep_research.net.retry_after import retry_after_s
from deep_research.request import Spend

_BUSY: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
# What a server answers when it does not take a request as it is asked.
UNTAKEN: Final = frozenset({400, 422})


def error_of(fault: Fault, endpoint: Endpoint, spend: Spend) -> CallFailed:
    """Return the error for a failed call; it holds neither key nor prompt nor what the server wrote."""
    status, model = fault.status, endpoint.name
    if status is None:
        return _no_connection(endpoint, spend)
    if status in _BUSY:
        wait_s = retry_after_s(fault.headers) if fault.retry_after_s is None else fault.retry_after_s
        return ModelBusy(spend=spend, retry_after_s=wait_s).said("fault.busy", model=model, status=status)
    remedy, values = _remedy(status, endpoint)
    if remedy:
        return ModelRefused(spend=spend).said(f"fault.refused_{remedy}", model=model, status=status, **values)
    return ModelError(spend=spend).said("fault.not_taken", model=model, status=status)


def _no_connection(endpoint: Endpoint, spend: Spend) -> NetworkError:
    place = place_of(endpoint.address)
    if not is_local(endpoint.address):
        return NetworkError(spend=spend).said("fault.network", model=endpoint.name, place=place)
    setting = f"{endpoint.provider.setting}_address"
    return NetworkError(spend=spend).said("fault.network_local", model=endpoint.name, place=place, setting=setting)


def _remedy(status: int, endpoint: Endpoint) -> tuple[str, dict[str, str]]:
    """Return what is to be mended, and its names; "" where another call may still succeed."""
    provider = endpoint.provider
    address = {"setting": f"{provider.setting}_address"}
    if 300 <= status < 400:
        return "moved", address
    if status in (401, 403):
        return ("key", {"variable": provider.key_variable}) if provider.key_variable else ("access", {})
    return {402: ("credit", {}), 404: ("name", address)}.get(status, ("", {}))
