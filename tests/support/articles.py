"""Articles for a web that never changes: about 8 KB of HTML each, prose with figures, in English or Chinese.

The same number gives the same article always; two numbers give texts that share few phrases.
"""

import random
from dataclasses import dataclass
from html import escape
from typing import Final

from deep_research.request import Language
from deep_research.text.folding import to_simplified

_BYTES: Final = 8_000
_SENTENCES_A_PARAGRAPH: Final = 5


@dataclass(frozen=True)
class Article:
    """A page on a host of its own; `paragraphs` is what it has to say."""

    host: str
    path: str
    language: Language
    title: str
    author: str
    published: str
    paragraphs: tuple[str, ...]

    def html(self, origin: str) -> bytes:
        """Return the page as its host sends it, with the menu and the margins that pages have."""
        body = "\n".join(f"<p>{escape(paragraph)}</p>" for paragraph in self.paragraphs)
        return _PAGE.format(
            language={"zh-Hans": "zh-CN", "zh-Hant": "zh-TW"}.get(self.language, self.language),
            title=escape(self.title),
            author=escape(self.author),
            published=self.published,
            canonical=f"{origin}{self.path}",
            body=body,
        ).encode()


def articles(count: int, *, language: Language = "en", first: int = 0) -> list[Article]:
    """Return as many articles, each on a loopback address of its own; the one with number 0 stands on 127.0.0.2."""
    return [_article(number, language) for number in range(first, first + count)]


def _article(number: int, language: Language) -> Article:
    dice = random.Random(f"{number} {language}")
    voice = _ENGLISH if language == "en" else _CHINESE
    subject = voice["subject"][number % len(voice["subject"])]
    place = voice["place"][(number * 7 + number // len(voice["subject"])) % len(voice["place"])]
    title = _filled(dice.choice(voice["title"]), voice, dice, subject, place)
    sentences: list[str] = []
    size = len(_PAGE)
    patterns: list[str] = []
    while size < _BYTES:
        patterns = patterns or dice.sample(voice["sentence"], len(voice["sentence"]))
        sentences.append(_filled(patterns.pop(), voice, dice, subject, place))
        size += len(sentences[-1].encode()) + 3
    space = " " if language == "en" else ""
    starts = range(0, len(sentences), _SENTENCES_A_PARAGRAPH)
    texts = (title, dice.choice(voice["author"]), *(space.join(sentences[at : at + 5]) for at in starts))
    title, author, *paragraphs = map(to_simplified, texts) if language == "zh-Hans" else texts
    return Article(
        host=f"127.0.{(number + 2) // 256}.{(number + 2) % 256}",
        path=f"/{2015 + number % 10}/{number:03}.html",
        language=language,
        title=title,
        author=author,
        published=f"{2015 + number % 10}-{number % 12 + 1:02}-{number % 28 + 1:02}",
        paragraphs=tuple(paragraphs),
    )


def _filled(pattern: str, voice: dict[str, list[str]], dice: random.Random, subject: str, place: str) -> str:
    text = pattern.replace("{subject}", subject).replace("{place}", place)
    for name, words in voice.items():
        while f"{{{name}}}" in text:
            text = text.replace(f"{{{name}}}", dice.choice(words), 1)
    for name, first, last in (("n", 12, 980), ("k", 2, 48), ("y", 2006, 2015), ("z", 2016, 2025)):
        while f"{{{name}}}" in text:
            text = text.replace(f"{{{name}}}", str(dice.randint(first, last)), 1)
    while "{p}" in text:
        text = text.replace("{p}", f"{dice.randint(1, 39)}.{dice.randint(1, 9)}", 1)
    return text[0].upper() + text[1:]


_PAGE: Final = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>
<meta name="author" content="{author}"><meta property="og:type" content="article">
<meta property="article:published_time" content="{published}T08:00:00Z"><link rel="canonical" href="{canonical}">
<style>nav a {{ margin: 1em }}</style></head>
<body><nav><a href="/">Home</a><a href="/about">About</a><a href="/archive">Archive</a></nav>
<main><article><h1>{title}</h1><p class="byline">{author} · <time datetime="{published}">{published}</time></p>
{body}
</article></main>
<aside><a href="/newsletter">Newsletter</a></aside><footer><a href="/imprint">Imprint</a> © 2026</footer></body></html>
"""

_ENGLISH: Final = {
    "title": [
        "{subject} in {place}: what {k} years show", "{place} counts its {subject}", "How {place} pays for {subject}",
    ],
    "author": ["Ines Albrecht", "Tom Okafor", "Mary Whitfield", "Rafael Duarte", "Hanna Lindqvist", "Priya Raman"],
    "subject": [
        "heat pumps", "tram lines", "river ferries", "water mains", "school kitchens", "wind farms", "night trains",
        "public libraries", "bike lanes", "cold stores", "city forests", "tidal mills", "bus depots",
    ],
    "place": [
        "Aarhus", "Bergen", "Cork", "Dundee", "Essen", "Faro", "Ghent", "Haifa", "Izmir", "Jena", "Kisumu", "Lodz",
        "Malmo", "Nantes", "Oulu", "Porto", "Quito", "Riga", "Split", "Turku",
    ],
    "rose": ["rose", "grew", "climbed", "went up", "increased", "edged higher"],
    "fell": ["fell", "dropped", "shrank", "went down", "declined", "slipped"],
    "who": [
        "the audit office", "a survey of {n} households", "the port authority", "the county engineer",
        "two universities", "the works council", "an insurer", "the ministry", "the operator",
        "a panel of {k} residents",
    ],
    "thing": [
        "repairs", "fares", "wages", "breakdowns", "permits", "night shifts", "spare parts", "complaints", "fuel bills",
        "visitor numbers", "loan costs", "waiting times", "leaks", "licences",
    ],
    "why": [
        "because contracts ran out", "after a cold spring", "once a second depot opened", "although prices had eased",
        "while the budget stood still", "since staff were hard to find", "as old meters were replaced",
    ],
    "sentence": [
        "{who} put the cost of {subject} at {n} million euros in {y}.",
        "{thing} {rose} by {p}% in {y}, {why}.",
        "By {z}, {place} had {n} of them in service, against {k} in {y}.",
        "In {place}, {thing} {fell} from {n} to {k} within {k} years.",
        "{who} found that {p} percent of {thing} traced back to {thing}.",
        "Nobody at {who} expected {thing} to pass {n} thousand.",
        "Between {y} and {z} spending on {thing} {rose} {why}.",
        "{who} disagrees: it counts {n} cases, not {n}.",
        "Savings of {p}% were promised; {p}% came about, {why}.",
        "A loan of {k} million euros at {p}% covers {thing} until {z}.",
        "{why}, {who} closed {k} sites and kept {n}.",
        "For {subject}, {thing} weigh more than {thing}, says {who}.",
        "{place} signed {k} contracts worth {n} thousand euros each.",
        "The share of {thing} in all costs {fell} to {p}% during {y}.",
        "Last winter {n} customers went without service for {k} hours {why}.",
        "Compared with {place}, towns of its size spent {p} times as much on {thing}.",
        "{who} wants {k} more engineers and {n} new sensors by {z}.",
        "Of {n} people asked, {p} percent named {thing} first.",
        "Figures for {z} are preliminary: {who} revises {thing} every {k} months.",
        "{thing} and {thing} together {rose} to {n} million, {who} reports.",
        "What {rose} most was {thing}: {p}% a year for {k} years.",
        "Per head, {subject} cost {k} euros a month, {p}% less than in {y}.",
    ],
}  # fmt: skip

# In traditional characters; the simplified articles are folded from them.
_CHINESE: Final = {
    "title": ["{place}的{subject}：{k}年的數字說明了什麼", "{place}{subject}調查", "{subject}如何改變{place}"],
    "author": ["陳怡君", "林志明", "王曉雲", "張文博", "李思齊", "周佩珊"],
    "subject": (
        "地熱供暖 有軌電車 渡輪航線 自來水管網 學校廚房 風力發電 "
        "夜間列車 公共圖書館 自行車道 冷藏倉庫 城市森林 潮汐電站 公車場站"
    ).split(),
    "place": (
        "台中 高雄 新竹 杭州 成都 西安 廈門 青島 昆明 長沙 "
        "武漢 南京 大連 蘇州 福州 珠海 嘉義 花蓮 寧波 合肥"
    ).split(),
    "rose": ["上升", "增加", "成長", "提高", "攀升"],
    "fell": ["下降", "減少", "縮減", "回落", "降低"],
    "who": (
        "審計部門 市政工程處 兩所大學 營運公司 "
        "保險業者 消費者協會 地方議會 獨立研究小組 財政局"
    ).split(),
    "thing": (
        "維修費用 票價收入 人員薪資 故障次數 許可申請 零件庫存 "
        "投訴件數 燃料支出 訪客人數 貸款利息 等候時間 滲漏損失"
    ).split(),
    "why": ["因為合約到期", "由於春季寒冷", "在第二座場站啟用之後", "儘管物價趨緩", "因人手難尋", "隨著舊表更換"],
    "sentence": [
        "{who}估計，{y}年{subject}的成本為{n}萬元。",
        "{y}年{thing}{rose}了{p}%，{why}。",
        "到{z}年，{place}已有{n}處投入使用，而{y}年只有{k}處。",
        "在{place}，{thing}於{k}年內從{n}件{fell}到{k}件。",
        "{who}發現，{p}%的{thing}與{thing}有關。",
        "沒有人料到{thing}會超過{n}萬。",
        "{y}年至{z}年之間，用於{thing}的開支{rose}，{why}。",
        "{who}不同意這個說法：他們統計的是{n}起，而不是{n}起。",
        "原先承諾節省{p}%，實際只有{p}%，{why}。",
        "一筆{k}億元、利率{p}%的貸款將支應{thing}到{z}年。",
        "{why}，{who}關閉了{k}個據點，保留{n}個。",
        "{who}指出，對{subject}而言，{thing}比{thing}更重要。",
        "{place}簽下{k}份合約，每份價值{n}萬元。",
        "{thing}占總成本的比例在{y}年{fell}到{p}%。",
        "去年冬天有{n}戶停用{k}小時，{why}。",
        "與規模相近的城市相比，{place}在{thing}上的花費是其{p}倍。",
        "{who}希望在{z}年以前增聘{k}名工程師，並加裝{n}個感測器。",
        "受訪的{n}人當中，{p}%首先提到{thing}。",
        "{z}年的數據仍屬初步，{who}每{k}個月修訂一次{thing}。",
        "{thing}和{thing}合計{rose}到{n}萬元。",
        "{rose}最多的是{thing}，連續{k}年平均每年{p}%。",
        "平均每人每月為{subject}支付{k}元，比{y}年少{p}%。",
    ],
}  # fmt: skip
