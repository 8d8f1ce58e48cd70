"""The retry boundary around the whole workflow (SPEC R2)."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from deep_research.errors import ErrorClassifier
from deep_research.pipeline.clock import Clock

MAX_RETRIES: Final = 2

Result = TypeVar("Result")


async def retry_with_backoff(
    work: Callable[[], Awaitable[Result]],
    *,
    clock: Clock,
    on_retry: Callable[[Exception, int], Awaitable[None]],
    max_retries: int = MAX_RETRIES,
) -> Result:
    """Do the work; after a retryable failure wait 2, then 4 seconds, and do it again."""
    for retry in range(1, max_retries + 1):
        try:
            return await work()
        except Exception as exc:
            if not ErrorClassifier.classify(exc).is_retryable:
                raise
            await on_retry(exc, retry)
            await clock.sleep(2**retry)
    return await work()
