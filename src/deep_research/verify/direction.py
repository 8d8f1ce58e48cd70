"""Do passages turn the same way as a sentence: up or down, for or against, related or not. Counts words, no more."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from deep_research.text.analyzer import stem
from deep_research.verify.particulars import NEGATION_WORD

# One word of each family is enough: English is compared by stems, Chinese by pairs of characters, simplified.
UP = """
    increase raise rise rose risen high higher elevate enhance promote improve stimulate upregulate activate induce
    more greater larger gain grow growth grew boost accelerate encourage positive positively longer strengthen
    strong expand better facilitate exceed above susceptible augment restore benefit profit surplus success
    effective efficient accurate win majority sensitive worsen
    增加 增长 上升 提高 提升 升高 上涨 扩大 增强 促进 改善 加快 加速 超过 高于 多于 大于 优于 好于 最高 最大 最多
    较高 更高 更多 增幅 涨幅 升至 增至 盈利 盈余 有效 成功 加强 激活 诱导
"""
DOWN = """
    decrease reduce reduction low lower inhibit suppress repress downregulate impair prevent prevention block less
    fewer smaller decline fall fell drop diminish attenuate slow weaken weak negative negatively shorter loss lose
    lost deplete deficient protect worse discourage below resistant abolish eliminate mitigate delay damage disrupt
    hinder limit deficit failure ineffective inefficient inaccurate minority insensitive impede inactivate deactivate
    cut shrink
    减少 下降 降低 下跌 下滑 缩小 减弱 抑制 恶化 放缓 减缓 低于 少于 小于 劣于 最低 最小 最少 较低 更低 更少 降幅
    跌幅 降至 减至 亏损 赤字 失败 削弱 阻止 预防 减轻 缩短
"""
# For or against, related or not: they have a direction, but no opposite among the words above.
_FOR = """
    support agree accept approve allow permit associate association relate relation link correlate correlation effect
    affect influence impact interact involve role contribute able capable can dependent require necessary essential need
    known evidence significant significantly predict cause result lead 支持 同意 批准 允许 相关 有关 导致 影响 显著 必要
"""
_AGAINST = """
    oppose reject ban prohibit independent unrelated unable incapable unaffected unnecessary insignificant
    反对 否决 禁止
"""
# A negation turns a word that follows within so many terms; a turned word speaks of what stands around it.
_NEGATION_REACH, _CONTEXT_REACH = 4, 10
# Contexts that share half the subject must not outvote one that shares all of it; a lone weak one decides nothing.
_SHARPNESS, _DOUBT = 3, 0.15


@lru_cache(maxsize=1)
def _ways() -> dict[str, int]:
    ways = {stem(word): -1 for word in (DOWN + _AGAINST).split()}
    return ways | {stem(word): 1 for word in (UP + _FOR).split()}


def agreement(sentence: Sequence[str], passages: Iterable[Sequence[str]], subject: frozenset[str]) -> float:
    """Return from -1 to 1 how far the passages' sentences turn the same way where they speak about the subject.

    Both come as terms with `NEGATION_WORD` for each negation; a sentence without direction, or with two, gives 0.
    """
    said = [way for _, way in _turns(sentence)]
    about = {term for term in subject if term not in _ways()}
    if not said or not about:
        return 0.0
    votes = {1: 0.0, -1: 0.0}
    for terms in passages:
        for at, way in _turns(terms):
            around = terms[max(0, at - _CONTEXT_REACH) : at + _CONTEXT_REACH + 1]
            votes[way] += (len(about.intersection(around)) / len(about)) ** _SHARPNESS
    return sum(said) / len(said) * (votes[1] - votes[-1]) / (votes[1] + votes[-1] + _DOUBT)


def _turns(terms: Sequence[str]) -> list[tuple[int, int]]:
    """Return where terms have a direction, and which, turned by the negations before it."""
    ways = _ways()
    found = []
    for at, term in enumerate(terms):
        if term in ways:
            negations = terms[max(0, at - _NEGATION_REACH) : at].count(NEGATION_WORD)
            found.append((at, -ways[term] if negations % 2 else ways[term]))
    return found
