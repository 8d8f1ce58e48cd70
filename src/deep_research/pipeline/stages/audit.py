"""Audit: the report as it was shipped, checked once more from its files and the stored texts (SPEC V1)."""

from deep_research.messages.words import words
from deep_research.pipeline.context import StageContext
from deep_research.pipeline.stages.verify import CheckedBody
from deep_research.request import Language
from deep_research.value import canonical_json
from deep_research.verify.offsets import check_offsets
from deep_research.verify.report import Verifier


async def audit(checked: CheckedBody, *, language: Language, context: StageContext) -> bool:
    """Check the files in the run folder; write `verify.json` and `verification.md`; say whether they pass."""
    folder = context.run.folder
    report, paragraphs = folder.path / "report.md", folder.path / "paragraphs.jsonl"
    outcome = Verifier(words(language)).verify(report, paragraphs, dropped=checked.dropped)
    texts = {
        document: (await context.store.get_document(document)).text
        for document in (await context.store.list_addresses(context.run.row.id)).values()
    }
    misplaced = check_offsets(paragraphs, texts.__getitem__)
    for problem in misplaced:
        await context.emit("error", {"message": problem, "step": "audit"})
    record = outcome.to_json() | {"offsets_passed": not misplaced, "misplaced": list(misplaced)}
    await folder.write("verify.json", canonical_json(record) + "\n")
    await folder.write("verification.md", outcome.in_words())
    return outcome.passed and not misplaced
