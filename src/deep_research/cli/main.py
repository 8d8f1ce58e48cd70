"""The commands and their options. What they do is imported when they run, so that `--help` stays quick."""

import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Exit, Option
from typer.main import get_group

from deep_research.cli.db_commands import db
from deep_research.cli.queue_commands import queue
from deep_research.cli.schedule_commands import schedule
from deep_research.cli.suggestions import command_meant
from deep_research.cli.user_commands import users

if TYPE_CHECKING:
    from deep_research.cli.research import Output

# Typer's own code for bad usage is 2; ours is 64, because 2 says that a run waits for an answer.
EXIT_USAGE = 64
EXIT_FAILED = 70
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="deep-research",
    help="Deep research you can check: every claim can be held against a stored passage.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _group(name: str, about: str) -> typer.Typer:
    group = typer.Typer(help=about, no_args_is_help=True)
    app.add_typer(group, name=name)
    return group


runs = _group("runs", "Runs: list, show, report, resume, retry, cancel, answer, plan, delete.")
corpus = _group("corpus", "Folders of documents: add, list, remove, search, show.")
sources = _group("sources", "Sources of the web: list, test.")
cache = _group("cache", "What is kept of answers between runs: show, clear.")
sandbox = _group("sandbox", "Where chart code of a model runs: check, build-image.")
config = _group("config", "Settings: what is set, and from where.")
app.add_typer(db, name="db")
app.add_typer(queue, name="queue")
app.add_typer(schedule, name="schedule")
app.add_typer(users, name="users")


RunId = Annotated[str, Argument(metavar="RUN", help="Id of the run, or its first characters.")]
Json = Annotated[bool, Option("--json", help="Print the result as JSON.")]
Events = Annotated[
    str | None,
    Option("--events", metavar="FILE", help="Write events as NDJSON; - writes them to stdout instead of the report."),
]

Folder = Annotated[Path, Argument(metavar="FOLDER", help="Folder of documents.")]
Docs = Annotated[Path | None, Option(metavar="FOLDER", help="Folder of documents to search.")]
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
Quiet = Annotated[bool, Option("--quiet", help="Show no progress.")]
Verbose = Annotated[bool, Option("--verbose", "-v", help="Show queries, sources, what it came to, and the log.")]


@app.command()
def ask(
    question: Annotated[list[str] | None, Argument(help="The question; - reads it from standard input.")] = None,
    query: Annotated[str | None, Option("--query", "-q", metavar="TEXT", help="The question.")] = None,
    docs: Material = None,
    language: Annotated[str | None, Option(help="Language of the report: en, zh-Hans, de, ja …")] = None,
    length: Annotated[str | None, Option(help="Length of the report: short, standard or long.")] = None,
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
    depth: Annotated[str | None, Option(help="How far to go: quick, standard or deep.")] = None,
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
    deep_research: Annotated[bool, Option("--deep-research", help="Accepted, and always on.")] = False,  # noqa: ARG001 - calls written for a former command line go on to work
    as_json: Json = False,
    events: Events = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Research a question and print its report."""
    from deep_research.cli.research import ask_question, given_context, given_documents

    options = {
        "context": given_context(context),
        "follow": follow,
        "add": add,
        "docs": given_documents(docs),
        "language": language,
        "length": length,
        "enable_citation_image": enable_citation_image,
        "enable_references": enable_references,
        "enable_file_format_resource": enable_file_format_resource,
        "focus": focus,
        "since": since,
        "until": until,
        "clarify": clarify,
        "assume": assume,
        "confirm_plan": confirm_plan,
        "depth": depth,
        "max_iterations": max_iterations,
        "budget_usd": budget_usd,
        "budget_tokens": budget_tokens,
        "budget_seconds": budget_seconds,
        "budget_queries": budget_queries,
        "budget_pages": budget_pages,
        "provider": provider,
        "model": model,
        "task_model": task_model,
        "strategy": strategy,
        "site": site,
        "no_cache": no_cache,
        "offline": offline,
        "wiring": wiring,
    }
    where = _output(as_json, events, quiet, verbose, output)
    raise Exit(ask_question([query] if query is not None else question or [], options=options, output=where))


def _output(as_json: bool, events: str | None, quiet: bool, verbose: bool, file: Path | None = None) -> "Output":
    from deep_research.cli.printing import set_up_logs
    from deep_research.cli.research import Output

    set_up_logs(is_verbose=verbose)
    return Output(as_json, events, quiet, verbose, file)


@runs.command("list")
def list_runs(
    limit: Annotated[int, Option(min=1, help="Most runs to show.")] = 20,
    status: Annotated[str | None, Option(help="Only runs with this status.")] = None,
    as_json: Json = False,
) -> None:
    """List the newest runs."""
    from deep_research.cli.history import print_runs

    print_runs(limit=limit, status=status, as_json=as_json)


@runs.command()
def show(
    run: RunId,
    stats: Annotated[bool, Option("--stats", help="Show where its time and its calls went.")] = False,
    as_json: Json = False,
) -> None:
    """Show one run: where it stands, what it cost, what it lost."""
    from deep_research.cli.history import print_run, print_statistics

    (print_statistics if stats else print_run)(run, as_json=as_json)


@runs.command()
def report(
    run: RunId,
    output: Annotated[Path | None, Option("--output", "-o", help="Write the report to a file instead.")] = None,
    as_json: Json = False,
) -> None:
    """Print the report of a run that is done."""
    from deep_research.cli.history import print_report

    print_report(run, as_json=as_json, file=output)


@runs.command()
def resume(
    run: RunId, as_json: Json = False, events: Events = None, quiet: Quiet = False, verbose: Verbose = False
) -> None:
    """Go on with a run from where it stood; nothing that was paid for is done again."""
    from deep_research.cli.research import resume_run

    raise Exit(resume_run(run, output=_output(as_json, events, quiet, verbose)))


@runs.command()
def retry(
    run: RunId, as_json: Json = False, events: Events = None, quiet: Quiet = False, verbose: Verbose = False
) -> None:
    """Do the failed steps of a run again; what succeeded is kept."""
    from deep_research.cli.research import resume_run

    raise Exit(resume_run(run, retry=True, output=_output(as_json, events, quiet, verbose)))


@runs.command()
def answer(
    run: RunId,
    text: Annotated[list[str], Argument(help="The answer.")],
    as_json: Json = False,
    events: Events = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Answer a waiting run and go on with it; "focus: costs; noise" changes what it looks at, also while it works."""
    from deep_research.cli.research import answer_run

    raise Exit(answer_run(run, " ".join(text), output=_output(as_json, events, quiet, verbose)))


@runs.command()
def plan(
    run: RunId,
    file: Annotated[
        str | None, Option(metavar="FILE", help="Submit this edited plan and go on; - reads standard input.")
    ] = None,
    as_json: Json = False,
    events: Events = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Print the plan of a run as YAML, or submit an edited one for which it waits."""
    if file is None:
        from deep_research.cli.history import print_plan

        print_plan(run)
        return
    from deep_research.cli.research import submit_plan

    raise Exit(submit_plan(run, file, output=_output(as_json, events, quiet, verbose)))


@runs.command()
def cancel(run: RunId) -> None:
    """Cancel a run; everything finished so far is kept."""
    from deep_research.cli.history import cancel_run

    cancel_run(run)


@runs.command()
def delete(
    run: RunId,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
    keep_files: Annotated[bool, Option("--keep-files", help="Leave the run folder alone.")] = False,
) -> None:
    """Delete a run, its journal, events and folder."""
    from deep_research.cli.history import delete_run

    delete_run(run, is_confirmed=yes, keep_files=keep_files)


@app.command()
def serve(
    host: Annotated[str, Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, Option(min=0, max=65535, help="Port to listen at; 0 takes a free one.")] = 8700,
    with_browser: Annotated[
        bool | None, Option("--open/--no-open", help="Open the page in a browser; by default, at a terminal.")
    ] = None,
    workers: Annotated[
        int | None,
        Option(min=0, help="Processes beside this one that work on runs; 0 leaves them to other hosts' workers."),
    ] = None,
) -> None:
    """Serve the page and the interfaces on this machine."""
    from deep_research.cli.serve import serve

    serve(host=host, port=port, with_browser=with_browser, workers=workers)


@app.command()
def worker(
    processes: Annotated[int, Option(min=1, help="Processes that work on runs.")] = 1,
    at_once: Annotated[
        int | None, Option(min=1, help="Most runs at once of each; by default, that of servers.")
    ] = None,
    metrics_port: Annotated[
        int | None, Option(min=1, max=65535, help="Port for the figures of its runs, for Prometheus; none by default.")
    ] = None,
    metrics_host: Annotated[str, Option(help="Address for it; whoever reaches it needs no token.")] = "127.0.0.1",
) -> None:
    """Work on the runs of servers that share a PostgreSQL with this machine."""
    from deep_research.cli.worker import run_workers

    run_workers(processes=processes, at_once=at_once, metrics_port=metrics_port, metrics_host=metrics_host)


@app.command()
def mcp() -> None:
    """Serve other agents over the Model Context Protocol, on standard input and output."""
    from deep_research.cli.mcp import serve_mcp

    serve_mcp()


@app.command()
def export(
    run: RunId,
    form: Annotated[
        str | None, Option("--format", "-f", help="Format of the file, if its ending does not say it: md, html, pdf …")
    ] = None,
    output: Annotated[Path | None, Option("--output", "-o", help="Write to this file.")] = None,
) -> None:
    """Write the report of a run in another format."""
    from deep_research.cli.export import export_report

    export_report(run, form, output)


@app.command()
def update(
    run: RunId,
    output: Annotated[Path | None, Option("--output", "-o", help="Write the new report to a file instead.")] = None,
    as_json: Json = False,
    events: Events = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Bring a report up to date in a new run: look every claim up again, search anew, and say what has changed."""
    from deep_research.cli.research import update_run

    raise Exit(update_run(run, output=_output(as_json, events, quiet, verbose, output)))


@app.command()
def diff(
    run: RunId,
    other: Annotated[str, Argument(metavar="RUN", help="The run to compare it with.")],
    html: Annotated[Path | None, Option("--html", metavar="FILE", help="Write it as a page instead.")] = None,
    as_json: Json = False,
) -> None:
    """Compare the reports of two runs: claims, sources, figures."""
    from deep_research.cli.versions import print_differences

    print_differences(run, other, html=html, as_json=as_json)


@app.command()
def replay(
    run: RunId,
    output: Annotated[Path | None, Option("--output", "-o", metavar="FOLDER", help="Keep the files here.")] = None,
) -> None:
    """Run a finished run again from its journal, without any outside call, and compare its files byte for byte."""
    from deep_research.cli.versions import replay_run

    raise Exit(replay_run(run, output))


@app.command()
def verify(
    target: Annotated[str, Argument(metavar="RUN|FILE|BUNDLE", help="A run, its report.md, or a bundle.zip.")],
    digest: Annotated[str | None, Option(metavar="HEX", help="The digest that a bundle must have.")] = None,
    as_json: Json = False,
) -> None:
    """Check a report again: its text, its passages, its figures and sums; exit code 3 if something is wrong."""
    from deep_research.cli.check import verify_target

    raise Exit(verify_target(target, digest=digest, as_json=as_json))


@app.command()
def audit(
    file: Annotated[Path, Argument(metavar="FILE", help="A Markdown report with numbered references.")],
    sources: Annotated[
        Path | None, Option(metavar="FOLDER", help="Its sources; without it, the pages it refers to are fetched.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check any report, whoever wrote it, against its sources by rules; exit code 3 if something is wrong."""
    from deep_research.cli.check import audit_any

    raise Exit(audit_any(file, sources, as_json=as_json))


@corpus.command("add")
def add_folder(folder: Folder, as_json: Json = False, quiet: Quiet = False) -> None:
    """Read a folder into the index, so that the first run over it starts at once."""
    from deep_research.cli.corpus import add_folder

    add_folder(folder, as_json=as_json, is_quiet=quiet)


@corpus.command("list")
def list_corpus(
    folder: Annotated[Path | None, Argument(metavar="FOLDER", help="List its documents.")] = None,
    as_json: Json = False,
) -> None:
    """List the indexed folders, or the documents of one."""
    from deep_research.cli.corpus import list_corpus

    list_corpus(folder, as_json=as_json)


@corpus.command("remove")
def remove_folder(folder: Folder) -> None:
    """Forget a folder; its files, and the runs that cite them, are left alone."""
    from deep_research.cli.corpus import remove_folder

    remove_folder(folder)


@corpus.command("search")
def search_corpus(
    query: Annotated[str, Argument(help="What to look for.")],
    docs: Docs = None,
    limit: Annotated[int, Option(min=1, help="Most passages to show.")] = 10,
    as_json: Json = False,
) -> None:
    """Find passages in a folder of documents."""
    from deep_research.cli.corpus import search_corpus

    search_corpus(query, docs, limit=limit, as_json=as_json)


@corpus.command("show")
def show_document(
    address: Annotated[str, Argument(metavar="FILE", help="Path of the file in its folder.")],
    docs: Docs = None,
    run: Annotated[
        str | None, Option(metavar="RUN", help="Show it as this run read it, also when the file is gone.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a document's text as it is searched and quoted."""
    from deep_research.cli.corpus import show_document

    show_document(address, docs, run, as_json=as_json)


@sources.command("list")
def list_sources(as_json: Json = False) -> None:
    """List every source of the web: which are asked, and what the others lack."""
    from deep_research.cli.sources import print_sources

    print_sources(as_json=as_json)


@sources.command("test")
def try_source(
    name: Annotated[str, Argument(metavar="NAME", help="Name of the source, as the list shows it.")],
    query: Annotated[str, Option("--query", "-q", metavar="TEXT", help="What to search for.")] = "heat pump",
    as_json: Json = False,
) -> None:
    """Ask one source and show what it answers."""
    from deep_research.cli.sources import try_source

    raise Exit(try_source(name, query, as_json=as_json))


@cache.command("show")
def show_cache() -> None:
    """Show how much is kept."""
    from deep_research.cli.cache import print_cache

    print_cache()


@cache.command("clear")
def clear_cache() -> None:
    """Forget all that is kept; runs are left alone."""
    from deep_research.cli.cache import clear_cache

    clear_cache()


@sandbox.command("check")
def check_sandbox() -> None:
    """Start the sandbox, try to get out of it, draw in it, and say how that went."""
    from deep_research.cli.sandbox import check_sandbox

    raise Exit(check_sandbox())


@sandbox.command("build-image")
def build_image() -> None:
    """Build the image that Docker runs chart code in."""
    from deep_research.cli.sandbox import build_image

    build_image()


@config.command("show")
def show_config(as_json: Json = False) -> None:
    """Show every setting, its value, and where it comes from."""
    from deep_research.cli.doctor import print_config

    print_config(as_json=as_json)


@app.command()
def doctor() -> None:
    """Say what is configured, what is missing, and how to mend it."""
    from deep_research.cli.doctor import print_diagnosis

    raise Exit(print_diagnosis())


@app.callback(invoke_without_command=True)
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
    except Exception as exc:
        return _explained(exc)


def _with_command(arguments: list[str]) -> list[str]:
    """Put `ask` before a first word that is no command: a bare question is asked, a slip in a command is not."""
    commands = {name: list(getattr(command, "commands", ())) for name, command in get_group(app).commands.items()}
    if arguments and arguments[0] in (*commands, "--help", "--version", "--install-completion", "--show-completion"):
        return arguments
    if meant := command_meant(arguments, commands):
        from deep_research.errors import UsageError

        raise UsageError(
            f"Did you mean: deep-research {meant}\nNothing was started; to research these words: deep-research ask …"
        )
    return ["ask", *arguments]


def _explained(exc: Exception) -> int:
    """Say in one sentence what went wrong; what is not ours and not typer's is a bug and keeps its trace."""
    from deep_research.cli.explain import explain
    from deep_research.cli.printing import tell
    from deep_research.errors import DeepResearchError

    if hasattr(exc, "format_message"):
        tell(f"deep-research: {exc.format_message()}")
        return EXIT_USAGE
    if not isinstance(exc, DeepResearchError):
        from deep_research.masking import masked

        tell(masked("".join(traceback.format_exception(exc))), end="")
        return EXIT_FAILED
    return explain(exc)
