"""The model of the bench world: the scripted analyst, who wants three rounds, and who lies in every draft."""

import json
import re
from dataclasses import replace

from benchmarks.world_calls import PLANTED_FIGURE, PLANTED_NAME
from deep_research.llm.port import ModelRequest
from deep_research.llm.tokens import tokens_at_most
from tests.support.analyst import answer_over_the_wire, report
from tests.support.model_dialects import Answer, Asked

# What models say now and then in place of data, or of prose with marks.
OFF_FORM = "I would be glad to help with that! Could you tell me a little more about what you need?"
_FIGURE = re.compile(r"\d+(?:\.\d+)?(?![\d\]])")
_REFUSED = re.compile(r"^- (\d+): ", re.MULTILINE)
_ROUND = re.compile(r"^Round (\d+) is over", re.MULTILINE)
# After this round there is enough.
_LAST_ROUND = 3
_PIECES = 4
_DIMENSIONS = ("coverage", "depth", "diversity", "consistency", "recency")


def answer(asked: Asked, act: str) -> Answer:
    """Return what the model says to an act, in a few pieces."""
    said = answer_over_the_wire(asked)
    change = {"draft": _with_lies, "edit": _with_a_lie_in_place_of_another, "reflect": _reflection}.get(act)
    text = change(said.text, asked.text) if change else said.text
    return replace(said, text=text, tokens_out=tokens_at_most(text), piece_chars=max(1, -(-len(text) // _PIECES)))


def _with_lies(_: str, prompt: str) -> str:
    """Tell all sentences of the passages, and add one whose figure the cited passage does not hold, one that cites what
    was never given, a recommendation and a sum that nothing bears out, and a heading with a figure.
    """
    text = report(ModelRequest(act="draft", role="task", prompt=prompt, max_tokens=1), sentences=None)
    first = f"{text.split('] ', 1)[0].split(']', 1)[0]}]"
    figures = list(_FIGURE.finditer(first.rpartition(" [")[0]))
    if not figures:
        return text
    start, end = figures[-1].span()
    wrong = f"{first[:start]}{PLANTED_FIGURE}{first[end:]}"
    paid = f"The council of {PLANTED_NAME} paid for all of it [E999]."
    advice = f"One should save {PLANTED_FIGURE} euros [so: E1]."
    added = f"Both come to {PLANTED_FIGURE} [calc: 1 + 1 = {PLANTED_FIGURE}; E1]."
    return f"{wrong}\n\n{text}\n\n## {PLANTED_FIGURE} towns\n\n{paid} {advice} {added}"


def _with_a_lie_in_place_of_another(_: str, prompt: str) -> str:
    """Give another lie for the first sentence that was refused."""
    refused = _REFUSED.search(prompt)
    lie = f"In all, {PLANTED_FIGURE} euros were lost [E1]."
    return json.dumps({"sentences": [int(refused[1])], "texts": [lie]} if refused else {"sentences": [], "texts": []})


def _reflection(text: str, prompt: str) -> str:
    is_enough = int(_ROUND.findall(prompt)[-1]) >= _LAST_ROUND
    return json.dumps({**json.loads(text), **dict.fromkeys(_DIMENSIONS, 8 if is_enough else 5)}, ensure_ascii=False)
