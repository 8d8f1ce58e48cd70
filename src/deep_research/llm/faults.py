"""From a failed call to our own error, which says what to do about it; decided by status and code, never by words."""

from deep_research.errors import CallFailed, CreditSpent, ModelBusy, ModelError, ModelRefused, NetworkError
from deep_research.llm.address import display_host, is_local
from deep_research.llm.vendor import Fault, ModelEndpoint
from deep_research.request import Spend
from deep_research.web.net.retry_after import retry_after_s

_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})


def error_of(fault: Fault, endpoint: ModelEndpoint, spend: Spend) -> CallFailed:
    """Return the error for a failed call; it holds neither key nor prompt nor what the server wrote."""
    status, model = fault.status, endpoint.name
    if fault.flaw is not None:
        return ModelError(spend=spend).with_message(f"fault.{fault.flaw}", model=model)
    if status is None:
        host, setting = display_host(endpoint.address), {"setting": f"{endpoint.provider.setting}_address"}
        key, values = ("network_local", setting) if is_local(endpoint.address) else ("network", {})
        return NetworkError(spend=spend).with_message(f"fault.{key}", model=model, place=host, **values)
    remedy, values = _remedy(fault, endpoint)
    if remedy:
        refused = CreditSpent if remedy == "credit" or status == 402 else ModelRefused
        return refused(spend=spend).with_message(f"fault.refused_{remedy}", model=model, status=status, **values)
    if status in _BUSY:
        wait_s = retry_after_s(fault.headers) if fault.retry_after_s is None else fault.retry_after_s
        return ModelBusy(spend=spend, retry_after_s=wait_s).with_message("fault.busy", model=model, status=status)
    return ModelError(spend=spend).with_message("fault.not_taken", model=model, status=status)


def _remedy(fault: Fault, endpoint: ModelEndpoint) -> tuple[str, dict[str, str]]:
    """Return what the user has to correct, and its names; "" where another call may still succeed."""
    status, provider = fault.status or 0, endpoint.provider
    by_status = {401: "key", 402: "credit", 403: "key", 404: "name"}
    remedy = fault.remedy or ("moved" if 300 <= status < 400 else by_status.get(status, ""))
    if remedy in ("name", "moved"):
        return remedy, {"setting": f"{provider.setting}_address"}
    if remedy and not provider.key_variable:
        return "access", {}
    return remedy, {"variable": provider.key_variable} if remedy else {}
