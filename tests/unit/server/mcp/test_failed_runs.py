"""Why a run failed is told over MCP and OpenAI's interface without paths of the server's machine."""

from pathlib import Path

from deep_research.server.mcp.tools import Caller, StatusArguments, research_status
from deep_research.server.openai.replies import ReplyKey, ReplyReader
from deep_research.service.accounts.identity import LOCAL
from deep_research.service.report_text import Links
from deep_research.service.runs.new_run import NewRun
from deep_research.service.service import ResearchService
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import NewEvent
from tests.support.server import settings_for


async def test_a_failure_names_no_path_of_the_server(tmp_path: Path) -> None:
    service = ResearchService(settings_for(tmp_path), at_once=0)
    row = await service.create(NewRun(question="What did the plant cost?"), LOCAL)
    lease = await service.store.lease(row.id, current_owner(), lease_s=60)
    event = NewEvent(at=row.created_at, kind="run-status", key="run-status:1", data={"status": "failed"})
    detail = "Cannot write /srv/research/home/store.db: no space."
    await service.store.finish(lease, "failed", event=event, error={"detail": detail})

    async def tell(_: str) -> None:
        return

    state = await research_status(StatusArguments(run=row.id, wait_seconds=0), Caller(service, LOCAL, Links(), tell))
    reply = await ReplyReader(service, ReplyKey(row.id), LOCAL, Links()).reply()
    await service.__aexit__()
    for told in (state.text, state.data.model_dump_json(), reply.error):
        assert "Cannot write store.db: no space." in told
        assert "/srv" not in told
