"""Context engineering (SPEC L5): what a prompt is made of, in which order, and what is said again at its end."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from deep_research.llm.port import ModelRequest, ModelRole
from deep_research.llm.tokens import tokens_at_most
from deep_research.reasoning.model.prompting import NOTES_TAG, fenced
from deep_research.value import JsonObject

Tool = Literal["respond", "web_search", "web_fetch", "code_execute"]
TOOLS: Final[tuple[Tool, ...]] = ("respond", "web_search", "web_fetch", "code_execute")
# What an act's answer may set in motion; the program does it, never the model itself.
_SEARCHING = frozenset({"plan", "queries", "reflect"})
_COMPUTING = frozenset({"plan_charts", "repair_chart"})
# Kept free for the messages' own frame, and for a useless answer that is shown again with what was wrong.
_REPAIR_TOKENS: Final = 1_000
# No answer takes more of the window than this; a repair may take twice as much.
_ANSWER_SHARE: Final = 0.2
_MOST_FAILURES: Final = 6
_MOST_STEPS: Final = 12
_LINE_CHARS: Final = 120


@dataclass(frozen=True)
class Habits:
    """The four habits, each of which can be switched off, and the window they have to keep to."""

    stable_prefix: bool = True
    todo_recitation: bool = True
    error_preservation: bool = True
    tool_mask: bool = True
    window: int = 16_000


class ToolAvailabilityMask:
    """Which of the tools that the system prompt names an act may use; the list itself never changes."""

    @staticmethod
    def allowed(act: str) -> tuple[Tool, ...]:
        """Return the tools of an act."""
        if act in _SEARCHING:
            return ("respond", "web_search")
        return ("respond", "code_execute") if act in _COMPUTING else ("respond",)

    @classmethod
    def recite(cls, act: str) -> str:
        """Return the line that says so."""
        return f"Tools at this step: {', '.join(cls.allowed(act))}. All others are off."


class TodoRecitation:
    """What is done and what is left, told at the end of a prompt, where a model looks last."""

    @staticmethod
    def recite(steps: Sequence[tuple[str, bool]]) -> str:
        """Return the steps as a list with boxes."""
        lines = (f"- [{'x' if is_done else ' '}] {_short(step)}" for step, is_done in steps[-_MOST_STEPS:])
        return "\n".join(("Steps:", fenced(NOTES_TAG, "\n".join(lines))))


class ErrorPreservation:
    """What failed on the way stays in view, so that it is not tried again."""

    @staticmethod
    def recite(failures: Sequence[str]) -> str:
        """Return the newest failures as a list."""
        lines = (f"- {_short(one)}" for one in failures[-_MOST_FAILURES:])
        return "\n".join(("Failed so far; do not repeat it:", fenced(NOTES_TAG, "\n".join(lines))))


def _short(line: str) -> str:
    return line if len(line) <= _LINE_CHARS else line[: _LINE_CHARS - 1] + "…"


class ContextManager:
    """Puts prompts together: what many prompts share first and byte for byte the same, what is new last.

    Material only ever grows at its end, so that the prompts of a section repeat each other from the first byte on.
    """

    def __init__(self, system: str, habits: Habits) -> None:
        self._system = system
        self._habits = habits

    def room(self, *blocks: str, max_tokens: int) -> int:
        """Return how many tokens of material fit beside these blocks and the answer."""
        taken = tokens_at_most("\n\n".join((self._system, *blocks))) + 2 * self.limit(max_tokens) + _REPAIR_TOKENS
        return max(self._habits.window - taken, 0)

    def limit(self, max_tokens: int) -> int:
        """Return how long an answer may be in this window."""
        return min(max_tokens, int(_ANSWER_SHARE * self._habits.window))

    def tail(self, act: str, task: str, *, steps: Sequence[tuple[str, bool]] = (), failures: Sequence[str] = ()) -> str:
        """Return the end of a prompt: what failed, what is left, which tools there are, and the task itself."""
        parts = []
        if failures and self._habits.error_preservation:
            parts.append(ErrorPreservation.recite(failures))
        if steps and self._habits.todo_recitation:
            parts.append(TodoRecitation.recite(steps))
        if self._habits.tool_mask:
            parts.append(ToolAvailabilityMask.recite(act))
        return "\n\n".join((*parts, task))

    def request(
        self,
        act: str,
        tail: str,
        *,
        shared: Sequence[str] = (),
        role: ModelRole,
        max_tokens: int,
        answer_schema: JsonObject | None = None,
        left_out: int = 0,
    ) -> ModelRequest:
        """Return the request; without a stable prefix the task comes first and the material after it."""
        context, prompt = tuple(shared), tail
        if not self._habits.stable_prefix:
            context, prompt = (), "\n\n".join((tail, *shared))
        return ModelRequest(
            act=act,
            role=role,
            system=self._system,
            context=context,
            prompt=prompt,
            max_tokens=self.limit(max_tokens),
            answer_schema=answer_schema,
            left_out=left_out,
        )
