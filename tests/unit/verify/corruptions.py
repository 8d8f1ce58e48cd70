"""Ways to make a faithful sentence say something else, in English and Chinese; each is what a careless writer does."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise

import opencc

Corruption = Callable[[str, str], Iterator[tuple[str, str]]]

_NEGATIONS = {
    " is ": " is not ", " was ": " was not ", " are ": " are not ", " were ": " were not ", " has ": " has not ",
    " had ": " had not ", " will ": " will not ", " can ": " cannot ", "完成": "未完成",
    "达到": "未达到", "需要": "不需要", "超过": "未超过", "增加": "没有增加", "是": "不是",
    "批准": "未批准", "同意": "不同意", "可以": "不可以",
}  # fmt: skip
_ANTONYMS = {
    "more": "less", "higher": "lower", "rose": "fell", "above": "below", "before": "after", "increase": "decrease",
    "cheaper": "dearer", "first": "last", "largest": "smallest", "with": "without", "replaced": "kept", "new": "old",
    "增加": "减少", "上升": "下降", "高于": "低于", "提高": "降低", "超过": "低于", "之前": "之后", "增幅": "降幅",
    "新建": "拆除", "降至": "升至", "减少": "增加", "最大": "最小", "支持": "反对", "同意": "拒绝",
}  # fmt: skip
_UNITS = {
    "million": "billion", "per cent": "percentage points", "kilometres": "metres", "megawatts": "kilowatts",
    "€": "$", "euros": "dollars", "tonnes": "kilograms", "years": "months", "hours": "days", "%": "‰", "MW": "kW",
    "亿元": "万元", "公里": "米", "毫米": "厘米", "小时": "分钟", "万元": "亿元", "立方米": "升", "平方公里": "公顷",
    "万": "亿", "年": "月", "吨": "公斤",
}  # fmt: skip
_ENTITIES = {
    "Halden Bay": "Kettle Point", "Kettle Point": "Halden Bay", "Council": "Bank", "Qinglan": "Halden Bay",
    "coal": "gas", "gas": "oil", "heat pumps": "boilers", "households": "offices", "bank": "city", "March": "May",
    "青岚": "海棠", "柳塘": "荷塘", "水务局": "财政局", "调蓄池": "泵站", "管网": "河道", "老城区": "新城区",
    "居民": "企业", "專案": "工程", "青嵐": "海棠", "調蓄池": "泵站",
}  # fmt: skip
_QUANTIFIERS = {
    "all": "some", "every": "some", "each": "one", "both": "neither", "most": "all", "many": "few", "some": "all",
    "several": "all", "half": "all", "always": "sometimes", "only": "mainly", "any": "every", "two": "three",
    "所有": "部分", "全部": "部分", "部分": "全部", "多数": "少数", "每": "某", "各": "某", "均": "多", "都": "多",
    "一半": "全部", "首次": "再次", "两": "三", "主要": "唯一", "其中": "此外", "仅": "主要", "整个": "半个",
}  # fmt: skip
_COMPARISONS = {
    "more than": "less than", "higher than": "lower than", "above": "below", "over": "under", "at least": "at most",
    "up to": "at least", "before": "after", "until": "since", "between": "beyond", "than": "as", "under": "over",
    "below": "above", "within": "beyond", "less than": "more than", "as much as": "more than", "from": "to",
    "高于": "低于", "低于": "高于", "超过": "不到", "以上": "以下", "以下": "以上", "至少": "至多", "优于": "劣于",
    "以内": "以外", "不低于": "不高于", "早于": "晚于", "比": "不比", "由": "至", "较": "不及", "以来": "以前",
    "之前": "之后", "不到": "超过", "增长": "下降", "下降": "增长", "降低": "提高",
}  # fmt: skip
_MONTHS = (
    "January February March April May June July August September October November December spring summer autumn winter "
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
).split()
_DATE_PARTS = {
    **{month: _MONTHS[at - 1] for at, month in enumerate(_MONTHS)}, "first quarter": "second quarter", "Q1": "Q2",
    "年底": "年初", "年初": "年底", "上半年": "下半年", "下半年": "上半年", "上旬": "下旬", "一季度": "三季度",
    "月底": "月初", "去年": "今年", "今年": "去年", "夏季": "冬季", "冬季": "夏季", "汛期": "旱季",
}  # fmt: skip
_HEDGES = (
    "about approximately around nearly almost roughly some most may might could would likely only "
    "约 大约 预计 估计 可能 左右 超过 至少 近 大多 主要 部分 计划 將 将 拟 據 据"
).split()
_RESTRICTIONS_EN = (
    " in mice", " (in mice)", " (in Germany)", " (US)", " (n = 12)", " (Germany, 2020)", " (if funded)", " (not yet)",
    " according to the vendor", " (women only)", " (EU)", " (preliminary)", " (before 2020)", " (Phase 2)",
    " (95% CI 3-5)", " [in mice]", " (see note: in mice)", " (in mice; Smith et al., 2020)", " (12)", " (up to 5%)",
    " in a pilot", ", the vendor claims,", " in laboratory tests", " for volunteers", " on paper", " in one district",
    " if approved", ", on the vendor's figures,", " during the pilot phase", " as planned",
)  # fmt: skip
_RESTRICTIONS_ZH = (
    "（小鼠）", "（仅限老城区）", "（估算值）", "（美国）", "（未经审计）", "（US）", "（按2020年价格）",
    "（如获批准）", "（不含利息）", "（见图3，仅限小鼠）", "（约）", "（2020年）", "（12）",
    "在小鼠中", "在试点阶段", "，供应商称，", "在实验室条件下", "按供应商的口径", "在部分区域", "如获批准", "名义上",
)  # fmt: skip
_NUMBER_WORDS = (
    "two three four five six seven eight nine ten twelve twenty".split(),
    "doubled tripled halved".split(),
    "dozens hundreds thousands".split(),
    ["a third of", "a quarter of", "two-thirds of", "half of"],
    [f"{numeral}个" for numeral in "两三四五六七八九"],
    [f"{numeral}年" for numeral in "两三四五六七八九十"],
    ["三分之一", "四分之一", "三分之二", "一半"],
    ["数十", "数百", "数千"],
    ["翻了一番", "翻了两番", "减半"],
)
_ATTRIBUTIONS = (
    "The vendor claims that ", "According to the vendor, ", "In mice, ", "If approved, ", "In 2019, ", "Allegedly, ",
    "Otherwise, ", "For example, ", "In theory, ", "Until 2020, ", "Critics say that ", "It is not true that ",
    "In a pilot, ", "In the pilot phase, ", "The vendor claims: ", "On paper, ", "At first, ",
)  # fmt: skip
_ATTRIBUTIONS_ZH = (
    "厂商称，", "据厂商统计，", "按2020年口径统计，", "如果获得批准，", "在小鼠中，", "例如，", "有人认为", "理论上，",
    "否则，", "并非", "试点阶段，", "供应商称，", "供应商称：", "在试点中，", "起初，",
)  # fmt: skip


def is_chinese(text: str) -> bool:
    return bool(re.search(r"[\u4e00-\u9fff]", text))


def words_of(text: str) -> list[str]:
    """Return the words and the characters between them; a Chinese character is a word."""
    return re.findall(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+|\s+|[^\w\s]", text)


@lru_cache(maxsize=1)
def _converter() -> opencc.OpenCC:
    return opencc.OpenCC("s2t")


@lru_cache(maxsize=10_000)
def in_traditional(text: str) -> str:
    """Return a text in traditional characters."""
    return _converter().convert(text)


def _swaps(pairs: dict[str, str], sentence: str) -> Iterator[str]:
    for old, new in {**pairs, **{in_traditional(old): in_traditional(new) for old, new in pairs.items()}}.items():
        pattern = rf"\b{re.escape(old)}\b" if old.isascii() and old[-1].isalpha() else re.escape(old)
        for match in re.finditer(pattern, sentence):
            yield sentence[: match.start()] + new + sentence[match.end() :]


def change_numbers(sentence: str, passage: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(r"\d+", sentence):
        digits = match.group()
        for other in (str(int(digits) + 1), digits + "0", digits[:-1], digits[::-1]):
            yield sentence[: match.start()] + other + sentence[match.end() :], passage
    for match in re.finditer(r"(?<=\d)[.,](?=\d)", sentence):
        yield sentence[: match.start()] + sentence[match.end() :], passage


def change_number_words(sentence: str, passage: str) -> Iterator[tuple[str, str]]:
    for group in _NUMBER_WORDS:
        for old in group:
            if old in sentence or in_traditional(old) in sentence:
                others = [new for new in group if new != old]
                yield from ((swapped, passage) for new in others for swapped in _swaps({old: new}, sentence))


def state_number_words(sentence: str, passage: str) -> Iterator[tuple[str, str]]:
    """The sentence gives a share, a multiple or a number that the passage does not hold."""
    written = in_traditional if in_traditional(sentence) == sentence else str
    if is_chinese(sentence):
        added = ("约三分之一，", "几乎一半，", "翻了一番，", "数百次，", "前后九十七次，", "增加两倍，")
        yield from ((f"{written(lead)}{sentence}", passage) for lead in added)
    else:
        added = ("In a third of all cases, ", "In one in nine cases, ", "Ninety-seven times, ", "Dozens say that ",
                 "Tripled since, ", "For fifty-three days, ")  # fmt: skip
        yield from ((f"{lead}{sentence[:1].lower()}{sentence[1:]}", passage) for lead in added)


def turn_negations(sentence: str, passage: str) -> Iterator[tuple[str, str]]:
    for turned in _swaps(_NEGATIONS, sentence):
        yield turned, passage
        yield sentence, passage.replace(sentence, turned)
    for match in re.finditer(r"\bnot\s|\bno\s|n't\b|\bnever\s|\bwithout\s|[不未无没無沒]", sentence):
        yield sentence[: match.start()] + sentence[match.end() :], passage


def swap_antonyms(sentence: str, passage: str) -> Iterator[tuple[str, str]]:
    yield from ((swapped, passage) for swapped in _swaps(_ANTONYMS, sentence))


def change_units(sentence: str, passage: str) -> Iterator[tuple[str, str]]:
    yield from ((swapped, passage) for swapped in _swaps(_UNITS, sentence))


def swap_entities(sentence: str, passage: str) -> Iterator[tuple[str, str]]:
    yield from ((swapped, passage) for swapped in _swaps(_ENTITIES, sentence))


def change_quantifiers(sentence: str, passage: str) -> Iterator[tuple[str, str]]:
    yield from ((swapped, passage) for swapped in _swaps(_QUANTIFIERS, sentence))


def flip_comparisons(sentence: str, passage: str) -> Iterator[tuple[str, str]]:
    yield from ((swapped, passage) for swapped in _swaps(_COMPARISONS, sentence))


def change_dates(sentence: str, passage: str) -> Iterator[tuple[str, str]]:
    yield from ((swapped, passage) for swapped in _swaps(_DATE_PARTS, sentence))
    for match in re.finditer(
        r"\b(?:19|20)\d\d(?!\d)|\d{1,2}(?=\s?[月日])|\b\d{1,2}(?=\s(?:[A-Z][a-z]+)\s\d{4})", sentence
    ):
        for step in (-1, 1, 10):
            yield sentence[: match.start()] + str(int(match.group()) + step) + sentence[match.end() :], passage


def move_clauses(sentence: str, passage: str) -> Iterator[tuple[str, str]]:
    adapters = re.split(r"(?<=[，,；;、])\s*", sentence)
    for at in range(1, len(adapters)):
        moved = [*adapters[at:], *adapters[:at]]
        yield ("" if is_chinese(sentence) else " ").join(moved), passage
        dropped = [part for index, part in enumerate(adapters) if index != at]
        yield ("" if is_chinese(sentence) else " ").join(dropped), passage


def delete_restrictions(sentence: str, passage: str) -> Iterator[tuple[str, str]]:
    """The passage restricts its claim and the sentence does not."""
    is_zh = is_chinese(sentence)
    written = in_traditional if in_traditional(sentence) == sentence else str
    words = words_of(sentence)
    for index, restriction in enumerate(map(written, _RESTRICTIONS_ZH if is_zh else _RESTRICTIONS_EN)):
        at = 1 + (7 * index) % max(1, len(words) - 1)
        restricted = "".join(words[:at]) + restriction + "".join(words[at:])
        yield sentence, passage.replace(sentence, restricted)
        yield sentence, passage.replace(sentence, f"{sentence[:-1]}{restriction}{sentence[-1:]}")
    for lead in map(written, _ATTRIBUTIONS_ZH if is_zh else _ATTRIBUTIONS):
        yield sentence, passage.replace(sentence, lead + sentence)
        yield sentence, passage.replace(sentence, lead + sentence[:1].lower() + sentence[1:])


def drop_hedges(sentence: str, passage: str) -> Iterator[tuple[str, str]]:
    for hedge in _HEDGES:
        pattern = rf"\b{hedge}\s" if hedge.isascii() else hedge
        for match in re.finditer(pattern, sentence):
            yield sentence[: match.start()] + sentence[match.end() :], passage
    words = words_of(sentence)
    for index, hedge in enumerate(_HEDGES):
        at = 1 + (5 * index) % max(1, len(words) - 1)
        hedged = "".join(words[:at]) + (f" {hedge} " if hedge.isascii() else hedge) + "".join(words[at:])
        yield sentence, passage.replace(sentence, hedged)


def reorder_words(sentence: str, passage: str) -> Iterator[tuple[str, str]]:
    words = words_of(sentence)
    solid = [index for index, word in enumerate(words) if word.strip()]
    for first, second in pairwise(solid):
        if words[first] != words[second]:
            swapped = list(words)
            swapped[first], swapped[second] = swapped[second], swapped[first]
            yield "".join(swapped), passage


def cut_ends(sentence: str, passage: str) -> Iterator[tuple[str, str]]:
    words = words_of(sentence)
    for at in range(1, len(words)):
        if "".join(words[:at]).strip() and "".join(words[at:]).strip():
            yield "".join(words[:at]), passage
            yield "".join(words[at:]).lstrip(), passage
            yield "".join(words[at:]).lstrip()[:1].upper() + "".join(words[at:]).lstrip()[1:], passage
            yield "".join(words[:at]).rstrip(" ,，、;；") + ("。" if is_chinese(sentence) else "."), passage


def delete_words(sentence: str, passage: str) -> Iterator[tuple[str, str]]:
    words = words_of(sentence)
    for at, word in enumerate(words):
        if word.strip():
            yield "".join(words[:at] + words[at + 1 :]), passage


CORRUPTIONS: dict[str, Corruption] = {
    "number changed": change_numbers,
    "number word changed": change_number_words,
    "number word made up": state_number_words,
    "negation turned": turn_negations,
    "antonym swapped": swap_antonyms,
    "unit changed": change_units,
    "entity swapped": swap_entities,
    "quantifier changed": change_quantifiers,
    "comparison flipped": flip_comparisons,
    "date changed": change_dates,
    "clause moved or dropped": move_clauses,
    "restriction deleted": delete_restrictions,
    "hedge dropped": drop_hedges,
    "words reordered": reorder_words,
    "end cut": cut_ends,
    "word deleted": delete_words,
}
