"""Audit: the report as it was shipped, checked once more from its files and the stored texts."""

from deep_research.pipeline.about import same_judge
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.stages.verify import Checked
from deep_research.pipeline.state import DeepResearchState, Update
from deep_research.text.messages.words import words_in
from deep_research.verify.recheck import check_offsets
from deep_research.verify.report import Verifier


async def audit(state: DeepResearchState, context: StageContext) -> Update:
    """Check the files in the run folder; write `verify.json` and `verification.md`; return whether they pass."""
    folder, records = context.run.folder, context.records
    checked = await records.load(Checked, state.checked)
    report, paragraphs = folder.path / "report.md", folder.path / "paragraphs.jsonl"
    outcome = Verifier(words_in(state.language)).verify(report, paragraphs, dropped=checked.dropped)
    texts = {document: (await records.document(document)).text for document in await records.documents()}
    misplaced = check_offsets(paragraphs, texts.__getitem__)
    for problem in misplaced:
        await context.emit("error", {"message": problem, "step": "audit"})
    record = outcome.to_json() | {"offsets_passed": not misplaced, "misplaced": list(misplaced)}
    await folder.write_json("verify.json", record)
    await folder.write("verification.md", outcome.in_words(await same_judge(records, words_in(state.language))))
    return {"is_verified": outcome.passed and not misplaced}
