"""Names that a sentence holds and its sources do not: Latin ones, and Chinese ones beside a title or kind of thing."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache

from deep_research.text.analyzer import CJK, CJK_CHARACTER
from deep_research.text.folding import to_simplified
from deep_research.verify.clauses import terms_of
from deep_research.verify.nearest import NEAR, REVERSED, Near

# A name in Latin letters ends where they end: the characters of Chinese right behind it are no part of it.
_LATIN = r"A-Za-z\d_\u00c0-\u024f"
_NAME = re.compile(rf"(?<![{_LATIN}(（-])[A-Z][{_LATIN}&'’-]*[{_LATIN}](?:\s+[A-Z][{_LATIN}&'’-]*[{_LATIN}])*")
# A capital letter after one of these begins a clause, and makes no name.
_CLAUSE_END = ".:;!?。：；！？—–|•"
_LATIN_WORD = re.compile(r"[^\W\d_]+")
_UNNAMED = frozenset(
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday the this these in on at it".split()
)
# "Germany" and "German" name the same thing and share this many letters.
_NAME_STEM = 4
# A people and its land that share fewer.
_PEOPLES = tuple(
    pair.split("/")
    for pair in (
        "amer/unit brit/unit dani/denm dutc/neth engl/brit finn/finl fren/fran iris/irel poli/pola span/spai swis/swit "
        "wels/wale"
    ).split()
)

_BESIDE_CJK = re.compile(rf"(?<=[{CJK}])(?=[A-Za-z])|(?<=[A-Za-z])(?=[{CJK}])")
_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董潘袁蔡蒋余于杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖"
    "贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤常温康施文牛樊葛邢安齐易乔伍庞颜倪庄聂章鲁岳翟"
    "殷詹申欧耿关兰焦俞左柳甘祝包宁尚符舒阮柯纪梅童凌毕单季裴霍涂成苗谷盛曲翁冉骆蓝路游辛靳管柴蒙鲍华喻祁蒲房滕屈饶解牟艾尤阳"
)
_TITLES = "市长|主任|局长|院长|教授|工程师|总工|经理|董事长|总裁|书记|部长|处长|博士|先生|女士|组长|馆长|校长|主席|记者"
_KINDS = "公司|集团|银行|大学|学院|医院|研究院|研究所|设计院|委员会|市|县|区|镇|村|省|湖|河|江|港|厂|桥"
# A person beside a title, and what ends in a word for its kind, with the letter before it.
_CHINESE_NAME = re.compile(
    rf"(?:{_TITLES})(?P<after>[{_SURNAMES}][{CJK}])"
    rf"|(?P<before>[{_SURNAMES}][{CJK}]{{1,2}})(?={_TITLES})"
    rf"|(?P<kind>(?![年月日的本全该各等和与在为个两是从到及])[{CJK}](?:{_KINDS}))"
)
# What stands between is part of the name.
_KIND_AHEAD = re.compile(rf"(?:(?![和与及的在是为由])[\u3400-\u9fff]){{0,4}}?(?:{_KINDS})")


def unknown_name(text: str, quotes: str) -> str:
    """Return the first name in Latin letters that the quotes do not hold; quotes in another script cannot tell."""
    words, stems, initials, is_cjk = _latin_words(quotes)
    if is_cjk and not CJK_CHARACTER.search(text):
        return ""
    for parts in _names(text):
        if "".join(part[0] for part in parts if part.lower() not in _UNNAMED) in words:
            continue
        for part in parts:
            if part.removesuffix("s").isupper() and part.removesuffix("s") in initials:
                continue
            letters = [word.lower() for word in _LATIN_WORD.findall(part) if word[0].isupper()]
            if any(word[:_NAME_STEM] not in stems and word not in _UNNAMED for word in letters if len(word) > 1):
                return part
    return ""


# Each name of a sentence is looked for in the same few texts.
@lru_cache(maxsize=64)
def _latin_words(quotes: str) -> tuple[frozenset[str], frozenset[str], str, bool]:
    """Return the words in Latin letters, their stems and first letters, and whether most of a text is in Chinese."""
    words = _LATIN_WORD.findall(_BESIDE_CJK.sub(" ", quotes))
    stems = {word.lower()[:_NAME_STEM] for word in words}
    stems |= {stem for pair in _PEOPLES if not stems.isdisjoint(pair) for stem in pair}
    initials = "".join(word[0].upper() for word in words)
    return frozenset(words), frozenset(stems), initials, len(CJK_CHARACTER.findall(quotes)) > len(words)


def _names(text: str) -> Iterator[list[str]]:
    """Yield the words of each name in Latin letters, without the word that begins a sentence."""
    for match in _NAME.finditer(text):
        parts = match[0].split()
        before = text[: match.start()].rstrip()
        begins = not before.strip("\"'“‘「") or before[-1] in _CLAUSE_END
        yield parts[1:] if begins else parts


def exchanged_name(text: str, near: Near, around: str, whole: str) -> str:
    """Return a name that stands where the nearest sentence has another one, or ""."""
    plain, known = to_simplified(text), to_simplified(whole)
    strange = [name for name in _chinese_names(plain) if name not in known]
    if strange and any(name not in plain for name in _chinese_names(to_simplified(near.text))):
        return strange[0]
    own = [word for parts in _names(text) for word in parts]
    theirs = terms_of(" ".join(_NAME.findall(near.text)))
    strange = [word for word in own if unknown_name(f"is {word}", around)]
    unnamed, near_unnamed = terms_of(text) - terms_of(" ".join(own)), terms_of(near.text) - theirs
    is_alike = len(unnamed & near_unnamed) >= REVERSED * len(unnamed | near_unnamed)
    if strange and is_alike and theirs - terms_of(text):
        return strange[0]
    return _letter_changed(plain, to_simplified(near.text), known)


def _letter_changed(text: str, near: str, known: str) -> str:
    """Return a Chinese name of a kind of thing in which a letter or two stand for others, in the same sentence."""
    matcher = SequenceMatcher(None, text, near, autojunk=False)
    for change, a, b, c, d in matcher.get_opcodes() if matcher.ratio() >= NEAR else ():
        kind = _KIND_AHEAD.match(text, b)
        if change != "replace" or not b - a == d - c <= 2 or not kind or not CJK_CHARACTER.match(text, a):
            continue
        if text[a : kind.end()] not in known and near[c : d + kind.end() - b].endswith(kind[0]):
            return text[a : kind.end()]
    return ""


def _chinese_names(text: str) -> list[str]:
    return [next(filter(None, match.groups())) for match in _CHINESE_NAME.finditer(text)]
