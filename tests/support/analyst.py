"""A model that answers every prompt in the form it asks for, out of the material in the prompt; it never thinks."""

import asyncio
import json
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache

from deep_research.llm.port import Delta, ModelReply, ModelRequest, OnDelta
from deep_research.llm.tokens import tokens_at_most
from deep_research.reasoning.model.prompting import PROMPT_FOLDER
from deep_research.request import Spend
from deep_research.testing import CallLog
from deep_research.text.analyzer import analyze
from deep_research.text.folding import to_simplified
from deep_research.text.sentences import split_sentences
from tests.support.model_dialects import Answer, Asked

_SOURCE = re.compile(r'<source id="(E?\d+)"[^>]*>\n(.*?)\n</source>', re.DOTALL)
_DRAFT = re.compile(r"<draft[^>]*>\n(.*?)\n</draft>", re.DOTALL)
_ASKER = re.compile(r"<asker>\n(.*?)\n</asker>", re.DOTALL)
_TO_JUDGE = re.compile(r"^(\d+) \(([a-z, ]+)\) (.*)$", re.MULTILINE)
_FINDING = re.compile(r"^(\d+) \(finding\) (.*?) (\[[^\[\]]+\])$", re.MULTILINE)
_CITED = re.compile(r"E\d+")
_PLANNED = re.compile(r"^Planned sections:\n<notes[^>]*>\n(.*?)\n</notes>", re.DOTALL | re.MULTILINE)
_LISTED = re.compile(r"<source[^>]*>\n(1 .*?)\n</source>", re.DOTALL)
_CHAPTER = "# Step: write a chapter"
_ANALYSIS = re.compile(r"One more, `## ([^`]+)`, weighs the matter")
_TOLD = re.compile(r"\bAs (?:reported|told), |资料显示，|資料顯示，")
# So much of a sentence that was made false stands in its passage.
_NEAR = 0.7
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_ADVICE = {
    "en": "1. **Look again.** So this deserves a second look [so: {label}].",
    "zh": "1. **重新审视。** 因此这一点值得重新审视[so: {label}]。",
}
_TITLE = re.compile(r"^Title: (.+)$", re.MULTILINE)
Reply = Callable[[ModelRequest], str]


@dataclass
class ScriptedAnalyst:
    """Answers as a good model would in form; `answers` replaces an act's answer, for every call of it.

    `requests` keeps every prompt; delays are in seconds, prices in dollars a token.
    """

    answers: Mapping[str, Reply] = field(default_factory=dict)
    name: str = "scripted:analyst"
    delay_s: float = 0.0
    long_delay_s: float = 0.0
    usd_a_token: float = 0.0
    requests: list[ModelRequest] = field(default_factory=list)
    log: CallLog = field(default_factory=CallLog)
    unpriced: tuple[str, ...] = ()

    def estimate(self, request: ModelRequest) -> Spend:
        """Return prompt and longest answer at the declared price."""
        tokens = tokens_at_most(request.text) + request.max_tokens
        return Spend(tokens=tokens, usd=tokens * self.usd_a_token)

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        """Answer by the act's script."""
        self.requests.append(request)
        self.log.write("begin", "llm", request.act)
        await asyncio.sleep(self.long_delay_s if request.role == "thinking" else self.delay_s)
        text = self.answers.get(request.act, answer_in_form)(request)
        if on_delta is not None:
            on_delta(Delta("text", text))
        self.log.write("end", "llm", request.act)
        tokens_in, tokens_out = tokens_at_most(request.text), tokens_at_most(text)
        usd = (tokens_in + tokens_out) * self.usd_a_token
        return ModelReply(text=text, model=self.name, tokens_in=tokens_in, tokens_out=tokens_out, usd=usd)


def answer_in_form(request: ModelRequest) -> str:
    """Return an answer in the form that the request's act wants."""
    return _ANSWERS[request.act](request)


def act_of(prompt: str) -> str:
    """Return the act that a prompt asks for, by the last heading of a step in it."""
    found = {prompt.rfind(heading): act for heading, act in _headings().items()}
    return found[max(found)]


@cache
def _headings() -> dict[str, str]:
    names = {"clarify": "assess", "chapter": "draft"}
    heads = {path.stem: path.read_text(encoding="utf-8").partition("\n")[0] for path in PROMPT_FOLDER.glob("*.md")}
    return {head: names.get(name, name) for name, head in heads.items() if head.startswith("# Step")}


def answer_over_the_wire(asked: Asked) -> Answer:
    """Answer a request that came to a model server."""
    request = ModelRequest(act=act_of(asked.text), role="task", prompt=asked.text, max_tokens=1)
    return Answer(text=answer_in_form(request), tokens_in=tokens_at_most(asked.text))


def sources_of(request: ModelRequest) -> dict[str, str]:
    """Return the fenced passages of a prompt by their labels."""
    return dict(_SOURCE.findall(request.text))


def _assess(request: ModelRequest) -> str:
    question = _ASKER.findall(request.prompt)[0]
    focuses = ["costs", "results", "criticism"]
    return json.dumps({"confidence": 0.95, "goal": question, "focuses": focuses, "refined_question": question})


def _plan(request: ModelRequest) -> str:
    question = _ASKER.findall(request.text)[0]
    wanted = re.search(r"exactly these, in this order: (.+)\.$", request.prompt, re.MULTILINE)
    sections = wanted.group(1).split("; ") if wanted else ["Costs", "Results", "Criticism"]
    queries = [f"{question} {section} {number}" for section in sections for number in (1, 2, 3)]
    numbers = [place // 3 + 1 for place in range(len(queries))]
    return json.dumps(
        {"title": question, "goal": question, "sections": sections, "queries": queries, "query_sections": numbers},
        ensure_ascii=False,
    )


def _queries(request: ModelRequest) -> str:
    title, count = _TITLE.findall(request.prompt)[0], re.findall(r"at most (\d+) new", request.prompt)[0]
    turn = re.findall(r"Round of searching: (\d+)", request.prompt)[0]
    return json.dumps({"queries": [f"{title} round {turn} query {number + 1}" for number in range(int(count))]})


def _extract(request: ModelRequest) -> str:
    passages = sources_of(request)
    sections = len(re.findall(r"^\d+\. ", request.prompt, re.MULTILINE))
    spread = [zlib.crc32(text.encode()) % sections + 1 for text in passages.values()]
    return json.dumps({"passages": list(passages), "sections": spread}, ensure_ascii=False)


def _reflect(request: ModelRequest) -> str:
    score = min(9, 2 + len(sources_of(request)))
    question = _ASKER.findall(request.text)[0]
    turn = re.findall(r"Round (\d+) is over", request.prompt)[0]
    scores = dict.fromkeys(("coverage", "depth", "diversity", "consistency", "recency"), score)
    return json.dumps(
        {
            **scores,
            "added": " ".join(sources_of(request).values())[:600],
            "gaps": [f"more on {question}"],
            "next_queries": [f"{question} after round {turn}"],
            "reasoning": "counted",
        }
    )


def retold(text: str) -> list[str]:
    """Return the sentences of a passage in slightly other words, so that they are no quotations."""
    sentences = [" ".join(text[start:end].split()) for start, end in split_sentences(text)]
    return [
        f"资料显示，{sentence}" if _CHINESE.search(sentence) else f"As reported, {sentence}" for sentence in sentences
    ]


def report(request: ModelRequest, *, sentences: int | None = 2) -> str:
    """Return a report: the first passages as its answer, the others under the planned sections in turn, each of them
    by its first sentences; few, since checking a hundred is not what most tests are about.

    The answer ends with what to do about it, which follows from its first passage.
    """
    passages = sources_of(request)
    told = [" ".join(f"{each} [{label}]" for each in retold(text)[:sentences]) for label, text in passages.items()]
    if _CHAPTER in request.prompt:
        return "\n\n".join(told)
    titles = [line.removeprefix("- ") for line in _PLANNED.findall(request.text)[-1].splitlines()]
    count = max(1, len(told) // (len(titles) + 1))
    advice = _ADVICE["zh" if "Chinese" in request.prompt else "en"].format(label=next(iter(passages)))
    parts = ["\n\n".join(told[:count]), advice]
    rest = told[count:] or told
    for place, title in enumerate(titles):
        own = rest[place :: len(titles)]
        parts += [f"## {title}", "\n\n".join(own)] if own else []
    return "\n\n".join([*parts, *sides(request)])


def _outline(request: ModelRequest) -> str:
    """Return a chapter for each planned section; the documents are dealt to them in turn."""
    [documents, *_] = _LISTED.findall(request.prompt)
    numbers = [line.partition(" ")[0] for line in documents.splitlines()]
    titles = [line.removeprefix("- ") for line in _PLANNED.findall(request.prompt)[-1].splitlines()]
    titles = titles[: len(numbers)]
    return json.dumps(
        {
            "titles": titles,
            "settles": [f"what there is on {title}" for title in titles],
            "columns": [],
            "documents": [", ".join(numbers[place :: len(titles)]) for place in range(len(titles))],
        },
        ensure_ascii=False,
    )


def _answer(request: ModelRequest) -> str:
    """Return the first findings of the chapters, with their marks."""
    told = _FINDING.findall(_DRAFT.findall(request.prompt)[0])[:3]
    return " ".join(f"{text.rstrip('.。 ')} {mark}." for _, text, mark in told)


def _judge(request: ModelRequest) -> str:
    """Return that a sentence is carried by the sentence of a cited passage that shares most words with it; one that
    only nearly stands there was made false.
    """
    passages = sources_of(request)
    columns: dict[str, list[object]] = {"sentences": [], "verdicts": [], "spans": [], "passages": []}
    asked = _TO_JUDGE.findall(_DRAFT.findall(request.prompt)[-1])
    for number, kind, sentence in asked:
        cited = [label for label in _CITED.findall(sentence.rpartition("[")[2]) if label in passages]
        text = passages[cited[0]] if cited else ""
        words = set(analyze(sentence))
        spans = [text[start:end] for start, end in split_sentences(text)]
        span = max(spans, key=lambda span: len(words.intersection(analyze(span))), default="")
        own = to_simplified(_TOLD.sub("", " ".join(sentence.rpartition(" [")[0].split())))
        is_near = len(words.intersection(analyze(span))) > _NEAR * len(words)
        # A figure more or less changes most of what a short Chinese sentence is cut into.
        is_near = is_near or SequenceMatcher(None, own, to_simplified(span)).ratio() > _NEAR
        is_retold = own in to_simplified(" ".join(text.split()))
        is_false = kind == "finding" and is_near and not is_retold
        columns["sentences"].append(int(number))
        columns["verdicts"].append(
            "follows" if kind.startswith("conclusion") else "not_found" if is_false else "supported"
        )
        columns["spans"].append(span)
        columns["passages"].append(", ".join(cited))
    return json.dumps(columns, ensure_ascii=False)


def sides(request: ModelRequest) -> list[str]:
    """Return a look from two sides, each a passage and what follows from it, where the prompt wants one."""
    title = _ANALYSIS.findall(request.prompt)
    if not title:
        return []
    names = ("成本一面", "成效一面") if "Chinese" in request.prompt else ("Who pays", "Who gains")
    drawn = "因此这一面值得细看" if "Chinese" in request.prompt else "So this side deserves a closer look"
    told = list(sources_of(request).items())
    sides = [
        f"### {name}\n\n{retold(text)[0].replace('As reported', 'As told')} [{label}] {drawn} [so: {label}]."
        for name, (label, text) in zip(names, (told * 2)[-2:], strict=True)
    ]
    return [f"## {title[0]}", *sides]


def _edit(request: ModelRequest) -> str:
    """Return that every finding names the first chart, where there is one: it stays where it shows what is cited."""
    draft = _DRAFT.findall(request.prompt)
    told = list(_FINDING.finditer(draft[0])) if draft and "- Figure 1: " in request.prompt else []
    texts = [
        f"{one[2].rstrip('.。 ')}{'（图1）' if _CHINESE.search(one[2]) else ' (Figure 1)'} {one[3]}." for one in told
    ]
    return json.dumps({"sentences": [int(each[1]) for each in told], "texts": texts}, ensure_ascii=False)


_ANSWERS: dict[str, Reply] = {
    "assess": _assess,
    "plan": _plan,
    "queries": _queries,
    "extract": _extract,
    "reflect": _reflect,
    "plan_charts": lambda _: json.dumps({"charts": [1]}),
    "repair_chart": lambda request: json.dumps({"python_code": _DRAFT.findall(request.prompt)[0]}),
    "outline": _outline,
    "draft": report,
    "answer": _answer,
    "judge": _judge,
    "find_held": lambda _: json.dumps({"statements": [], "stretches": [], "spans": []}),
    "edit": _edit,
    "recall": lambda _: json.dumps({"text": "From memory: this was built long ago."}),
}
