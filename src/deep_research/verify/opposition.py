"""Does a passage say the contrary of a sentence: an opposite word, a negation more or less, sides that changed place.

`agreement` counts whether passages turn the same way as a sentence: up or down, for or against, related or not.
It sees what words show and no more: a sentence that it does not object to may still be wrong.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import compress, islice, pairwise, product, takewhile
from typing import NamedTuple

from deep_research.text.analyzer import analyze, content_terms, stem
from deep_research.text.folding import to_simplified
from deep_research.verify.amounts import NAMING, amounts_of
from deep_research.verify.clauses import clauses_of, letters_of
from deep_research.verify.particulars import NEGATION_WORD, spell_negations, without_extra_space

# One word of each family is enough: English is compared by stems, Chinese by pairs of characters, simplified.
UP = """
    increase raise rise rose risen high higher elevate enhance promote improve stimulate upregulate activate induce
    more greater larger gain grow growth grew boost accelerate encourage positive longer strengthen
    strong expand better facilitate exceed above susceptible augment restore benefit profit surplus success
    effective efficient accurate win majority sensitive worsen climb soar surge jump widen dearer expensive
    增加 增长 上升 提高 提升 升高 上涨 扩大 增强 促进 改善 加快 加速 超过 高于 多于 大于 优于 好于 最高 最大 最多
    较高 更高 更多 增幅 涨幅 升至 增至 盈利 盈余 有效 成功 加强 激活 诱导 攀升 回升 延长 增多
"""
DOWN = """
    decrease reduce reduction low lower inhibit suppress repress downregulate impair prevent block less
    fewer smaller decline fall fell drop diminish attenuate slow weaken weak negative shorter loss lose
    lost deplete deficient protect worse discourage below resistant abolish eliminate mitigate delay damage disrupt
    hinder limit deficit failure ineffective inefficient inaccurate minority insensitive impede inactivate deactivate
    cut shrink shrank plunge slump sink sank tumble narrow cheap cheaper
    减少 下降 降低 下跌 下滑 缩小 减弱 抑制 恶化 放缓 减缓 低于 少于 小于 劣于 最低 最小 最少 较低 更低 更少 降幅
    跌幅 降至 减至 亏损 赤字 失败 削弱 阻止 预防 减轻 缩短 回落 萎缩
"""
# For or against, related or not: they have a direction, but no opposite among the words above.
_FOR = """
    support agree accept approve allow permit associate relate link correlate effect
    affect influence impact interact involve role contribute able capable can dependent require necessary essential need
    known evidence significant predict cause result lead 支持 同意 批准 允许 相关 有关 导致 影响 显著 必要
"""
_AGAINST = """
    oppose reject ban prohibit independent unrelated unable incapable unaffected unnecessary insignificant
    反对 否决 禁止
"""
# A negation turns a word that follows within so many terms; a turned word speaks of what stands around it.
_NEGATION_DISTANCE, _CONTEXT_DISTANCE = 4, 10
# Contexts that share half the subject must not outvote one that shares all of it; a lone weak one decides nothing.
_SHARPNESS, _DOUBT = 3, 0.15


@cache
def _ways() -> dict[str, int]:
    ways = {stem(word): -1 for word in (DOWN + _AGAINST).split()}
    return ways | {stem(word): 1 for word in (UP + _FOR).split()}


def agreement(sentence: Sequence[str], passages: Iterable[Sequence[str]], subject: frozenset[str]) -> float:
    """Return from -1 to 1 how far the passages' sentences turn the same way where they speak about the subject.

    Both come as terms with `NEGATION_WORD` for each negation; a sentence without direction, or with two, gives 0.
    """
    claimed = [way for _, way in _directions(sentence)]
    about = {term for term in subject if term not in _ways()}
    if not claimed or not about:
        return 0.0
    votes = {1: 0.0, -1: 0.0}
    for terms in passages:
        for at, way in _directions(terms):
            around = terms[max(0, at - _CONTEXT_DISTANCE) : at + _CONTEXT_DISTANCE + 1]
            votes[way] += (len(about.intersection(around)) / len(about)) ** _SHARPNESS
    return sum(claimed) / len(claimed) * (votes[1] - votes[-1]) / (votes[1] + votes[-1] + _DOUBT)


def _directions(terms: Sequence[str]) -> list[tuple[int, int]]:
    """Return where terms have a direction, and which, turned by the negations before it."""
    ways = _ways()
    found = []
    for at, term in enumerate(terms):
        if term in ways:
            negations = terms[max(0, at - _NEGATION_DISTANCE) : at].count(NEGATION_WORD)
            found.append((at, -ways[term] if negations % 2 else ways[term]))
    return found


# Words of one side, and their opposites; the words of `direction` are one more such pair.
_OPPOSITES = """
    before prior precede earlier early / after follow later late since
    begin began begun start / end stop finish
    open / close shut
    first / last
    cheap cheaper / expensive dearer
    teach taught teacher / pupil student learn
    import / export
    give gave donate / receive
    hire employ appoint / dismiss fire resign
    left / right
    inside indoor inner / outside outdoor outer
    first / second / third / fourth / fifth / sixth / seventh / eighth / ninth / tenth
    monday / tuesday / wednesday / thursday / friday / saturday / sunday
    spring / summer / autumn / winter
    第一 首次 首个 / 第二 / 第三 / 第四 / 第五 / 第六 / 第七 / 第八 / 第九 / 第十
    春季 / 夏季 / 秋季 / 冬季
    above over upper / below under lower
    older oldest / younger youngest
    north northern / south southern
    east eastern / west western
    support agree accept approve allow permit / oppose disagree reject ban prohibit refuse
    most majority largest biggest highest best longest maximum / least minority smallest lowest worst shortest minimum
    fast faster quick / slow slower slowly
    up upward / down downward
    long longer / short shorter
    win won victory success / lose lost defeat failure unsuccessful
    improve / worsen
    gain / loss lost
    lend lent / borrow
    buy bought / sell sold
    expand / shrink shrank
    dependent / independent
    effective / ineffective
    早于 最早 / 晚于 最晚
    开始 启动 开放 / 结束 停止 关闭
    支持 同意 允许 / 反对 拒绝 禁止
    胜利 成功 战胜 击败 打败 获胜 / 失败 输给 负于 败给 不敌
"""
# Characters that turn a pair which is the same otherwise: 饭前 and 饭后, 东门 and 西门, 进口 and 出口.
_TURNING = frozenset(
    map(
        frozenset,
        "前后 东西 南北 左右 上下 内外 增减 升降 涨跌 高低 多少 大小 长短 快慢 早晚 买卖 进出 胜负 赢输 加减".split(),
    )
)
# Between two sides these say which does what to which, or which is more.
_LINKS = """
    than cause lead result induce inhibit activate promote reduce increase decrease regulate prevent block suppress
    produce encode predict affect influence stimulate enhance impair defeat beat precede follow acquire buy own exceed
    replace improve raise lower cut drive trigger mediate modulate control
    高于 低于 大于 小于 多于 少于 超过 早于 晚于 优于 劣于 导致 引起 造成 引发 促进 抑制 影响 决定 击败 战胜 收购 取代
    属于 位于
"""
_CLAUSE_END = re.compile(
    r"[,;:，；：、()（）]|\b(?:but|while|whereas|although|though|however|because|which|who)\b|但是?|然而|却"
)
# "Not only" denies nothing.
_NOT_ONLY = re.compile(r"\bnot only\b", re.IGNORECASE)
_BREAK = "|"
_MAX_TERMS = 200
# A clause away, a word counts as so many terms further off; a negation does not reach beyond its clause.
_CLAUSE_DISTANCE = 6
# A word that stands where its opposite stood is taken for it by this much, and not where hardly anything is shared.
_SAME_WORD, _FAINT = 1.5, 0.01
# Of what the sentence that shares most with a claim shares, what others must share to be considered beside it.
_RELEVANT, _CONSIDERED, _CONSIDERED_DENYING = 0.8, 0.5, 0.4
# In the passive, who does something comes last.
_AGENT, _PASSIVE = "by", frozenset("被由是")
# 是 only does so in 是…的.
_CLEFT, _CLEFT_END = "是", "的"
# In Chinese they stand before the verb too, behind one of these.
_CASES = _PASSIVE.union("向对给")
_FORMS_PASSIVE = frozenset("is are was were be been being".split())
# To say the contrary, a clause shares so much of the other's subject, and both so much of what they hold together.
_SAME_SUBJECT, _SAME_CLAUSE, _MIN_SUBJECT, _AS_NEAR = 0.5, 0.4, 2, 0.9
# An opposite stands in a word's place if so much of the few words beside it is the same.
_SAME_CONTEXT, _MAX_COMPARED = 0.5, 8
_THAN = "than"
_VERB = re.compile(
    r"\b(?:\w{2,}ed|sues?|owns?|lent|lends?|sold|sells?|bought|buys?|paid|pays?|beats?|won|wins?|gave|gives?|took|takes?"
    r"|led|leads?|hit|struck|told|taught|overtook|sent|sends?|fought|chose|shot|built|made)\b"
    r"|\b[a-z]{3,}[^s\W]s\b(?=\s(?:an?|the|its|their|(?-i:[A-Z])\w*|\w+\s(?:to|from|with|against))\b)",
    re.IGNORECASE,
)
# A Chinese verb has one of these behind it, or stands last behind who does it.
_CHINESE_VERB = re.compile(r"(\w\w)(?:[了过给]|(?<=[被由]\w{4})[。，]?$|(?<=[被由]\w{5})[。，]?$)")
_BESIDE = frozenset("in at on between via through with within during among for under near into over since".split())
_BEFORE_OBJECT = frozenset(("to", "from", "against", "by", _THAN, _BREAK))


class Terms(NamedTuple):
    """The terms of a sentence in order, whether each is denied, and what share of a claim's subject they hold."""

    words: Sequence[str]
    denied: Sequence[bool]
    share: float = 1.0


@cache
def _sides() -> Mapping[str, tuple[tuple[int, int], ...]]:
    """Return the pairs of opposites that a word belongs to, and on which side."""
    pairs = [line.split("/") for line in _OPPOSITES.strip().splitlines()]
    found: dict[str, set[tuple[int, int]]] = {}
    for number, sides in enumerate([*pairs, [UP, DOWN]]):
        for side, words in enumerate(sides):
            for word in words.split():
                found.setdefault(stem(word), set()).add((number, side))
    return {word: tuple(sides) for word, sides in found.items()}


@cache
def _links() -> frozenset[str]:
    return frozenset(stem(word) for word in _LINKS.split())


@lru_cache(maxsize=4_096)
def _is_content(term: str) -> bool:
    return term not in (NEGATION_WORD, _BREAK) and bool(content_terms(term))


def is_opposed(claim: str, sentences: Iterable[str]) -> bool:
    """Return whether the sentences that speak about the claim's subject say the contrary of it."""
    claimed = _terms(claim)
    subject = {term for term in claimed.words if _is_content(term) and term not in _sides()}
    pieces = (passage for sentence in sentences for passage in _pieces(_terms(sentence)))
    shares = ((passage, len(subject.intersection(passage.words)) / max(1, len(subject))) for passage in pieces)
    near = [passage._replace(share=share) for passage, share in shares if share]
    return bool(near) and any(check(claimed, near) for check in (_is_denied, _has_opposite, _is_reversed))


@lru_cache(maxsize=4_096)
def has_side(term: str) -> bool:
    """Return whether a term has an opposite, such as more and less."""
    return term in _sides() or any(not pair.isdisjoint(term) for pair in _TURNING)


def is_inverted(claim: str, sentences: Sequence[str]) -> bool:
    """Return whether what comes nearest to a clause of the claim has an opposite in the place of a word, or says that
    the other does it: and nothing as near says the same.
    """
    passage = [_terms(_figured(part)) for sentence in sentences for part in {sentence, *clauses_of(sentence)}]
    verbs = _links() | {stem(match[0]) for match in _VERB.finditer(claim)}
    verbs |= _sides().keys() - _ways().keys()
    verbs |= {match[1] for text in (claim, *sentences) for match in _CHINESE_VERB.finditer(to_simplified(text))}
    for clause in (claim, *clauses_of(claim)):
        claimed = _terms(_figured(clause))
        subject = _subject(claimed)
        if len(subject) < _MIN_SUBJECT:
            continue
        near = []
        for each in passage:
            shared = len(subject & (theirs := _subject(each)))
            share, alike = shared / len(subject), shared / len(subject | theirs)
            if share >= _SAME_SUBJECT and alike >= _SAME_CLAUSE:
                near.append((share + alike, each))
        best = max((rank for rank, _ in near), default=0.0)
        if near and all(_is_contrary(claimed, each, verbs) for rank, each in near if rank >= _AS_NEAR * best):
            return True
    return False


def _figured(text: str) -> str:
    """Return the text with its quantities in digits."""
    plain = without_extra_space(text)
    for amount in reversed(amounts_of(text)):
        if amount.unit != NAMING:
            plain = f"{plain[: amount.start]} {amount.value:g} {amount.unit} {plain[amount.end :]}"
    return plain


def _subject(terms: Terms) -> frozenset[str]:
    return letters_of(word for word in _named(terms.words) if word not in _sides())


def _is_contrary(claimed: Terms, passage: Terms, verbs: frozenset[str]) -> bool:
    """Return whether one of two clauses turns the other; an opposite and exchanged sides together turn nothing."""
    return _has_turned_word(claimed, passage) != any(
        _are_exchanged(claimed, passage, verb, other)
        for verb in verbs.intersection(claimed.words)
        for other in dict.fromkeys(passage.words)
        if other == verb or (verb not in passage.words and _relation(verb, other) < 0)
    )


def _has_turned_word(claimed: Terms, passage: Terms) -> bool:
    """Return whether an opposite stands in a claim's word's place, by the words around it, and none like it does."""
    for at, word in enumerate(claimed.words):
        around = _around(claimed.words, at) if has_side(word) else frozenset[str]()
        others = [other for other in claimed.words if other != word and other not in passage.words]
        found = []
        for index, other in enumerate(passage.words if around else ()):
            relation = _relation(word, other)
            is_same = (relation > 0) == (claimed.denied[at] == passage.denied[index])
            # What another word of the claim agrees with is no opposite of this one.
            is_stated = other in claimed.words or any(_relation(one, other) > 0 for one in others)
            if relation and (is_same or not is_stated):
                there = _around(passage.words, index)
                shared = around & there
                least = _MIN_SUBJECT + any(not term.isascii() for term in shared)
                share = 2 * len(shared) / (len(around) + len(there)) if len(shared) >= least else 0.0
                found.append((share, is_same))
        share, is_same = max(found, default=(0.0, True))
        if share >= _SAME_CONTEXT and not is_same:
            return True
    return False


def _around(words: Sequence[str], at: int) -> frozenset[str]:
    """Return the words of the subject that stand beside a place in its clause, in Chinese their characters."""
    found = set[str]()
    for part in (words[at + 1 :], reversed(words[:at])):
        beside = (word for word in _clause(part) if _is_content(word) and not has_side(word))
        found |= letters_of(islice(beside, _MAX_COMPARED))
    return frozenset(found.difference(words[at]))


def _are_exchanged(claimed: Terms, passage: Terms, verb: str, other: str) -> bool:
    """Return whether those who stand before a verb stand behind it, or behind its opposite, in the other clause."""
    (first, second), (their_first, their_second) = _actors(claimed.words, verb), _actors(passage.words, other)
    moved, came = first - their_first, their_first - first
    has_moved = 2 * len(moved & their_second) >= len(moved) > 0
    return has_moved and 2 * len(came & second) >= len(came) > 0


def _actors(words: Sequence[str], verb: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return who does what a verb says, and who it is done to; where, when and how they do it is neither."""
    at = words.index(verb)
    cases = _CASES if words[-1].endswith(_CLEFT_END) else _CASES - {_CLEFT}
    marked = [index for index, word in enumerate(words[:at]) if not cases.isdisjoint(word)]
    middle = marked[0] if marked else at
    before, after = list(words[:middle]), list(words[middle + 1 :])
    others, is_beside = list[str](), False
    for word in after:
        is_beside = verb != _THAN and (word in _BESIDE or (is_beside and word not in _BEFORE_OBJECT))
        others += [] if is_beside else [word]
    # Beside a Chinese verb stand pairs of its characters and others'.
    seams = {word for word in words if not word.isascii() and not _CASES.union(verb).isdisjoint(word)}
    left, right = (letters_of(_named(part) - {verb} - seams - _ways().keys()) for part in (before, others))
    left, right = left - right, right - left
    is_passive = not (_PASSIVE & cases).isdisjoint(words[middle]) or _is_passive(words, verb)
    return (right, left) if is_passive else (left, right)


def _terms(text: str) -> Terms:
    words: list[str] = []
    for clause in _CLAUSE_END.split(spell_negations(_NOT_ONLY.sub(" ", text))):
        words += [_BREAK, *analyze(clause)]
    denied, negations = [], list[int]()
    for at, word in enumerate(words):
        negations = [] if word == _BREAK else [each for each in negations if at - each <= _NEGATION_DISTANCE]
        denied.append(len(negations) % 2 == 1)
        negations += [at] if word == NEGATION_WORD else []
    return Terms(words, denied)


def _pieces(passage: Terms) -> Iterator[Terms]:
    """Yield a sentence, in pieces if it is longer than any sentence is."""
    for at in range(0, len(passage.words), _MAX_TERMS):
        yield Terms(passage.words[at : at + _MAX_TERMS], passage.denied[at : at + _MAX_TERMS])


def _relation(one: str, other: str) -> int:
    """Return 1 for words of one side, -1 for opposites, 0 for others."""
    if one == other:
        return 1
    sides = _sides()
    pairs = product(sides.get(one, ()), sides.get(other, ()))
    direction = -1 if frozenset(one) ^ frozenset(other) in _TURNING else 0
    return next((1 if a == b else -1 for (m, a), (n, b) in pairs if m == n), direction)


def _has_opposite(claimed: Terms, near: Sequence[Terms]) -> bool:
    """Return whether a word's opposite stands closer to its surroundings in the claim than the word, or one like it."""
    for at, word in enumerate(claimed.words):
        if word not in _sides():
            continue
        around = _distances(claimed.words, at, None)
        best = {True: 0.0, False: 0.0}
        for passage in near:
            for index, other in enumerate(passage.words):
                relation = _relation(word, other)
                if relation:
                    agrees = (relation > 0) == (claimed.denied[at] == passage.denied[index])
                    there = _distances(passage.words, index, around)
                    likeness = sum(1 / (around[term] * there[term]) for term in there) * passage.share**2
                    best[agrees] = max(best[agrees], likeness * (_SAME_WORD if word == other else 1))
        if best[False] > max(best[True], _FAINT):
            return True
    return False


def _distances(words: Sequence[str], at: int, wanted: Collection[str] | None) -> dict[str, int]:
    """Return how far the nearest of each wanted term is from a place; by default, of each term of the subject."""
    found: dict[str, int] = {}
    for step in (1, -1):
        distance, index = 0, at
        while 0 <= (index := index + step) < len(words):
            word = words[index]
            distance += _CLAUSE_DISTANCE if word == _BREAK and wanted is not None else 1
            is_wanted = word in wanted if wanted is not None else _is_content(word) and word not in _sides()
            if is_wanted and distance < found.get(word, len(words) * _CLAUSE_DISTANCE):
                found[word] = distance
    return found


def _is_denied(claimed: Terms, near: Sequence[Terms]) -> bool:
    """Return whether the claim denies what no sentence denies, or the nearest sentences deny what it says."""
    most = max(passage.share for passage in near)
    mine = set(filter(_is_content, claimed.words))
    if NEGATION_WORD in claimed.words:
        denied = {word for word in mine if _always(claimed, word)}
        considered = [passage for passage in near if passage.share >= _CONSIDERED_DENYING * most]
        if not denied:
            return not any(NEGATION_WORD in passage.words for passage in considered)
        return not any(denied.intersection(compress(passage.words, passage.denied)) for passage in considered)
    nearest = [passage for passage in near if passage.share >= _RELEVANT * most]
    return all(any(_always(passage, word) for word in mine) for passage in nearest)


def _always(passage: Terms, word: str) -> bool:
    """Return whether a word stands in a sentence, and everywhere under a negation."""
    return word in passage.words and (word, False) not in zip(passage.words, passage.denied, strict=True)


def _is_reversed(claimed: Terms, near: Sequence[Terms]) -> bool:
    """Return whether what does something to another comes after it in all sentences that hold much of both."""
    most = max(passage.share for passage in near)
    considered = [passage.words for passage in near if passage.share >= _CONSIDERED * most]
    found = []
    for at, word in enumerate(claimed.words):
        if word in _links():
            left, right = _parts(claimed.words, at)
            # Where another word links the two, an agent that is named may stand on either side.
            for words in (each for each in considered if word in each or _AGENT not in each):
                is_inverted = _is_passive(claimed.words, word) != _is_passive(words, word)
                first, second = (right, left) if is_inverted else (left, right)
                before = [index for index, each in enumerate(words) if each in first]
                after = [index for index, each in enumerate(words) if each in second]
                if before and after:
                    share = min(len(side.intersection(words)) / len(side) for side in (first, second))
                    pairs = [one < other for one, other in product(before, after)]
                    found.append((share, 2 * sum(pairs) >= len(pairs)))
    full = max((share for share, _ in found), default=0.0)
    return bool(full) and not any(in_order for share, in_order in found if share >= _CONSIDERED * full)


def _is_passive(words: Sequence[str], link: str) -> bool:
    """Return whether who does something is named after it; "reduced by 12 per cent" names nobody."""
    for index in (index for index, word in enumerate(words) if word == link):
        is_formed = not _FORMS_PASSIVE.isdisjoint(words[max(0, index - 3) : index])
        following = words[index + 1 : index + (8 if is_formed else 3)]
        if any(word == _AGENT and not after[:1].isdigit() for word, after in pairwise([*following, ""])):
            return True
    return False


def _parts(words: Sequence[str], at: int) -> tuple[set[str], set[str]]:
    """Return the terms on the two sides of a word: those of its clause, or all where there are none."""
    before, after = words[:at], words[at + 1 :]
    left = _named(_clause(reversed(before))) or _named(before)
    right = _named(_clause(after)) or _named(after)
    return left - right, right - left


def _clause(words: Iterable[str]) -> Iterator[str]:
    """Yield the words before the end of a clause."""
    return takewhile(_BREAK.__ne__, words)


def _named(words: Iterable[str]) -> set[str]:
    return {word for word in words if _is_content(word) and not word[0].isdigit()}
