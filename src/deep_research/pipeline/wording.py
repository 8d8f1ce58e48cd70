"""Whose words a report is made of: how many sentences a model worded, which model, and how far they were checked."""

from collections import Counter
from collections.abc import Sequence

from deep_research.llm.port import ModelReply
from deep_research.messages.words import Words
from deep_research.pipeline.context import Ports
from deep_research.report.paragraph import Paragraph, Sentence

_WRITING = frozenset({"draft", "revise", "analyze", "conclude"})
_QUOTED = frozenset({"verbatim", "trimmed"})


def is_quoted(sentence: Sentence) -> bool:
    """Say whether a sentence is its source's own."""
    return sentence.verdict is not None and sentence.verdict.reason in _QUOTED


def wording_of(paragraphs: Sequence[Paragraph], models: Sequence[str], words: Words) -> tuple[str, ...]:
    """Say how much of a report a model worded, and what of that is not, or only partly, supported."""
    claims = (paragraph for paragraph in paragraphs if paragraph.kind == "claim")
    # What the abstract repeats of the body is one sentence.
    told = list({sentence.text: sentence for claim in claims for sentence in claim.sentences}.values())
    worded = [sentence for sentence in told if not is_quoted(sentence)]
    if not worded or not models:
        return ()
    named = words("report.list_separator").join(models)
    lines = [words("limits.worded", count=len(worded), total=len(told), models=named)]
    counts = Counter(sentence.verdict.kind for sentence in worded if sentence.verdict)
    lines += [words(f"limits.{kind}", count=counts[kind]) for kind in ("partly", "not_checked") if counts[kind]]
    return tuple(lines)


async def models_that_wrote(ports: Ports) -> list[str]:
    """Return the names of the models whose answers may stand in the report."""
    names = set()
    for row in await ports.store.list_calls(ports.run.row.id):
        if row.kind == "llm" and row.state == "done":
            answer = await ports.run.journal.unpack(row.answer)
            if isinstance(answer, dict) and isinstance(answer["prompt"], dict) and answer["prompt"]["act"] in _WRITING:
                names.add(ModelReply.from_json(answer["reply"]).model)
    return sorted(names)
