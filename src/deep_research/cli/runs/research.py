"""Commands that drive a run: ask, resume, retry, answer; with events, signals, and the report at the end.

What a waiting run asks is put to whoever sits at the terminal: numbered options, free text, a plan to edit.
"""

import asyncio
import io
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self, TextIO

import typer

from deep_research.cli.explain import in_words_of, keeping
from deep_research.cli.options import EXIT_NOT_VERIFIED
from deep_research.cli.printing import json_line, set_up_logs, show, show_json, show_report, tell, write_bytes
from deep_research.cli.runs.progress import Display, display
from deep_research.cli.runs.run_page import cost_in_words, next_commands
from deep_research.errors import AnswerNeeded, CannotWrite, InputError, RunInterrupted, UsageError
from deep_research.events import OnEvent, RunEvent
from deep_research.export.formats import FORMATS, check_format, exported, format_of
from deep_research.llm.address import host_of, is_local
from deep_research.llm.port import ChatModel
from deep_research.llm.registry import model_named
from deep_research.pipeline.approval import EDITS, answered_plan, correction_in, steer
from deep_research.pipeline.control import answer_needed, is_no_option, options_of, question_lines, words_of
from deep_research.pipeline.plan_text import plan_as_text, plan_from_text
from deep_research.pipeline.runtime import AgentRuntime, DeepResearchProcessor, OnQuestion
from deep_research.reasoning.rules.question.clarifier import usable_question
from deep_research.reasoning.values import Plan
from deep_research.report.escaping import unescape
from deep_research.report.markdown import opening_of
from deep_research.request import ResearchRequest
from deep_research.runner import (
    processor_from,
    request_from,
    settings_of,
    settings_to_follow,
    split_options,
    update_request,
)
from deep_research.settings import Settings, load_settings
from deep_research.storage.store.port import RunRow
from deep_research.text.folding import to_simplified
from deep_research.text.messages.language import report_language
from deep_research.text.messages.words import Words, words_in
from deep_research.value import Json, JsonObject
from deep_research.verify.verification import counted_verdicts
from deep_research.wiring.models import address_of, key_unused_offline, models_left_out
from deep_research.wiring.stores import opened_store, read_run

_POLL_INTERVAL_S = 0.5
EXIT_NOT_SEARCHED = 69


def is_terminal() -> bool:
    """Return whether somebody is there who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_in_terminal(pending: JsonObject, words: Words, *, run: str) -> str | None:
    """Put one question and return the answer, or None where the input ends; Ctrl-C is left to the caller."""
    tell("\n" + "\n".join(question_lines(pending, words)))
    if pending.get("kind") == "plan-approval":
        return _ask_about_plan(Plan.from_json(pending["plan"]), words, run=run)
    count = len(options_of(pending))
    tell(words("shell.question_hint" if count else "shell.open_question_hint"))
    while (line := _read_line()) is not None:
        if not is_no_option(line, count):
            return line or ("1" if count else "")
        tell(words("shell.no_such_option", number=line, count=count))
    return None


def _ask_about_plan(plan: Plan, words: Words, *, run: str) -> str | None:
    """Ask until the plan is approved, cut or edited into one that can be used; an edit that cannot be is kept."""
    draft = unchanged = plan_as_text(plan, head=words("plan.file_head", run=run))
    tell(words("shell.plan_hint"))
    while (answer := _read_line()) is not None:
        is_edit = to_simplified(answer).lower() in EDITS
        if is_edit:
            draft = answer = _edited(draft)
            if answer == unchanged or not answer.strip():
                tell(words("shell.plan_hint"))
                draft = unchanged
                continue
        if correction_in(answer):
            return answer
        try:
            answered_plan(plan, answer, words)
        except InputError as exc:
            tell(f"! {exc} {words('plan.try_again') if is_edit else ''}".rstrip())
            continue
        return answer
    return None


def _edited(text: str) -> str:
    """Return a text after the user's editor; where there is none, as it was."""
    with TemporaryDirectory(prefix="deep-research-") as folder:
        path = Path(folder) / "plan.yaml"
        path.write_text(text, encoding="utf-8")
        # The shell knows the user's editor, and takes one with arguments apart.
        command = ["notepad"] if sys.platform == "win32" else ["sh", "-c", '${VISUAL:-${EDITOR:-vi}} "$1"', "sh"]
        try:
            subprocess.run([*command, str(path)], check=True)
            return path.read_text(encoding="utf-8-sig")
        except (OSError, subprocess.CalledProcessError, UnicodeDecodeError) as exc:
            tell(f"! {exc}")
            return text


def _read_line() -> str | None:
    """Return the line that was typed, without spaces around it, or None where the input ends."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        # Half of a character may be left where a terminal erases bytes; what was read already was whole.
        with suppress(io.UnsupportedOperation):
            sys.stdin.reconfigure(errors="replace")
    if sys.stdout.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401 - makes the line editable, Chinese characters too
        try:
            return input("> ").strip()
        except EOFError:
            return None
    tell("> ", end="")
    # A signal that comes just before a read begins is not noticed until the read ends: read only what is there.
    while sys.platform != "win32" and not select.select([sys.stdin], [], [], _POLL_INTERVAL_S)[0]:
        pass
    line = sys.stdin.readline()
    return line.strip() if line else None


@dataclass(frozen=True)
class Output:
    """Where the result goes, and how much is shown on the way."""

    as_json: bool
    events: str | None
    is_quiet: bool
    is_verbose: bool
    file: Path | None

    @property
    def is_read_here(self) -> bool:
        """Whether somebody reads what comes out at a terminal, where the whole report would push its answer away."""
        return not (self.is_quiet or self.as_json or self.events == "-")


def output_of(as_json: bool, events: str | None, quiet: bool, verbose: bool, file: Path | None = None) -> Output:
    """Return where the result goes, and set up the log that is shown beside it."""
    set_up_logs(is_verbose=verbose)
    return Output(as_json, events, quiet, verbose, file)


def ask_question(typed: Sequence[str], *, options: Mapping[str, Any], output: Output) -> int:
    """Start a run and stay with it; a question may be typed as several words."""
    context, docs = _read_context(options["context"]), _documents_path(options["docs"])
    flags, fields = split_options({**options, "context": context, "docs": docs})
    settings = load_settings(**flags)
    if follow := options["follow"]:
        settings = settings_to_follow(asyncio.run(read_run(follow, settings=settings)).request, settings, flags)
    if output.file and (name := format_of(output.file)):
        check_format(name)
    if len(typed) > 1 and (files := [word for word in typed if Path(word).is_file()]):
        raise UsageError(
            f"{files[0]} is a file: --docs takes one folder or one file, and a question with it in quotes."
        )
    question = " ".join(typed) if typed else None
    is_prompted = question is None and sys.stdin.isatty()
    text = "" if is_prompted else usable_question(sys.stdin.read() if question in (None, "-") else question)
    words = words_in(report_language(text, settings.language))
    with in_words_of(words):
        # Before anybody is asked for a question that could not be researched.
        processor = _processor(settings, settings.wiring, words)
    if is_prompted:
        text = usable_question(str(typer.prompt("Question / 问题 / 問題", err=True)))
        words = words_in(report_language(text, settings.language))

    async def begin() -> RunRow:
        row = await processor.create(request)
        _tell_what_is_used(settings, request, words, is_quiet=output.is_quiet)
        return row

    with in_words_of(words):
        request = request_from(settings, text).replace(interactive=is_terminal(), **fields)
        return asyncio.run(_stay(processor, begin(), output=output))


def _documents_path(paths: Sequence[Path] | None) -> Path | None:
    """Return the one folder or file that was named; of several, nobody would notice which was left out."""
    if paths and len(paths) > 1:
        raise UsageError("--docs takes one folder or one file: put what belongs together into a folder.")
    return paths[0] if paths else None


def _read_context(context: str | None) -> str:
    """Return what was talked about before the question: as given, or from the file named after @."""
    return read_text(context[1:]) if context and context.startswith("@") else context or ""


def read_text(path: str) -> str:
    """Return the text of a file, or what comes in where it is named -."""
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise InputError(f"The file {path} cannot be read: {exc.strerror}.") from exc
    except UnicodeDecodeError as exc:
        raise InputError(f"The file {path} is not UTF-8 text; save it as UTF-8.") from exc


def _tell_what_is_used(settings: Settings, request: ResearchRequest, words: Words, *, is_quiet: bool) -> None:
    """Print who will see what of the question and of the user's own documents, before anybody does."""
    if variable := key_unused_offline(settings):
        tell(words("shell.offline_rules", variable=variable))
    if request.search.engines and not is_quiet:
        tell(words("shell.web", count=len(request.search.engines)))
    addresses = (address_of(model_named(name), settings) for name in request.models)
    hosts = dict.fromkeys(host_of(address) for address in addresses if not is_local(address))
    if hosts and request.docs:
        tell(words("shell.hosted_model", host=", ".join(hosts)))


async def resume_run(run: str, *, retry: bool = False, output: Output) -> int:
    """Go on with a run, with the parts it began with."""
    # Who tries again wants to know how things are now, not how they were.
    processor, row = await _of(run, **({"cache": False} if retry else {}))
    return await _stay(processor, _answered(processor, row, None), retry=retry, output=output)


async def update_run(run: str, *, output: Output) -> int:
    """Start a run that brings another one up to date, and stay with it."""
    settings = load_settings()
    row, request = await update_request(run, settings)
    words = words_of(row)
    with in_words_of(words):
        processor = _processor(settings_of(request, settings), row.wiring, words)
        return await _stay(processor, processor.create(request), output=output)


async def answer_run(run: str, answer: str, *, output: Output) -> int:
    """Answer a waiting run and go on with it, or change what one that works looks for."""
    processor, row = await _of(run)
    async with opened_store() as (store, _):
        if await steer(store, row, answer):
            tell(words_of(row)("shell.steered"))
            return 0
    return await _stay(processor, _answered(processor, row, answer), output=output)


async def submit_plan(run: str, file: str, text: str, *, output: Output) -> int:
    """Give a waiting run its edited plan, the text of a file, and go on; of one that cannot be used is told why."""
    processor, row = await _of(run)
    if (row.pending or {}).get("kind") != "plan-approval":
        raise UsageError(
            f"Run {row.id} does not wait for approval of its plan (it is {row.status}); "
            "a plan can be edited before its run starts to search: ask with --confirm-plan."
        )
    plan = Plan.from_json((row.pending or {})["plan"])
    try:
        plan_from_text(text, plan, words_of(row))
    except InputError as exc:
        raise InputError(f"{file}: {exc}") from exc
    return await _stay(processor, _answered(processor, row, text), output=output)


async def _answered(processor: DeepResearchProcessor, row: RunRow, answer: str | None) -> RunRow:
    if answer is not None:
        await processor.answer(row.id, answer)
    return row


def _processor(settings: Settings, wiring: str, words: Words) -> DeepResearchProcessor:
    processor = processor_from(settings, wiring)
    for model, problem in models_left_out(settings).items():
        tell(words("shell.model_left_out", model=model, reason=problem.in_words(words)))
    return processor


async def _of(run: str, **changes: object) -> tuple[DeepResearchProcessor, RunRow]:
    row = await read_run(run)
    words = words_of(row)
    with in_words_of(words):
        own = settings_of(row.request, load_settings()).with_changes(**changes)
        return _processor(own, row.wiring, words), row


async def _stay(
    processor: DeepResearchProcessor, begun: Awaitable[RunRow], *, retry: bool = False, output: Output
) -> int:
    try:
        row = await begun
        words = words_of(row)
        is_quiet = output.is_quiet or output.events == "-"
        with (
            _event_sink(output.events) as sink,
            display(words, is_quiet=is_quiet, is_verbose=output.is_verbose) as shown,
            _Signals(processor, shown, words) as signals,
            keeping(row.id, words),
        ):
            on_question = _terminal_answers(row, shown, words, signals) if is_terminal() else None
            try:
                row = await processor.resume(
                    row.id,
                    on_event=_event_writer(sink, shown),
                    on_live=shown.on_live_text,
                    on_question=on_question,
                    retry=retry,
                )
            except RunInterrupted as stop:
                hint = words("shell.resume_hint", command=f"deep-research runs resume {row.short_id}")
                raise RunInterrupted(f"{words('shell.interrupted', run=row.short_id)} {hint}") from stop
        with in_words_of(words):
            return await _print_outcome(processor, row, words, output)
    finally:
        await processor.adapters.close()


async def _print_outcome(processor: DeepResearchProcessor, row: RunRow, words: Words, output: Output) -> int:
    run: JsonObject = {"id": row.id, "status": row.status, "folder": row.folder}
    if row.status == "waiting":
        if output.as_json:
            show_json(run=run, pending=row.pending)
        raise _waiting(row, row.pending or {}, words)
    row = await processor.with_files(row)
    result = await processor.result(row)
    if row.request.update and not output.as_json and output.events != "-":
        # What is listed stands before what still holds, and that stands last.
        lines = (Path(row.folder) / "changes.md").read_text(encoding="utf-8")
        show(unescape(lines.partition(f"\n## {words('versions.still')}")[0]) + "\n")
    if output.as_json:
        changes = {"changes": _json_file(row, "changes.json")} if row.request.update else {}
        show_json(**result.for_programs(), run=run, **changes)
    elif output.file is not None:
        form = format_of(output.file) or "md"
        contents = await processor.contents(row, with_sources=FORMATS[form].needs_sources)
        write_bytes(output.file, exported(contents, form, target=output.file))
    elif output.events != "-" and not (output.is_read_here and sys.stdout.isatty()):
        show_report(result.final_report, run_folder=result.folder)
    if output.is_read_here and sys.stderr.isatty():
        (show if sys.stdout.isatty() else tell)(f"\n{unescape(opening_of(result.final_report))}")
    if not output.is_quiet and output.events != "-":
        tell(_summary(row, words, output, processor.adapters.models))
    if not result.is_searched:
        return EXIT_NOT_SEARCHED
    return 0 if result.is_verified else EXIT_NOT_VERIFIED


def _json_file(row: RunRow, name: str) -> Any:
    return json.loads((Path(row.folder) / name).read_text(encoding="utf-8"))


def _summary(row: RunRow, words: Words, output: Output, models: Sequence[ChatModel]) -> str:
    """Return in a few lines what the run came to: how much is proved, what it cost, where it lies.

    At a terminal only what was paid for or went wrong is shown beside the place.
    """
    check, stats = (_json_file(row, name) for name in ("verify.json", "stats.json"))
    counts = counted_verdicts(check["paragraphs"]["verdicts"], words)
    if check["passed"]:
        key = "shell.verified" if check["paragraphs"]["is_answered"] else "shell.unanswered"
        verdict = words(key, counts=counts) if counts else words("verification.nothing")
    else:
        verdict = words("shell.not_verified", counts=counts or words("verification.none"))
    if stats.get("answer", {}).get("is_doubtful"):
        verdict += " " + words("report.doubtful")
    spent, used = stats["spent"], stats["model"]["calls_by_model"]
    unpriced = {name for model in models for name in model.unpriced}
    cost = words(
        "shell.cost",
        seconds=f"{spent['seconds']:.1f}",
        searches=stats["searches"],
        pages=stats["pages"],
        tokens=f"{spent['tokens']:,}",
        cost=cost_in_words(spent["usd"], [name for name in used if name in unpriced], words),
    )
    is_all = output.is_verbose or not sys.stderr.isatty()
    saved = words(
        "shell.report_saved",
        path=output.file or Path(row.folder) / "report.md",
        command=f"deep-research runs report {row.short_id}",
    )
    lines = (
        (is_all or not check["passed"], verdict),
        (is_all or spent["tokens"], cost),
        (not models, words("shell.no_model")),
        (True, saved),
    )
    return "\n".join(("", *(line for is_shown, line in lines if is_shown)))


def _event_sink(target: str | None) -> AbstractContextManager[TextIO | None]:
    if target in (None, "-"):
        return nullcontext(sys.stdout if target else None)
    try:
        return Path(target).open("a", encoding="utf-8")
    except OSError as exc:
        raise CannotWrite(f"Cannot write events to {target}: {exc.strerror}.") from exc


def _event_writer(sink: TextIO | None, shown: Display) -> OnEvent:
    def pass_on(event: RunEvent) -> None:
        nonlocal sink
        if sink is not None:
            try:
                sink.write(json_line(event.to_json()))
                sink.flush()
            except OSError:  # The reader went away; the run goes on, and its events are in the store.
                sink = None
        shown.show(event)

    return pass_on


def _waiting(row: RunRow, pending: JsonObject, words: Words) -> AnswerNeeded:
    """Return what is said of a run that waits: the question, and the commands that answer it."""
    waiting = row.replace(status="waiting", pending=pending)
    lines = (words("shell.waiting", run=row.short_id), *question_lines(pending, words), *next_commands(waiting, words))
    return answer_needed(row, pending, "\n".join(lines))


def _terminal_answers(row: RunRow, shown: Display, words: Words, signals: "_Signals") -> OnQuestion:
    """Return what asks the person at the terminal."""

    async def ask(pending: JsonObject) -> Json:
        shown.pause()
        # Nothing else is under way while a run waits, so that the loop may stand still.
        with signals.off():
            try:
                answer = ask_in_terminal(pending, words, run=row.short_id)
            except KeyboardInterrupt:
                tell()
                raise RunInterrupted from None
        if answer is not None:
            return answer
        tell()
        if row.request.clarify == "strict" and pending.get("kind") == "clarification":
            return ""
        raise _waiting(row, pending, words)

    return ask


class _Signals:
    """Lets the first Ctrl-C (or SIGTERM) stop the run cleanly, and the second stop the process at once."""

    def __init__(self, runtime: AgentRuntime, shown: Display, words: Words) -> None:
        self._runtime, self._shown, self._words = runtime, shown, words
        self._loop = asyncio.get_running_loop()
        self._handled = [number for number in (signal.SIGINT, signal.SIGTERM) if sys.platform != "win32"]
        self._is_asked = False

    def __enter__(self) -> Self:
        for number in self._handled:
            self._loop.add_signal_handler(number, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._handled:
            self._loop.remove_signal_handler(number)

    @contextmanager
    def off(self) -> Iterator[None]:
        """Let a signal do what it does by itself, while the terminal waits for a person."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()

    def _stop(self) -> None:
        if self._is_asked:
            os._exit(130)  # Everything finished is in the store already; threads may be in the middle of a call.
        self._is_asked = True
        self._shown.close()
        tell(self._words("shell.stopping"))
        self._runtime.interrupt()
