"""What all acts of a model share: the prompt put together, the answer read, and repaired once if need be."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from deep_research.errors import UnusableAnswer
from deep_research.llm.port import ChatModel, ModelReply, ModelRequest, PriorMessage
from deep_research.reasoning.model.answers import ModelAnswer, SomeAnswer, read_answer
from deep_research.reasoning.model.prompting import (
    DRAFT_TAG,
    NOTES_TAG,
    USER_TAG,
    Act,
    ContextManager,
    PromptOptions,
    Prompts,
    Steps,
    fenced,
    fit,
)
from deep_research.reasoning.rules.reasoner import ExtractiveReasoner
from deep_research.reasoning.values import Brief, SectionPlan
from deep_research.text.messages.language import language_name

Result = TypeVar("Result")
# Returns what an answer holds (None: nothing), and what is wrong with it ("": nothing).
Read = Callable[[ModelReply], tuple[Result | None, str]]
NONE = "(none)"
# How many tokens of the user's and the model's own words a prompt repeats: the window belongs to the material.
_MAX_QUESTION = 1_500
_MAX_LINE = 150
_MAX_LINES = 20
# How much of a useless answer is shown to the model that gave it.
_SHOWN_CHARS = 2_000


@dataclass
class ModelActs:
    """What all acts of a model share. `fallback` chooses passages by rules; it answers only where the rules have to.

    `sources` describes the special sources that a query may name, one a line; `has_web` says whether anything but the
    user's own documents can be searched.
    """

    model: ChatModel
    prompts: Prompts
    options: PromptOptions
    fallback: ExtractiveReasoner
    sources: str = ""
    has_web: bool = True

    @cached_property
    def context(self) -> ContextManager:
        """Return what puts prompts together."""
        return ContextManager(self.prompts.fill("system"), self.options)

    def _task(self, prompt: str, kind: type[ModelAnswer], **values: str) -> str:
        """Return a prompt that ends with the form its answer must have."""
        return self.prompts.fill(prompt, format=kind.in_words(), **values)

    async def _data(
        self,
        act: Act,
        kind: type[SomeAnswer],
        task: str,
        *,
        steps: Steps = (),
        failures: Sequence[str] = (),
        shared: Sequence[str] = (),
        left_out: int = 0,
        problem_of: Callable[[SomeAnswer], str] = lambda _: "",
    ) -> SomeAnswer:
        """Return the model's answer as data; `problem_of` returns what is wrong with one that can be read."""
        tail = self.context.tail(act, task, steps=steps, failures=failures)
        schema = kind.schema_for_model()
        request = self.context.request(act, tail, shared=shared, answer_schema=schema, left_out=left_out)

        def read(reply: ModelReply) -> tuple[SomeAnswer | None, str]:
            answer, problem = read_answer(kind, reply.text)
            if answer:
                problem = problem_of(answer)
            return (None if problem else answer), problem

        return await self._ask(request, read)

    async def _ask(self, request: ModelRequest, read: Read[Result]) -> Result:
        """Return what the model answers; one repair shows it what was wrong; raise `UnusableAnswer` if that fails."""
        reply = await self.model.complete(request)
        first, problem = _read(reply, read)
        if not problem and first is not None:
            return first
        messages = (
            # What it wrote may repeat what it has read, so that it stands between marks like that.
            PriorMessage(speaker="model", text=fenced(DRAFT_TAG, reply.text[:_SHOWN_CHARS] or "(no answer)")),
            PriorMessage(speaker="user", text=self.prompts.fill("repair", problem=problem)),
        )
        # An answer that was cut off gets more tokens.
        max_tokens = request.max_tokens * 2 if reply.stop == "length" else request.max_tokens
        again = request.replace(turns=messages, max_tokens=max_tokens)
        second, problem = _read(await self.model.complete(again), read)
        best = second if second is not None else first
        if best is None:
            raise UnusableAnswer(f"{request.act}: the model's answer cannot be used, {problem}")
        return best

    def _brief(self, brief: Brief) -> str:
        """Return what every prompt after intake begins with."""
        return self.prompts.fill(
            "brief",
            question=fenced_question(brief.question),
            today=brief.today or NONE,
            language=language_name(brief.language),
            notes=_notes(("Goal", brief.goal), ("Sides to look at", "; ".join(brief.focus))),
        )


def _read(reply: ModelReply, read: Read[Result]) -> tuple[Result | None, str]:
    value, problem = read(reply)
    if reply.stop == "refusal" and (value is None or problem):
        return value, "the model refused to answer"
    if reply.stop == "length" and value is None:
        return None, f"it was cut off at the limit before it was complete ({problem}); be shorter"
    if not reply.text.strip():
        return None, "it was empty"
    return value, problem


def fenced_question(question: str) -> str:
    """Return the user's question between marks, shortened if it is very long."""
    return fenced(USER_TAG, fit(question, _MAX_QUESTION)[0])


def section_notes(section: SectionPlan) -> str:
    """Return a section's title and question between marks."""
    return _notes(("Title", section.title), ("It answers", section.description or section.title))


def _notes(*lines: tuple[str, str]) -> str:
    shown = (f"{label}: {_short(' '.join(text.split()))}" for label, text in lines if text.strip())
    return fenced(NOTES_TAG, "\n".join(shown) or NONE)


def listed(items: Sequence[str], *, most: int = _MAX_LINES) -> str:
    """Return lines with a dash each between marks, the newest where there are many."""
    lines = (f"- {_short(item)}" for item in items[-most:])
    return fenced(NOTES_TAG, "\n".join(lines)) if items else NONE


def _short(line: str) -> str:
    return fit(line, _MAX_LINE)[0]


def searched(queries: Sequence[str], *later: str) -> Steps:
    """Return the searches that are done, and what comes after them, as steps."""
    return [*((f"search for: {query}", True) for query in queries), *((step, False) for step in later)]
