"""The report's limits: what a run left out and why, in the words of its language."""

from collections import Counter
from typing import Any

from deep_research.messages.words import Words
from deep_research.pipeline.gap import Gap
from deep_research.request import BUDGET_KINDS, Budget

# Of what failed of one kind, so much is told one by one; `retrieval.json` has the rest.
_MOST_LINES = {"search": 2, "page": 6, "section": 6}


def limits_of(gaps: list[dict[str, Any]], *, budget: Budget, words: Words) -> tuple[str, ...]:
    """Say what was left out: one line for each budget that was reached, then one for each thing that failed."""
    known = [Gap.from_json(gap) for gap in gaps]
    lines = []
    for kind in BUDGET_KINDS:
        refused = Counter(gap.kind for gap in known if gap.budget == kind)
        if refused:
            left_out = words("report.list_separator").join(
                words(f"left_out.{what}", count=count) for what, count in sorted(refused.items())
            )
            lines.append(words(f"budget.{kind}", limit=f"{budget.limit(kind):g}", left_out=left_out))
    failed_acts = [gap for gap in known if gap.kind == "act" and gap.budget is None]
    if failed_acts:
        lines.append(words("failed.stand_in", count=len(failed_acts)))
    unread = sum(int(gap.reason.split()[0]) for gap in known if gap.kind == "window")
    if unread:
        lines.append(words("failed.window", count=unread))
    lost = [gap for gap in known if gap.budget is None]
    for what, name in (("search", "query"), ("page", "address"), ("section", "section")):
        told = dict.fromkeys(_told(gap, name, words) for gap in lost if gap.kind == what)
        most = _MOST_LINES[what]
        lines += list(told)[:most]
        if len(told) > most:
            lines.append(words(f"failed.more_{what}", count=len(told) - most))
    return tuple(dict.fromkeys(lines))


def _told(gap: Gap, name: str, words: Words) -> str:
    if gap.kind == "page" and gap.subject in gap.reason:
        return gap.reason
    return words(f"failed.{gap.kind}", **{name: gap.subject}, reason=gap.reason)
