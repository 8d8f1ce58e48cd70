"""One step with a model: the prompt put together, the answer read, and repaired once if need be."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from deep_research.llm.port import ChatModel, ModelReply, ModelRole
from deep_research.reasoning.answers import Answer, read_answer
from deep_research.reasoning.extractive import ExtractiveReasoner
from deep_research.reasoning.habits import ContextManager, Habits
from deep_research.reasoning.prompting import ASKER_TAG, Prompts, fenced
from deep_research.reasoning.repairing import ask
from deep_research.reasoning.values import Brief
from deep_research.request import Language

SomeAnswer = TypeVar("SomeAnswer", bound=Answer)
LANGUAGES: Final[dict[Language, str]] = {
    "en": "English",
    "zh-Hans": "Simplified Chinese (简体中文)",
    "zh-Hant": "Traditional Chinese (繁體中文)",
}
NONE: Final = "(none)"


@dataclass(frozen=True)
class Step:
    """How an act asks: which model, and how long its answer may be."""

    act: str
    role: ModelRole
    max_tokens: int


class ModelSteps:
    """What all acts of a model share. The stand-in lends its eye for passages; it does not answer here."""

    def __init__(self, model: ChatModel, *, prompts: Prompts, habits: Habits, stand_in: ExtractiveReasoner) -> None:
        self._model = model
        self._prompts = prompts
        self._context = ContextManager(prompts.fill("system"), habits)
        self._stand_in = stand_in

    async def _data(
        self,
        step: Step,
        kind: type[SomeAnswer],
        task: str,
        *,
        shared: Sequence[str] = (),
        left_out: int = 0,
    ) -> SomeAnswer:
        """Return the model's answer as data."""
        request = self._context.request(
            step.act,
            task,
            shared=shared,
            role=step.role,
            max_tokens=step.max_tokens,
            answer_schema=kind.schema_for_model(),
            left_out=left_out,
        )

        def read(reply: ModelReply) -> tuple[SomeAnswer | None, str]:
            return read_answer(kind, reply.text)

        return await ask(self._model, request, read, prompts=self._prompts)

    def _brief(self, brief: Brief) -> str:
        """Return what every prompt after intake begins with."""
        return self._prompts.fill(
            "brief",
            question=fenced(ASKER_TAG, brief.question),
            today=brief.today or NONE,
            language=LANGUAGES[brief.language],
            goal=brief.goal or NONE,
            focus="; ".join(brief.focus) or NONE,
            assumptions="; ".join(brief.assumptions) or NONE,
        )


def listed(items: Sequence[str]) -> str:
    """Return lines with a dash each."""
    return "\n".join(f"- {item}" for item in items) or NONE
