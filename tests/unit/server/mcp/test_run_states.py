"""Where a run stands is told over MCP as the API tells it: also that it waits for its turn, or is about to stop."""

from pathlib import Path

from deep_research.server.mcp.tools import Caller, ResearchState, StatusArguments, research_status
from deep_research.service.accounts.identity import LOCAL
from deep_research.service.report_text import Links
from deep_research.service.runs.new_run import NewRun
from deep_research.service.service import ResearchService
from deep_research.storage.store.lease import current_owner
from tests.support.server import settings_for


async def test_a_run_is_queued_until_it_begins_and_stopping_until_it_ends(tmp_path: Path) -> None:
    service = ResearchService(settings_for(tmp_path), at_once=0)
    waiting = await service.create(NewRun(question="What did the plant cost?"), LOCAL)
    begun = await service.create(NewRun(question="What did the plant produce?"), LOCAL)
    await service.store.lease(begun.id, current_owner(), lease_s=60)
    await service.cancel(begun.id, LOCAL)

    async def tell(_: str) -> None:
        return

    states = []
    for run in (waiting.id, begun.id):
        told = await research_status(StatusArguments(run=run, wait_seconds=0), Caller(service, LOCAL, Links(), tell))
        assert isinstance(told.data, ResearchState)
        states.append(told.data.status)
    await service.__aexit__()
    assert states == ["queued", "stopping"]
