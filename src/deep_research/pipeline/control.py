"""What somebody who does not hold a run may do to it: answer its question, or ask it to stop. Loads no graph."""

from typing import Literal

from deep_research.errors import AnswerNeeded, RunHeld, RunParked, UsageError, WrongState
from deep_research.pipeline.clock import Clock
from deep_research.pipeline.streaming import StreamingManager
from deep_research.storage.store.lease import current_owner
from deep_research.storage.store.port import Answers, NewEvent, RunRow
from deep_research.storage.store.store import Store
from deep_research.text.messages.language import report_language
from deep_research.text.messages.words import Words, words_in
from deep_research.value import Json, JsonObject


async def answer_run(store: Store, row: RunRow, answer: Json) -> None:
    """Answer the question that a run waits for, in words or by an option's number; the first answer stands."""
    if row.status == "running" and row.owner:
        owner = row.owner
        raise RunHeld(
            f"Run {row.id} does not wait for an answer; process {owner.pid} on {owner.host} is working on it."
        )
    if row.status != "waiting" or row.pending is None:
        raise UsageError(f"Run {row.id} does not wait for an answer; it is {row.status}.")
    options = options_of(row.pending)
    if isinstance(answer, str) and options:
        if is_no_option(answer, len(options)) and row.request.clarify != "strict":
            raise UsageError(f"There is no option {answer.strip()}; choose 1 to {len(options)}, or answer in words.")
        answer = chosen(answer, options)
    if not await store.put_answer(row.id, str(row.pending["scope"]), answer):
        raise UsageError(f"Run {row.id} was answered before; go on with: deep-research runs resume {row.id}")


# What can be changed while a run works: the sides it looks at, and the map of what it looks for.
Course = Literal["focus", "map"]


async def change_course(store: Store, row: RunRow, kind: Course, change: Json) -> None:
    """Give a run that works a change; what has not begun follows it, and once it is being written nothing does."""
    while row.status in ("created", "running", "interrupted"):
        number = changes_of(kind, answers := await store.get_answers(row.id)) + 1
        if await store.put_answer(row.id, f"{kind}/{number}", change):
            return
        if f"{kind}/{number}" in answers:
            break
    raise WrongState().with_message("fault.course_late", run=row.short_id)


def changes_of(kind: Course, answers: Answers) -> int:
    """Return how often a run was changed while it worked; an empty change says that it is too late."""
    return sum(scope.startswith(f"{kind}/") and bool(answer) for scope, answer in answers.items())


def options_of(pending: JsonObject) -> list[str]:
    """Return the options of a question that waits; a plan has none."""
    options = pending.get("options")
    return [str(option) for option in options] if isinstance(options, list) else []


def words_of(row: RunRow) -> Words:
    """Return the words of the language that a run's report is written in."""
    return words_in(report_language(row.request.question, row.request.language))


def question_lines(pending: JsonObject, words: Words) -> list[str]:
    """Return what is asked: the question with its options, the first one recommended, or the plan in words."""
    options = [f"  {number}. {option}" for number, option in enumerate(options_of(pending), start=1)]
    if options:
        options[0] = words("shell.recommended", option=options[0])
    problem = pending.get("problem")
    return [*([f"! {problem}"] if problem else []), str(pending.get("question", "")), *options]


def answer_needed(row: RunRow, pending: JsonObject, said: str = "") -> AnswerNeeded:
    """Return the error of a run that waits for somebody who is not here."""
    said = said or f'Run {row.id} waits for an answer: deep-research runs answer {row.id} "…"'
    return AnswerNeeded(said, run=row.id, question=str(pending.get("question", "")), options=options_of(pending))


def chosen(answer: str, options: list[str]) -> str:
    """Return the option that a number names, or the answer as it is."""
    number = int(answer) if answer.strip().isdecimal() else 0
    return options[number - 1] if 0 < number <= len(options) else answer


def is_no_option(answer: str, count: int) -> bool:
    """Say whether an answer is a number that names no option; one of several digits may be a year."""
    digit = answer.strip()
    return len(digit) == 1 and digit.isdecimal() and not 0 < int(digit) <= count


async def has_work(store: Store, row: RunRow) -> bool:
    """Say whether there is anything to go on with; a cancelled run must be taken up again on purpose."""
    return row.status not in ("done", "cancelled") and (row.status != "waiting" or await is_answered(store, row))


async def is_answered(store: Store, row: RunRow) -> bool:
    """Say whether the question that a run waits for has been answered."""
    return row.pending is not None and str(row.pending["scope"]) in await store.get_answers(row.id)


async def park_run(store: Store, row: RunRow, *, clock: Clock, lease_s: float) -> None:
    """End a run that seems to end every process that works on it; somebody may have it tried again."""
    lease = await store.lease(row.id, current_owner(), lease_s=lease_s, seen_epoch=row.epoch)
    parked = RunParked().with_message("fault.parked", run=row.short_id)
    error: JsonObject = {"name": "RunParked", "detail": str(parked), "category": parked.category}
    await StreamingManager(store=store, lease=lease, clock=clock).finish("failed", error=error)


async def cancel_run(store: Store, row: RunRow, *, clock: Clock, lease_s: float) -> RunRow:
    """Cancel a run nobody holds at once, or ask the process that holds it to stop."""
    key = f"run-status:cancel/{row.epoch}:0"
    event = NewEvent(at=clock.now(), kind="run-status", key=key, data={"status": "cancelled"})
    return await store.request_cancel(row.id, current_owner(), lease_s=lease_s, event=event)
