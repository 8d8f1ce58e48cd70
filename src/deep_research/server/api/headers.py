"""Headers of requests that several endpoints take."""

from typing import Annotated

from fastapi import Header

IdempotencyKey = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=255,
        pattern=r"^[!-~]*$",
        description="Makes it safe to send a request again: for 24 hours, the same key and the same request are the "
        "same run. The same key with another request is refused.",
    ),
]
