"""Cache: completes the run: what was found and read, its statistics, and the copy of its report."""

import json
from typing import Any

from deep_research.pipeline.context import StageContext
from deep_research.pipeline.folder import LAST_FILE, RunFolder, report_copy_of
from deep_research.pipeline.journal import model_calls
from deep_research.pipeline.records import RunRecords
from deep_research.pipeline.round_log import write_rounds
from deep_research.pipeline.state import DeepResearchState, Update
from deep_research.pipeline.statistics import statistics_of
from deep_research.report.citation import Source
from deep_research.report.edition import Edition
from deep_research.report.escaping import escape, escape_address, escape_heading, fence
from deep_research.report.markdown import seen_from
from deep_research.storage.store.port import JournalRow
from deep_research.value import JsonObject, json_of

# Longer texts stand in a file of their own.
_INLINE_BYTES = 10 * 1024


async def cache(state: DeepResearchState, context: StageContext) -> Update:
    """Write what only the end of a run knows."""
    folder, records = context.run.folder, context.records
    calls = await records.calls()
    documents = await _documents(records, folder)
    results = {"searches": await _searches(calls, records), "documents": documents}
    await folder.write_json("search_results.json", results)
    if context.request.enable_file_format_resource:
        result = json_of(await records.store.get_blob(state.final_report))
        await folder.write("resources.md", _resources(result, documents))
    events = await records.store.read_events(records.run)
    calls_answered = await model_calls(calls, records.store)
    statistics = statistics_of(calls, events, spent=context.run.journal.ledger.spent, answers=calls_answered)
    written = Edition.from_json(json.loads((folder.path / "edition.json").read_text(encoding="utf-8"))).report
    statistics["answer"] = {
        "is_answered": written.is_answered,
        "is_doubtful": written.is_doubtful,
        "likelihood": written.likelihood,
    }
    await write_rounds(folder)
    await folder.write_json(LAST_FILE, statistics)
    report = (folder.path / "report.md").read_text(encoding="utf-8")
    copy = report_copy_of(folder.path)
    await folder.write_at(copy, seen_from(copy.parent, report, run_folder=folder.path))
    return {}


async def _searches(calls: list[JournalRow], records: RunRecords) -> list[JsonObject]:
    """Return every search and what it found, in the order of the plan."""
    searches = sorted((row for row in calls if row.kind == "search"), key=lambda row: (row.scope, row.attempt))
    return [{"scope": row.scope, "state": row.state, "hits": await records.answer(row)} for row in searches]


async def _documents(records: RunRecords, folder: RunFolder) -> list[JsonObject]:
    """Return every document that was read; a long text goes to `segment_N.md`."""
    listed = []
    for address, id_ in (await records.store.list_addresses(records.run)).items():
        document = await records.document(id_)
        entry: JsonObject = {"address": address, "document": id_, "title": document.title}
        if len(document.text.encode("utf-8", "replace")) <= _INLINE_BYTES:
            listed.append(entry | {"text": document.text})
        else:
            name = f"segment_{len(listed) + 1:03}.md"
            await folder.write(name, f"# {escape_heading(address)}\n\n{fence(document.text)}\n")
            listed.append(entry | {"segment": name})
    return listed


def _resources(result: Any, documents: list[JsonObject]) -> str:
    """Return all sources as one text, under their numbers; a text that has a file of its own is linked."""
    texts = {str(entry["document"]): entry for entry in documents}
    blocks = [f"# {escape_heading(result['title'])}"]
    for number, source in enumerate(map(Source.from_json, result["sources"]), start=1):
        about = filter(None, (escape_address(source.address), escape(source.published[:10]), source.language))
        entry = texts.get(source.document, {})
        segment = entry.get("segment")
        text = f"[{segment}]({segment})" if segment else fence(str(entry.get("text", "")))
        blocks += [f"## [{number}] {escape_heading(source.title)}", " · ".join(about), text]
    return "\n\n".join(blocks) + "\n"
