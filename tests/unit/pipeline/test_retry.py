"""The retry boundary: two more tries, 2 and 4 seconds apart, and only where trying again may help."""

import pytest

from deep_research.errors import BudgetExceeded, ModelError, NetworkError, RunInterrupted, SourceError, StageFailed
from deep_research.pipeline.runtime import MAX_RETRIES, retry_with_backoff
from deep_research.testing import FakeClock


class _Work:
    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.tries = 0

    async def __call__(self) -> str:
        self.tries += 1
        if self.failures:
            raise self.failures.pop(0)
        return "done"


async def _retried(work: _Work, clock: FakeClock) -> tuple[str, list[tuple[str, int]]]:
    noted: list[tuple[str, int]] = []

    async def on_retry(exc: Exception, retry: int) -> None:
        noted.append((str(exc), retry))

    return await retry_with_backoff(work, clock=clock, on_retry=on_retry), noted


@pytest.mark.parametrize("failures", range(MAX_RETRIES + 1))
async def test_work_that_recovers_is_waited_for(failures):
    clock = FakeClock()
    work = _Work(*(NetworkError(str(number)) for number in range(failures)))
    result, noted = await _retried(work, clock)
    assert result == "done"
    assert clock.waits == [2, 4][:failures]
    assert noted == [("0", 1), ("1", 2)][:failures]


async def test_the_third_failure_is_the_last():
    clock, work = FakeClock(), _Work(*(ModelError(str(number)) for number in range(9)))
    with pytest.raises(ModelError, match="2"):
        await _retried(work, clock)
    assert work.tries == 1 + MAX_RETRIES
    assert clock.waits == [2, 4]


@pytest.mark.parametrize("failure", [TimeoutError(), ConnectionResetError()])
async def test_the_system_s_network_errors_are_tried_again(failure):
    assert (await _retried(_Work(failure), FakeClock()))[0] == "done"


@pytest.mark.parametrize(
    "failure",
    [SourceError(), BudgetExceeded("usd"), StageFailed(), RunInterrupted(), ValueError(), MemoryError()],
)
async def test_what_cannot_get_better_is_not_tried_again(failure):
    clock, work = FakeClock(), _Work(failure)
    with pytest.raises(type(failure)):
        await _retried(work, clock)
    assert (work.tries, clock.waits) == (1, [])
