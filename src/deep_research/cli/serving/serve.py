"""The commands that serve: the page and the interfaces on this machine, and other agents over a protocol."""

import asyncio
import logging
import sys
import threading
from importlib.util import find_spec
from math import ceil
from typing import Annotated

from typer import Option

from deep_research.cli.printing import tell
from deep_research.cli.serving.worker import WorkerProcesses
from deep_research.errors import UsageError
from deep_research.settings import load_settings


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
    """Serve until stopped; runs that were under way go on when it is started again.

    A browser is opened where that is wanted, and by default where somebody sits at a terminal and has one. Where a
    number of workers is given, runs are driven by so many processes beside this one, and not by it.
    """
    if not find_spec("fastapi") or not find_spec("uvicorn"):
        raise UsageError("The server needs an extra: pip install 'deep-research[server]'")
    from deep_research.server.app import create_app
    from deep_research.server.listening import Server, address_of, bind
    from deep_research.server.origin import is_loopback
    from deep_research.service.accounts.accounts import accounts_exist

    settings = load_settings()
    if workers == 0 and settings.database_url is None:
        raise UsageError(
            "Without PostgreSQL nobody else could work on the runs: give --workers 1 or more, "
            "or set DEEP_RESEARCH_DATABASE_URL and start: deep-research worker"
        )
    # Looked up in any case: files that this version cannot use are reported before anybody waits for an answer.
    with_accounts = asyncio.run(accounts_exist(settings))
    if not is_loopback(host) and not with_accounts:
        raise UsageError(
            f"Without accounts the server listens on this machine only, not at {host}: deep-research users add NAME"
        )
    bound = bind(host, port)
    address = address_of(bound)

    def on_listening() -> None:
        tell(f"Open {address} (Ctrl-C stops it; runs go on when it starts again).")
        if sys.stderr.isatty() if with_browser is None else with_browser:
            threading.Thread(target=_open, args=(address,), name="browser", daemon=True).start()

    logging.getLogger("deep_research").setLevel(logging.INFO)
    if not workers:
        Server(create_app(settings, at_once=workers), bound, on_listening).listen()
        return
    # The setting says how many runs this machine works on, however many processes share them.
    processes = WorkerProcesses(workers, ceil(settings.server_runs_at_once / workers))
    processes.start()
    try:
        Server(create_app(settings, at_once=0), bound, on_listening).listen()
    finally:
        processes.stop()


def _open(address: str) -> None:
    """Open a page in a browser with windows; one in the terminal would write over what is shown there."""
    import webbrowser

    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return
    if type(browser) is not webbrowser.GenericBrowser:
        browser.open(address)


def mcp() -> None:
    """Serve until the client closes the input; standard output carries nothing but the protocol."""
    if not find_spec("mcp"):
        raise UsageError("This needs an extra: pip install 'deep-research[mcp]'")
    from deep_research.server.mcp.server import serve_stdio

    asyncio.run(serve_stdio(load_settings()))
