"""Commands that drive a run: ask, resume, retry, answer; with events, signals, and the report at the end."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import typer

from deep_research.errors import AnswerNeeded, CannotWrite, InputError, RunInterrupted, StopRun
from deep_research.events import OnEvent, RunEvent
from deep_research.messages.language import report_language
from deep_research.messages.words import Words, words
from deep_research.pipeline.processor import DeepResearchProcessor
from deep_research.pipeline.runtime import AgentRuntime
from deep_research.runner import code_version, request_from
from deep_research.settings import Settings, load_settings
from deep_research.store.port import RunRow
from deep_research.value import Json, JsonObject, canonical_json
from deep_research.wiring import open_store, parts_for

SCHEMA_VERSION = 1
EXIT_NOT_VERIFIED = 3


def ask_question(
    question: str | None, *, flags: Mapping[str, Any], wishes: Mapping[str, Any], as_json: bool, events: str | None
) -> int:
    """Start a run and stay with it."""
    settings = load_settings(**flags)
    if question is None or not question.strip():
        raise InputError('The question is empty: give one, for example deep-research "What does …?"')
    request = request_from(settings, question).model_copy(update=dict(wishes))
    processor = _processor(settings, settings.wiring)

    async def begin() -> RunRow:
        return await processor.runtime.create(request)

    return _stay(processor, begin, as_json=as_json, events=events)


def resume_run(run: str, *, retry: bool = False, as_json: bool, events: str | None) -> int:
    """Go on with a run, with the parts it began with."""
    processor, row = _of(run)

    async def begin() -> RunRow:
        return row

    return _stay(processor, begin, retry=retry, as_json=as_json, events=events)


def answer_run(run: str, answer: str, *, as_json: bool, events: str | None) -> int:
    """Answer a waiting run and go on with it."""
    processor, row = _of(run)

    async def begin() -> RunRow:
        await processor.runtime.answer(row.id, answer)
        return row

    return _stay(processor, begin, as_json=as_json, events=events)


def _processor(settings: Settings, wiring: str) -> DeepResearchProcessor:
    return DeepResearchProcessor(parts_for(settings, wiring), wiring=wiring, code_version=code_version())


def _of(run: str) -> tuple[DeepResearchProcessor, RunRow]:
    settings = load_settings()

    async def find() -> RunRow:
        store = open_store(settings)
        try:
            return await store.get_run(run)
        finally:
            await store.close()

    row = asyncio.run(find())
    return _processor(settings, row.wiring), row


def _stay(
    processor: DeepResearchProcessor,
    begin: Callable[[], Any],
    *,
    retry: bool = False,
    as_json: bool,
    events: str | None,
) -> int:
    async def drive() -> int:
        row = await begin()
        said = words(report_language(row.request.question, row.request.language))
        with _event_sink(events) as sink, _signals(processor.runtime, said):
            show = _shown(sink, said)
            try:
                row = await processor.runtime.resume(row.id, on_event=show, on_question=_asker(said), retry=retry)
            except StopRun as stop:
                command = f"deep-research runs resume {row.id}"
                if isinstance(stop, RunInterrupted):
                    raise RunInterrupted(
                        f"{said('shell.interrupted', run=row.id)} {said('shell.resume_hint', command=command)}"
                    ) from stop
                raise
        return await _print_outcome(processor, row, said, as_json=as_json, is_quiet=events == "-")

    return asyncio.run(drive())


async def _print_outcome(
    processor: DeepResearchProcessor, row: RunRow, said: Words, *, as_json: bool, is_quiet: bool
) -> int:
    run: JsonObject = {"id": row.id, "status": row.status, "folder": row.folder}
    if row.status == "waiting":
        if as_json:
            print(canonical_json({"schema_version": SCHEMA_VERSION, "run": run, "pending": row.pending}))
        hint = said("shell.answer_hint", command=f'deep-research runs answer {row.id} "…"')
        question = str((row.pending or {}).get("question", ""))
        raise AnswerNeeded(" ".join(part for part in (said("shell.waiting", run=row.id), question, hint) if part))
    result = await processor.result(row)
    if as_json:
        shown = {
            "schema_version": SCHEMA_VERSION,
            "title": result.title,
            "finalReport": result.final_report,
            "learnings": list(result.learnings),
            "sources": list(result.sources),
            "images": list(result.images),
            "isVerified": result.is_verified,
            "run": run,
        }
        print(canonical_json(shown))
    elif not is_quiet:
        print(result.final_report, end="")
        typer.echo(said("shell.report_saved", path=Path(row.folder) / "report.md"), err=True)
    return 0 if result.is_verified else EXIT_NOT_VERIFIED


@contextmanager
def _event_sink(target: str | None) -> Iterator[TextIO | None]:
    if target is None:
        yield None
    elif target == "-":
        yield sys.stdout
    else:
        try:
            file = Path(target).open("a", encoding="utf-8")  # noqa: SIM115 - closed below
        except OSError as exc:
            raise CannotWrite(f"Cannot write events to {target}: {exc.strerror}.") from exc
        with file:
            yield file


def _shown(sink: TextIO | None, said: Words) -> OnEvent:
    def show(event: RunEvent) -> None:
        if sink is not None:
            sink.write(canonical_json(event.to_json()) + "\n")
            sink.flush()
        if event.kind == "progress" and event.data["status"] == "started" and sink is not sys.stdout:
            typer.echo(f"{said('stage.' + str(event.data['step']))} …", err=True)

    return show


def _asker(said: Words) -> Callable[[JsonObject], Any] | None:
    """Return the one who answers: the person at the terminal, if there is one."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    async def ask(pending: JsonObject) -> Json:
        return await asyncio.to_thread(_ask_in_terminal, pending, said)

    return ask


def _ask_in_terminal(pending: JsonObject, said: Words) -> str:
    options = [str(option) for option in pending.get("options") or ()]  # type: ignore[union-attr]  # the pipeline writes a list
    typer.echo(str(pending.get("question") or said("stage.confirm")), err=True)
    for number, option in enumerate(options, start=1):
        typer.echo(f"  {number}. {option}", err=True)
    given = str(typer.prompt(">", default="1" if options else "", show_default=False, err=True)).strip()
    return options[int(given) - 1] if given.isdigit() and 0 < int(given) <= len(options) else given


@contextmanager
def _signals(runtime: AgentRuntime, said: Words) -> Iterator[None]:
    """Let the first Ctrl-C (or SIGTERM) stop the run cleanly, and the second stop the process at once."""
    loop, asked = asyncio.get_running_loop(), False

    def stop() -> None:
        nonlocal asked
        if asked:
            os._exit(130)  # Everything finished is in the store already; threads may be in the middle of a call.
        asked = True
        typer.echo(said("shell.stopping"), err=True)
        runtime.interrupt()

    handled = [number for number in (signal.SIGINT, signal.SIGTERM) if sys.platform != "win32"]
    for number in handled:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
