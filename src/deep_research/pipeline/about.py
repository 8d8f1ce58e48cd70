"""What a report says about its own making: what was cut short, what failed, who worded it."""

from collections import Counter
from collections.abc import Sequence

from deep_research.llm.port import ModelReply
from deep_research.pipeline.gap import Gap, in_plain_words
from deep_research.pipeline.journal import model_calls
from deep_research.pipeline.prompt_meter import PromptSize
from deep_research.pipeline.records import RunRecords
from deep_research.reasoning.values import Paragraphs, Strings
from deep_research.report.paragraph import Paragraph, is_quoted, note, sentences_of
from deep_research.request import BUDGET_KINDS, Budget
from deep_research.text.messages.words import Words

# Of what failed of one kind, so much is listed one by one; `retrieval.json` has the rest.
_MAX_LINES = {"search": ("query", 2), "page": ("address", 6), "section": ("section", 6)}


def cuts_of(gaps: Sequence[Gap], budget: Budget, words: Words) -> Strings:
    """Say what changes the worth of the answer: one line for each budget that was reached, and for a lost model."""
    lines = []
    for kind in BUDGET_KINDS:
        refused = Counter(gap.kind for gap in gaps if gap.budget == kind)
        if refused:
            left_out = words.listed(words(f"left_out.{what}", count=count) for what, count in sorted(refused.items()))
            lines.append(words(f"budget.{kind}", limit=f"{budget.limit(kind):g}", left_out=left_out))
    failed_acts = sum(gap.kind in ("act", "model") for gap in gaps if not gap.budget)
    if any(gap.kind == "model" for gap in gaps):
        lines.append(words("failed.gone", count=failed_acts))
    return tuple(lines)


def unread_of(gaps: Sequence[Gap], words: Words) -> Strings:
    """Name the user's own files that could not be read, for a report that says that something is in no source."""
    unread = [gap.subject for gap in gaps if gap.scope == "index"]
    return (words("failed.unread", files=words.listed(unread)),) if unread else ()


def limitations_of(gaps: Sequence[Gap], words: Words) -> Strings:
    """Say what was left out, one line for each thing that failed."""
    lines = []
    if any(gap.kind in ("act", "model") and gap.subject == "plan" for gap in gaps):
        lines.append(words("failed.plan"))
    lost = [gap for gap in gaps if not gap.budget]
    failed_acts = sum(gap.kind == "act" for gap in lost)
    if failed_acts and not any(gap.kind == "model" for gap in lost):
        lines.append(words("failed.fallback", count=failed_acts))
    for model, count in Counter(gap.subject for gap in lost if gap.kind == "chain").items():
        lines.append(words("failed.chain", model=model, count=count))
    if unread := sum(gap.count for gap in gaps):
        lines.append(words("failed.window", count=unread))
    charts: dict[str, list[str]] = {}
    for gap in lost:
        if gap.kind == "chart":
            charts.setdefault(in_plain_words(gap.reason, words), []).append(gap.subject)
    for reason, titles in charts.items():
        named = words.listed(filter(None, titles))
        lines.append(words("failed.chart", titles=named, reason=reason) if named else reason)
    for what, (name, limit) in _MAX_LINES.items():
        failed = list(dict.fromkeys(_failure(gap, name, words) for gap in lost if gap.kind == what))
        lines += failed[:limit]
        if len(failed) > limit:
            lines.append(words(f"failed.more_{what}", count=len(failed) - limit))
    return tuple(dict.fromkeys(lines))


def _failure(gap: Gap, name: str, words: Words) -> str:
    reason = in_plain_words(gap.reason, words)
    if gap.kind == "page" and gap.subject in reason:
        return reason
    return words(f"failed.{gap.kind}", **{name: gap.subject}, reason=reason)


def wording_of(paragraphs: Sequence[Paragraph], models: Sequence[str], words: Words) -> Strings:
    """Say how much of a report a model worded, and what of that is not supported."""
    claims = (paragraph for paragraph in paragraphs if paragraph.kind == "claim")
    # What the abstract repeats of the body is one sentence.
    claimed = list({sentence.text: sentence for sentence in sentences_of(claims)}.values())
    worded = [sentence for sentence in claimed if not is_quoted(sentence)]
    if not worded or not models:
        return ()
    named = words.listed(models)
    lines = [words("limits.worded", count=len(worded), total=len(claimed), models=named)]
    counts = Counter(sentence.verdict.kind for sentence in worded if sentence.verdict)
    lines += [words(f"limits.{kind}", count=counts[kind]) for kind in ("partly", "not_checked") if counts[kind]]
    return tuple(lines)


async def models_that_wrote(records: RunRecords) -> list[str]:
    """Return the names of the models whose answers may stand in the report."""
    return await _models_of(records, "draft", "edit")


async def same_judge(records: RunRecords, words: Words) -> Strings:
    """Say which models judged what they wrote."""
    judges = await _models_of(records, "judge")
    both = [name for name in await models_that_wrote(records) if name in judges]
    return (words("verification.same_judge", models=words.listed(both)),) if both else ()


async def _models_of(records: RunRecords, *acts: str) -> list[str]:
    answers = await model_calls(await records.calls(), records.store)
    own = [answer for answer in answers if PromptSize.from_json(answer["prompt"]).act in acts]
    return sorted({ModelReply.from_json(answer["reply"]).model for answer in own})


def gaps_apart(paragraphs: Sequence[Paragraph], looked_in: int, words: Words) -> Paragraphs:
    """Return what is open with what was looked for and not found before what the sources themselves leave open."""
    absent = [one for one in paragraphs if any(each.kind == "absence" for each in one.sentences)]
    others = [one for one in paragraphs if one not in absent]
    if not absent:
        return tuple(others)
    section = absent[0].section
    ahead = [note(section, words("report.looked_for", count=looked_in)), *absent]
    return tuple([*ahead, note(section, words("report.left_open")), *others] if others else ahead)


def in_few_lines(words: Words, *groups: Sequence[str]) -> Strings:
    """Return what is said about one thing in one line; Chinese punctuation brings its own space."""
    joint = "" if words.language.startswith("zh") else " "
    return tuple(joint.join(lines) for lines in groups if lines)
