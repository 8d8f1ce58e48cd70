"""Services that refuse with status 403 who asks too often, where others say 429."""

from typing import Final

import httpx2

from deep_research.errors import SourceBusy
from deep_research.net.retry_after import retry_after_s
from deep_research.net.service import Service

# GitHub says how many calls are left, the European Patent Office which of its limits was reached.
_LEFT: Final = "x-ratelimit-remaining"
_REASON: Final = "x-rejection-reason"


class LimitedService(Service):
    """A service whose refusals tell by their headers whether to ask again later."""

    def _check(self, response: httpx2.Response) -> None:
        if response.status_code == 403:
            wait_s = retry_after_s(response.headers)
            headers = response.headers
            if wait_s is not None or headers.get(_LEFT) == "0" or headers.get(_REASON):
                raise SourceBusy(f"{self.name} limits its callers (status 403).", retry_after_s=wait_s)
        super()._check(response)
