"""From which sides a question wants its subject seen, by the words it uses; domain-neutral, no model."""

import re

from deep_research.messages.words import Words
from deep_research.text.folding import to_simplified

ENOUGH_FOCUSES = 3
_MAX_FOCUSES = 5

# In the order in which they are offered; names are in the messages, `clarify.focus_<key>`.
CUES: dict[str, re.Pattern[str]] = {
    key: re.compile(pattern, re.IGNORECASE)
    for key, pattern in {
        "overview": r"是什么|定义|概念|概述|概况|综述|有哪些|种类"
        r"|\b(?:overview|definition|introduction|types? of|kinds? of)\b"
        r"|\bwhat (?:is|are) (?:a |an )?(?=\w+\W*$)",
        "progress": r"最新|进展|现状|近况|动态|近几年|近年"
        r"|\b(?:latest|recent(?:ly)?|progress|current(?:ly)?"
        r"|state of the art|developments?|news|updates?|advances?|so far)\b",
        "mechanism": r"机制|机理|原理|原因|成因|为什么|为何|怎么会"
        r"|\b(?:mechanisms?|causes?|caused|why|reasons?|principles?"
        r"|explain|how (?:do|does|did|is|are|was|were))\b",
        "effect": r"效果|影响|疗效|成效|作用|结果|收益|好处"
        r"|(?<!side )\b(?:effects?|impacts?|results?|outcomes?|benefits?|efficacy"
        r"|effectiveness|achieve[ds]?|affects?|influences?)\b",
        "cost": r"成本|费用|价格|花了?多少|花费|多少钱|造价|投资额"
        r"|\b(?:costs?|prices?|spend|spent|expenses?|budget|afford)\b",
        "figures": r"数据|多少(?!钱)|规模|数量|统计|占比|比例|人数|多大程度|准确率"
        r"|\b(?:how (?:many|much|large|big|long|often|far)"
        r"|figures?|statistics|numbers?|rates?|share|size|evidence|data(?!-))\b",
        "comparison": r"比较(?!想|好|多|大|高|低)|对比|区别|差异|异同|优缺点|优劣|哪[个种家](?:更|最)"
        r"|\b(?:compar(?:e|es|ed|ing|ison)"
        r"|versus|vs|differ(?:s|ences?)?|better|pros and cons|strengths and weaknesses)\b",
        "risk": r"风险|争议|挑战|困难|安全性|副作用|局限|缺点|危害"
        r"|\b(?:risks?|controvers(?:y|ies|ial)|challenges?|safety|unsafe"
        r"|side effects?|limitations?|dangers?|drawbacks?|criticisms?)\b",
        "methods": r"方法|策略|方案|措施|途径|路线|设计|(?:如何|怎样)(?!\W*$)|怎么(?!样|会)"
        r"|\b(?:methods?|strateg(?:y|ies)|approach(?:es)?"
        r"|designs?|solutions?|techniques?|best practices|ways to|how (?:can|could|should|to|might|we))\b",
        "actors": r"谁|哪些(?:公司|机构|团队|企业)|代表性公司|课题组|研究团队"
        r"|\b(?:who|which (?:companies|firms|teams|countries)"
        r"|key players|stakeholders)\b",
        "history": r"历史|历程|演变|起源|由来|发展史"
        r"|\b(?:history|evolution|origins?|timeline)\b",
        "outlook": r"未来|前景|预测|趋势|潜力"
        r"|\b(?:future|outlook|forecast|predict(?:ion|ions)?|trends?|potential)\b",
    }.items()
}
# What is taken up where the question says too little: for a bare name, and beside what was asked.
BARE_DEFAULTS = ("progress", "mechanism", "figures", "open")
ASKED_DEFAULTS = ("figures", "progress", "open", "effect")
ASPECT_OPTIONS = ("progress", "mechanism", "figures", "risk")


def stated_focuses(text: str) -> tuple[str, ...]:
    """Return the keys of the sides that the words of a text ask about, in the order of the text."""
    simple = to_simplified(text)
    found = ((match.start(), key) for key, cue in CUES.items() if (match := cue.search(simple)))
    return tuple(key for _, key in sorted(found))[:_MAX_FOCUSES]


def filled_up(stated: tuple[str, ...], given: int = 0) -> tuple[str, ...]:
    """Return the keys of the sides to add, so that there are three with those stated and those given by the asker."""
    missing = ENOUGH_FOCUSES - len(stated) - given
    defaults = ASKED_DEFAULTS if stated or given else BARE_DEFAULTS
    return tuple(key for key in defaults if key not in stated)[: max(0, missing)]


def without_cues(text: str) -> str:
    """Return a simplified text without the words that name a side of its subject, offsets kept."""
    for cue in CUES.values():
        text = cue.sub(lambda match: " " * len(match.group()), text)
    return text


def focus_names(keys: tuple[str, ...], say: Words) -> tuple[str, ...]:
    """Return the names of the sides in the reader's language."""
    return tuple(say(f"clarify.focus_{key}") for key in keys)
