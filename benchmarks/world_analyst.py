"""The model of the bench world: the scripted analyst, who now wants a second round, and who lies in every draft."""

import json
import re
from dataclasses import replace

from benchmarks.world_calls import PLANTED_FIGURE, PLANTED_NAME
from deep_research.llm.tokens import tokens_at_most
from tests.support.analyst import answer_over_the_wire
from tests.support.model_dialects import Answer, Asked

# What models say now and then in place of data, or of prose with marks.
OFF_FORM = "I would be glad to help with that! Could you tell me a little more about what you need?"
_FIGURE = re.compile(r"\d+(?:\.\d+)?(?![\d\]])")
_TITLE = re.compile(r"^Title: (.+)$", re.MULTILINE)
_ROUND = re.compile(r"^Round (\d+) is over", re.MULTILINE)
# After this round a section has enough: the first at once, the last only when it has searched three times.
_LAST_ROUND = {"Costs": 1, "Results": 2}
_LAST_OF_OTHERS = 3
_PIECES = 4
_DIMENSIONS = ("coverage", "depth", "diversity", "consistency", "recency")


def answer(asked: Asked, act: str) -> Answer:
    """Return what the model says to an act, in a few pieces."""
    said = answer_over_the_wire(asked)
    change = {"draft": _with_lies, "conclude": _with_a_lie_in_the_abstract, "reflect": _reflection}.get(act)
    text = change(said.text, asked.text) if change else said.text
    return replace(said, text=text, tokens_out=tokens_at_most(text), piece_chars=max(1, -(-len(text) // _PIECES)))


def _with_lies(text: str, _: str) -> str:
    """Add a sentence whose figure the cited passage does not hold, and one that cites what was never given."""
    first = text.split("\n\n", 1)[0]
    figures = list(_FIGURE.finditer(first.rpartition(" [")[0]))
    if not figures:
        return text
    start, end = figures[-1].span()
    wrong = f"{first[:start]}{PLANTED_FIGURE}{first[end:]}"
    return f"{wrong}\n\n{text}\n\nThe council of {PLANTED_NAME} paid for all of it [E999]."


def _with_a_lie_in_the_abstract(text: str, _: str) -> str:
    data = json.loads(text)
    data["abstract"] = f"{data['abstract']} In all, {PLANTED_FIGURE} euros were lost [E1]."
    return json.dumps(data, ensure_ascii=False)


def _reflection(text: str, prompt: str) -> str:
    title, turn = _TITLE.findall(prompt)[-1], int(_ROUND.findall(prompt)[-1])
    is_enough = turn >= _LAST_ROUND.get(title, _LAST_OF_OTHERS)
    return json.dumps({**json.loads(text), **dict.fromkeys(_DIMENSIONS, 8 if is_enough else 5)}, ensure_ascii=False)
