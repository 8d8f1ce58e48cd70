"""One step with a model: the prompt put together, the answer read, and repaired once if need be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from deep_research.llm.port import ChatModel, ModelReply, ModelRole
from deep_research.reasoning.model.answers import Answer, read_answer
from deep_research.reasoning.model.material import fit
from deep_research.reasoning.model.options import ContextManager, Habits
from deep_research.reasoning.model.prompting import ASKER_TAG, NOTES_TAG, Prompts, fenced
from deep_research.reasoning.model.repairing import ask
from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.reasoning.values import Brief, SectionPlan
from deep_research.request import Language

SomeAnswer = TypeVar("SomeAnswer", bound=Answer)
LANGUAGES: Final[dict[Language, str]] = {
    "en": "English",
    "zh-Hans": "Simplified Chinese (简体中文)",
    "zh-Hant": "Traditional Chinese (繁體中文)",
}
NONE: Final = "(none)"
# What of the asker's and the model's own words a prompt repeats at most, in tokens: the window belongs to the material.
_MOST_QUESTION: Final = 1_500
_MOST_LINE: Final = 150
_MOST_LINES: Final = 20


@dataclass(frozen=True)
class Step:
    """How an act asks: which model, and how long its answer may be."""

    act: str
    role: ModelRole
    max_tokens: int


class ModelSteps:
    """What all acts of a model share. The stand-in lends its eye for passages; it does not answer here.

    `sources` describes the special sources that a query may name, one a line.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        prompts: Prompts,
        habits: Habits,
        stand_in: ExtractiveReasoner,
        sources: str = "",
    ) -> None:
        self._model = model
        self._sources = sources
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
        problem_of: Callable[[SomeAnswer], str] = lambda _: "",
    ) -> SomeAnswer:
        """Return the model's answer as data; `problem_of` says what is wrong with one that can be read."""
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
            answer, problem = read_answer(kind, reply.text)
            problem = problem or (problem_of(answer) if answer is not None else "")
            return (None if problem else answer), problem

        return await ask(self._model, request, read, prompts=self._prompts)

    def _brief(self, brief: Brief) -> str:
        """Return what every prompt after intake begins with."""
        return self._prompts.fill(
            "brief",
            question=fenced(ASKER_TAG, shortened(brief.question, _MOST_QUESTION)),
            today=brief.today or NONE,
            language=LANGUAGES[brief.language],
            notes=_told(
                ("Goal", brief.goal),
                ("Sides to look at", "; ".join(brief.focus)),
                ("Assumptions", "; ".join(brief.assumptions)),
            ),
        )

    def _section_head(self, section: SectionPlan) -> str:
        """Return what every prompt about a section's passages says of the section."""
        return self._prompts.fill("section", notes=section_notes(section))


def section_notes(section: SectionPlan) -> str:
    """Return a section's title and question between marks."""
    return _told(("Title", section.title), ("It answers", section.description or section.title))


def _told(*lines: tuple[str, str]) -> str:
    told = (f"{label}: {shortened(' '.join(text.split()), _MOST_LINE)}" for label, text in lines if text.strip())
    return fenced(NOTES_TAG, "\n".join(told) or NONE)


def listed(items: Sequence[str]) -> str:
    """Return lines with a dash each between marks, the newest where there are many."""
    lines = (f"- {shortened(item, _MOST_LINE)}" for item in items[-_MOST_LINES:])
    return fenced(NOTES_TAG, "\n".join(lines)) if items else NONE


def shortened(text: str, tokens: int) -> str:
    """Return a text that takes no more than its share of a prompt."""
    return fit(text, tokens)[0]
