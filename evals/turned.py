"""Claims whose direction was turned round, which must never be called likely: `python -m evals.turned --data FOLDER`.

Supported claims of SciFact and WiCE, and sentences of encyclopedias in English and Chinese held against their own
passage, are turned by rules: a word by its opposite, a negation more or less, the two sides of a comparison or of a
cause. Beside them stand the pairs that SciFact's readers called contradictions.
"""

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from deep_research.text.sentences import split_sentences
from evals import claims, shared

_OPPOSITES = [
    pair.split("/")
    for pair in """increase/decrease increases/decreases increased/decreased increasing/decreasing higher/lower
    more/less more/fewer rise/fall rose/fell rises/falls gain/loss gained/lost improve/worsen improves/worsens
    improved/worsened before/after above/below larger/smaller bigger/smaller better/worse longer/shorter
    stronger/weaker older/younger earlier/later high/low positive/negative promotes/inhibits enhances/impairs
    reduces/increases reduced/increased reduce/increase support/oppose supported/opposed won/lost largest/smallest
    highest/lowest most/least oldest/youngest first/last began/ended opened/closed accepted/rejected with/without
    always/never effective/ineffective dependent/independent activation/inhibition faster/slower
    upregulated/downregulated success/failure successful/unsuccessful majority/minority expanded/shrank allowed/banned
    northern/southern 增加/减少 上升/下降 提高/降低 高于/低于 大于/小于 多于/少于 增长/下降 最高/最低 最大/最小
    最早/最晚 之前/之后 以前/以后 以上/以下 早于/晚于 支持/反对 成功/失败 开始/结束 扩大/缩小 增强/减弱 加快/放缓
    上涨/下跌 盈利/亏损 允许/禁止 优于/劣于 胜利/失败 较大/较小 更高/更低 更多/更少 北部/南部""".split()
]
_WORD_OPPOSITE = {one: other for pair in _OPPOSITES for one, other in (pair, pair[::-1])}
_WORDS = re.compile(
    r"\b(?:" + "|".join(word for word in _WORD_OPPOSITE if word.isascii()) + r")\b|"
    + "|".join(word for word in _WORD_OPPOSITE if not word.isascii())
)  # fmt: skip
_AUXILIARY = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|will|may|could|should|does|do|did)\b(?! not|n't| no\b| only)"
)
_NEGATED = re.compile(
    r"(?<=[a-z]) not\b(?! only)|n't\b|\bno (?=\w)|没有|(?<=[\u4e00-\u9fff])[不未](?![同少断久过仅如足])"
)
_AFFIRMED = re.compile(
    r"是(?![否不])|(?<=[^含具拥])有(?!关|限)|能够|可以|位于|属于|增加|减少|提高|降低|获得|成为|导致|完成"
)
_NEGATIONS = {"有": "没有", "增加": "没有增加", "减少": "没有减少", "获得": "没有获得", "成为": "没有成为",
              "完成": "未完成"}  # fmt: skip
_RELATION = re.compile(
    r"^(?P<a>[^,;]{3,80}?) (?P<r>(?:is|are|was|were|has|have|had|shows?) [^,;]{0,40}?\bthan|causes?|leads? to|induces?|"
    r"inhibits?|activates?|promotes?|reduces?|increases?|regulates?|prevents?|defeated|preceded|follows?|produces?|"
    r"encodes?|predicts?|affects?|acquired|owns?) (?P<b>[^,;]{3,80}?)(?P<end>\.?)$"
)
_RELATION_ZH = re.compile(
    r"^(?P<a>[^，。；]{2,20}?)(?P<r>高于|低于|大于|小于|多于|少于|超过|早于|晚于|优于|导致|引起|击败|战胜|影响|属于|位于|收购)"
    r"(?P<b>[^，。；]{2,20})(?P<end>[，。；].*)?$"
)


def turned(text: str) -> Iterator[tuple[str, str]]:
    """Yield what a claim says the other way round, with the way it was turned."""
    word = _WORDS.search(text)
    if word:
        yield "opposite", text[: word.start()] + _WORD_OPPOSITE[word.group()] + text[word.end() :]
    negation = _NEGATED.search(text)
    if negation:
        yield "negation less", text[: negation.start()] + text[negation.end() :]
    place = _AUXILIARY.search(text)
    affirmed = _AFFIRMED.search(text)
    if place and not negation:
        yield "negation more", f"{text[: place.end()]} not{text[place.end() :]}"
    elif affirmed and not negation:
        held = _NEGATIONS.get(affirmed.group(), f"不{affirmed.group()}")
        yield "negation more", text[: affirmed.start()] + held + text[affirmed.end() :]
    sides = _RELATION.match(text) or _RELATION_ZH.match(text)
    if sides:
        gap = " " if sides.re is _RELATION else ""
        yield "sides", gap.join((sides["b"], sides["r"], sides["a"])) + (sides["end"] or "")


def sources(data: Path) -> Iterator[tuple[str, claims.Claim]]:
    """Yield claims that their passages carry, by set."""
    for line in shared.read_json_lines(data / "scifact_claims_train" / "pairs.jsonl"):
        if line["label"] == "SUPPORT":
            yield "scifact", claims.Claim(line["claim"], line["sentences"], "", True, "")
    for line in shared.read_json_lines(data / "wice_dev" / "claims.jsonl"):
        if line["label"] == "supported":
            yield "wice", claims.Claim(line["claim"], line["evidence"], "", True, "")
    for name in ("hotpotqa250", "cmrc2018_zh"):
        for line in shared.read_json_lines(data / name / "corpus.jsonl")[::8]:
            spans = split_sentences(line["text"])
            sentences = [line["text"][start:end] for start, end in spans]
            for sentence in sentences[:3]:
                yield name, claims.Claim(sentence, sentences, "", True, "")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Never call a claim likely whose direction is turned round.")
    shared.add_data_argument(parser)
    data = parser.parse_args(arguments).data
    for name in ("scifact_claims_train", "wice_dev", "hotpotqa250", "cmrc2018_zh"):
        shared.require(data, name)
    kept: dict[str, list[bool]] = defaultdict(list)
    slipped: list[tuple[str, str]] = []
    for name, claim in sources(data):
        kept[f"{name}: as it is"].append(claims.hint_of(claim).is_likely)
        for way, text in turned(claim.text):
            is_likely = claims.hint_of(claim._replace(text=text)).is_likely
            kept[f"{name}: {way}"].append(is_likely)
            kept["turned claims"].append(is_likely)
            slipped += [(f"{name}: {way}", text)] if is_likely else []
    for line in shared.read_json_lines(data / "scifact_claims_train" / "pairs.jsonl"):
        if line["label"] == "CONTRADICT":
            against = claims.Claim(line["claim"], line["sentences"], "", False, "")
            kept["SciFact's contradictions"].append(claims.hint_of(against).is_likely)
    figures = {f"likely, {name}": sum(found) / len(found) for name, found in sorted(kept.items())}
    counts = {name: len(found) for name, found in kept.items()}
    return shared.report("turned", figures, details={"counts": counts, "slipped": slipped})


if __name__ == "__main__":
    sys.exit(main())
