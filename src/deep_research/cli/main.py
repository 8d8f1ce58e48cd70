"""The command line: `ask`, where the other commands are, and the exit code of what came out."""

import sys
import traceback
from collections.abc import Coroutine
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Exit, Option
from typer.core import TyperCommand
from typer.main import get_group

from deep_research.cli.options import Events, Json, Quiet, Verbose
from deep_research.cli.suggestions import command_meant

# Typer's own code for bad usage is 2; ours is 64, because 2 says that a run waits for an answer.
EXIT_USAGE = 64
EXIT_FAILED = 70
EXIT_INTERRUPTED = 130

# Module and help of every command but `ask`; the module has a function or a group of the command's name.
_COMMANDS = {
    "serve": ("serving.serve", "Serve the page and the interfaces on this machine."),
    "worker": ("serving.worker", "Work on the runs of servers that share a PostgreSQL with this machine."),
    "mcp": ("serving.serve", "Serve other agents over the Model Context Protocol, on standard input and output."),
    "export": ("runs.reports", "Write the report of a run in another format."),
    "update": (
        "runs.reports",
        "Bring a report up to date in a new run: look every claim up again, search anew, and say what has changed.",
    ),
    "diff": ("runs.reports", "Compare the reports of two runs: claims, sources, figures."),
    "replay": (
        "runs.reports",
        "Run a finished run again from its journal, without any outside call, and compare its files byte for byte.",
    ),
    "verify": (
        "runs.reports",
        "Check a report again: its text, its passages, its figures and sums; exit code 3 if something is wrong.",
    ),
    "audit": (
        "runs.reports",
        "Check any report, whoever wrote it, against its sources by rules; exit code 3 if something is wrong.",
    ),
    "doctor": ("setup.doctor", "Say what is configured, what is missing, and how to mend it."),
    "runs": ("runs.history", "Runs: list, show, report, resume, retry, cancel, answer, plan, delete."),
    "corpus": ("sources.corpus", "Folders of documents: add, list, remove, search, show."),
    "sources": ("sources.sources", "Sources of the web: list, test."),
    "cache": ("sources.cache", "What is kept of answers between runs: show, clear."),
    "sandbox": ("setup.sandbox", "Where chart code of a model runs: check, build-image."),
    "config": ("setup.doctor", "Settings: what is set, and from where."),
    "db": ("setup.db", "The database of runs, accounts and schedules: migrate, check, copy."),
    "queue": ("serving.queue", "Runs that wait for a worker: status, drain, retry."),
    "schedule": (
        "serving.schedules",
        "Questions that are researched again and again: add, list, show, pause, resume, remove, run-now.",
    ),
    "users": ("serving.users", "Accounts of the server: add, list, remove, password, limits, token, revoke, log."),
}
# The parameters of `ask` that say where its question comes from and its answer goes; the others are options of a run.
_NOT_OPTIONS_OF_A_RUN = {"question", "query", "output", "deep_research", "as_json", "events", "quiet", "verbose"}

app = typer.Typer(
    name="deep-research",
    help="Deep research you can check: every claim can be held against a stored passage.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class LazyCommand(TyperCommand):
    """A command or a group in a module of its own, imported when it is called, so that `--help` stays quick."""

    def loaded(self) -> Any:  # A command of Click, which Typer has inside or beside it, as its version has it.
        """Import the command with its options."""
        assert self.name is not None
        module, about = _COMMANDS[self.name]
        found = getattr(import_module(f"deep_research.cli.{module}"), self.name)
        alone = typer.Typer(rich_markup_mode=None)
        if isinstance(found, typer.Typer):
            alone.add_typer(found, name=self.name, help=about, no_args_is_help=True)
        else:
            alone.command(self.name, help=about)(found)
        return get_group(alone).commands[self.name]

    def make_context(self, *arguments: Any, **more: Any) -> Any:
        """Let the command itself parse what follows its name; it is then the one that is carried out."""
        return self.loaded().make_context(*arguments, **more)


Day = "YYYY[-MM[-DD]]"
Material = Annotated[list[Path] | None, Option(metavar="PATH", help="Folder of documents to search, or one file.")]
Talk = Annotated[
    str | None, Option(metavar="TEXT", help="What was said before the question; @FILE reads it from a file.")
]
Follow = Annotated[
    str | None, Option(metavar="RUN", help="Follow up this run: its sources are asked first and keep their numbers.")
]
Provider = Annotated[
    str | None,
    Option("--provider", "-p", metavar="NAME", help="The model's provider, or provider:model; none for none."),
]
Strategy = Annotated[
    str | None, Option(help="Kind of source: general, academic, news, code, patents, or local for --docs alone.")
]
CitationImage = Annotated[
    bool | None,
    Option("--enable-citation-image/--disable-citation-image", help="Name pictures of cited sources in --json (on)."),
]
References = Annotated[
    bool | None, Option("--enable-references/--disable-references", help="List the references in the report (on).")
]
ResourceFile = Annotated[
    bool | None,
    Option(
        "--enable-file-format-resource/--disable-file-format-resource",
        help="Write all that was read to one file, resources.md (off).",
    ),
]


@app.command()
def ask(
    question: Annotated[list[str] | None, Argument(help="The question; - reads it from standard input.")] = None,
    query: Annotated[str | None, Option("--query", "-q", metavar="TEXT", help="The question.")] = None,
    docs: Material = None,
    language: Annotated[str | None, Option(help="Language of the report: en, zh-Hans, de, ja …")] = None,
    length: Annotated[
        str | None, Option(help="Length of the report: short, standard, long or deep (else by the question).")
    ] = None,
    enable_citation_image: CitationImage = None,
    enable_references: References = None,
    enable_file_format_resource: ResourceFile = None,
    focus: Annotated[list[str] | None, Option(help="A side of the question to look at; may be repeated.")] = None,
    since: Annotated[str | None, Option(metavar=Day, help="Leave out sources known to be older.")] = None,
    until: Annotated[str | None, Option(metavar=Day, help="Leave out sources known to be newer.")] = None,
    context: Talk = None,
    follow: Follow = None,
    add: Annotated[bool, Option("--add", help="Add the answer to the report of --follow as a section.")] = False,
    clarify: Annotated[str | None, Option(help="When to ask back: auto, strict or off.")] = None,
    assume: Annotated[bool, Option("--assume", help="Do not ask: start on stated assumptions.")] = False,
    confirm_plan: Annotated[bool, Option("--confirm-plan", help="Wait for approval of the plan.")] = False,
    depth: Annotated[str | None, Option(help="How far to go: quick, standard or deep (else by the question).")] = None,
    max_iterations: Annotated[int | None, Option(help="Most rounds for a section (1-10).")] = None,
    budget_usd: Annotated[float | None, Option(help="Most money, in US dollars.")] = None,
    budget_tokens: Annotated[int | None, Option(help="Most model tokens.")] = None,
    budget_seconds: Annotated[float | None, Option(help="Most active seconds.")] = None,
    budget_queries: Annotated[int | None, Option(help="Most search queries.")] = None,
    budget_pages: Annotated[int | None, Option(help="Most pages.")] = None,
    provider: Provider = None,
    model: Annotated[str | None, Option(metavar="NAME", help="Model for plans and reports.")] = None,
    task_model: Annotated[str | None, Option(metavar="NAME", help="Model for everything else.")] = None,
    strategy: Strategy = None,
    site: Annotated[list[str] | None, Option(metavar="HOST", help="Of the web, only this; may be repeated.")] = None,
    no_cache: Annotated[bool, Option("--no-cache", help="Neither use nor keep answers of other runs.")] = False,
    offline: Annotated[bool, Option("--offline", help="Forbid every address outside this machine.")] = False,
    output: Annotated[Path | None, Option("--output", "-o", help="Write the report to a file instead.")] = None,
    wiring: Annotated[str | None, Option(metavar="MODULE:FUNCTION", help="Builds the parts of the run.")] = None,
    # Calls written for a former command line go on to work.
    deep_research: Annotated[bool, Option("--deep-research", help="Accepted, and always on.")] = False,
    as_json: Json = False,
    events: Events = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> int:
    """Research a question and print its report."""
    options = {name: value for name, value in locals().items() if name not in _NOT_OPTIONS_OF_A_RUN}
    from deep_research.cli.runs.research import ask_question, output_of

    where = output_of(as_json, events, quiet, verbose, output)
    return ask_question([query] if query is not None else question or [], options=options, output=where)


for _name, (_, _about) in _COMMANDS.items():
    app.command(_name, cls=LazyCommand, help=_about)(lambda: None)


def _finished(result: Any, **_: object) -> Any:
    """Return what a command came to; one that waits for something has returned a coroutine, which is run here."""
    if not isinstance(result, Coroutine):
        return result
    import asyncio

    return asyncio.run(result)


@app.callback(invoke_without_command=True, result_callback=_finished)
def _top(
    version: Annotated[bool, Option("--version", help="Show the version.", is_eager=True)] = False,
) -> None:
    if version:
        from importlib.metadata import version as version_of

        from deep_research.cli.printing import show

        show(version_of("deep-research"))
        raise Exit


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with the code of what came out (see `errors.py`)."""
    sys.exit(_run(sys.argv[1:] if arguments is None else arguments))


def _run(arguments: list[str]) -> int:
    try:
        return app(_with_command(arguments), standalone_mode=False, prog_name="deep-research") or 0
    except typer.Abort:
        from deep_research.cli.printing import tell

        tell("Interrupted.")
        return EXIT_INTERRUPTED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as exc:  # Nobody is shown a traceback who did not ask for one.
        return _explained(exc)


def _with_command(arguments: list[str]) -> list[str]:
    """Put `ask` before a first word that is no command: a bare question is asked, a slip in a command is not."""
    known = (*get_group(app).commands, "--help", "--version", "--install-completion", "--show-completion")
    if arguments and arguments[0] in known:
        return arguments
    if meant := command_meant(arguments, list(get_group(app).commands), _commands_inside):
        from deep_research.errors import UsageError

        raise UsageError(
            f"Did you mean: deep-research {meant}\nNothing was started; to research these words: deep-research ask …"
        )
    return ["ask", *arguments]


def _commands_inside(name: str) -> list[str]:
    command = get_group(app).commands[name]
    return list(getattr(command.loaded() if isinstance(command, LazyCommand) else command, "commands", ()))


def _explained(exc: Exception) -> int:
    """Say in one sentence what went wrong; what is not ours and not typer's is a bug and keeps its trace."""
    from deep_research.cli.explain import explain
    from deep_research.cli.printing import tell
    from deep_research.errors import DeepResearchError

    if hasattr(exc, "format_message"):
        tell(f"deep-research: {exc.format_message()}")
        return EXIT_USAGE
    if not isinstance(exc, DeepResearchError):
        from deep_research.text.masking import masked

        tell(masked("".join(traceback.format_exception(exc))), end="")
        return EXIT_FAILED
    return explain(exc)
