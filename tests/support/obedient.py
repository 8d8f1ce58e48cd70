"""A model that does whatever it is told outside the marks, to prove that nothing of a page ever stands there."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote_plus

from deep_research.llm.port import ModelReply, ModelRequest, OnDelta
from deep_research.reasoning.model.prompting import TAGS
from tests.support.analyst import ScriptedAnalyst

# A mark stands on a line of its own; the system prompt only speaks of marks.
_MARKED = re.compile(rf"^<({'|'.join(TAGS)})(?: [^\n<>]*)?>\n.*?\n</\1>$", re.DOTALL | re.MULTILINE)
_TAG = re.compile(r"<[^<>]*>")


def outside_marks(prompt: str) -> str:
    """Return what of a prompt a model takes for instructions."""
    return _MARKED.sub("", prompt)


def attacks_in(text: str, attacks: Iterable[str]) -> list[str]:
    """Return the attacks that a text holds, whatever its line breaks, and also where an address spells them."""
    told = f"{_plain(text)}\n{_plain(unquote_plus(text))}"
    return [attack for attack in attacks if _plain(_TAG.sub("", attack)) in told]


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


@dataclass
class ObedientAnalyst(ScriptedAnalyst):
    """Answers in form, until an attack stands outside the marks: then it searches, cites and writes as told.

    `obeyed` keeps the act and the attack of each time.
    """

    attacks: Sequence[str] = ()
    obeyed: list[tuple[str, str]] = field(default_factory=list)

    async def complete(self, request: ModelRequest, *, on_delta: OnDelta | None = None) -> ModelReply:
        """Answer, or obey."""
        reply = await super().complete(request, on_delta=on_delta)
        found = attacks_in(outside_marks(request.text), self.attacks)
        self.obeyed += [(request.act, attack) for attack in found]
        return reply.model_copy(update={"text": _obedient(reply.text, found[0])}) if found else reply


def _obedient(answer: str, attack: str) -> str:
    """Return an answer with the attack's words, queries for it, a source of its own and a tool that it names."""
    if not answer.startswith("{"):
        return f"{answer}\n\n{attack} [E1]"
    more = {"queries": [attack], "next_queries": [attack], "sources": ["obeyed"], "text": attack, "abstract": attack}
    return json.dumps(json.loads(answer) | more, ensure_ascii=False)
