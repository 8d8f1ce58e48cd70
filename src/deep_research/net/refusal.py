"""Why a service refuses every call, by the codes that stand in its answer and never by its words.

Some tell with the status of a wrong query, or of too many calls, what only a change of the settings can mend.
"""

from dataclasses import dataclass
from typing import Final, Literal

from deep_research.value import Json

# `name`: whether it is the model's or the address, nobody says.
Refusal = Literal["key", "model", "name", "credit"]

# Google's `error.details[].reason`, and `error.code` of OpenAI and of those who speak like it.
_REFUSALS: Final[dict[str, Refusal]] = {
    "API_KEY_INVALID": "key",
    "invalid_api_key": "key",
    "model_not_found": "model",
    "insufficient_quota": "credit",
}


@dataclass(frozen=True)
class Setup:
    """What a user has set for a service, by the names to mend it under; "" where there is nothing to mend."""

    key: str = ""
    model: str = ""
    address: str = ""


def refusal_in(answer: Json) -> Refusal | None:
    """Return why no call can succeed, from the JSON of an error; None where it does not say so."""
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        return None
    details = error.get("details")
    reasons = [part.get("reason") for part in details if isinstance(part, dict)] if isinstance(details, list) else []
    told = (error.get("code"), error.get("type"), *reasons)
    return next((_REFUSALS[code] for code in told if isinstance(code, str) and code in _REFUSALS), None)
