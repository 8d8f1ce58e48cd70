"""Processes that drive runs: the command `worker`, and the ones that `serve --workers` has beside it."""

import asyncio
import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

from typer import Option

from deep_research.cli.printing import set_up_logs, tell
from deep_research.errors import UsageError
from deep_research.settings import Settings, load_settings

if TYPE_CHECKING:
    from deep_research.service.runs.worker import Worker

# A process that ends at once each time is started again at this pace.
_RESTART_S = 1.0
_POLL_S = 0.2
# More than a process waits for calls in flight; then it is killed.
_MAX_STOP_S = 40.0


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
    """Drive runs of the shared queue until stopped; several processes are started again where one is lost.

    Where a port is given, figures of what the runs use can be read there.
    """
    settings = load_settings()
    if settings.database_url is None:
        raise UsageError(
            "A worker shares its runs with servers through PostgreSQL: set DEEP_RESEARCH_DATABASE_URL. "
            "For more processes on one machine without it: deep-research serve --workers N"
        )
    at_once = at_once or settings.server_runs_at_once
    on_worker = _no_metrics if metrics_port is None else _serve_metrics(metrics_host, metrics_port, processes)
    if processes == 1:
        _work_here(settings, at_once, on_worker=on_worker)
        return
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    workers = WorkerProcesses(processes, at_once)
    workers.start()
    tell(f"{processes} processes take up runs, {at_once} at once each (Ctrl-C stops them; others go on).")
    stopped.wait()
    workers.stop()


@dataclass
class WorkerProcesses:
    """Processes of this one that drive runs: one that is lost is started again, all end with their parent."""

    count: int
    at_once: int
    _processes: "list[subprocess.Popen[bytes]]" = field(default_factory=list)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Start all, and look after them from now on."""
        self._processes = [self._new() for _ in range(self.count)]
        self._thread = threading.Thread(target=self._supervise, name="workers", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Have all let go of their runs, and wait until they have ended."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
        for process in self._processes:
            process.terminate()
        until = time.monotonic() + _MAX_STOP_S
        for process in self._processes:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _supervise(self) -> None:
        while not self._stopped.wait(_POLL_S):
            for index, process in enumerate(self._processes):
                if (code := process.poll()) is None:
                    continue
                tell(f"The worker {process.pid} ended ({code}); another one takes its place.")
                if self._stopped.wait(_RESTART_S):
                    return
                self._processes[index] = self._new()

    def _new(self) -> "subprocess.Popen[bytes]":
        # Its input ends when this process does, however that happens.
        return subprocess.Popen([sys.executable, "-m", __name__, str(self.at_once)], stdin=subprocess.PIPE)


def _no_metrics(_worker: "Worker") -> None:
    """Count nothing."""


def _serve_metrics(host: str, port: int, processes: int) -> "Callable[[Worker], None]":
    """Answer whoever asks for the figures of this process, in a thread; return what has a worker counted."""
    if processes != 1:
        raise UsageError("--metrics-port is for one process: start several workers, each with a port of its own.")
    if not find_spec("prometheus_client"):
        raise UsageError("--metrics-port needs an extra: pip install 'deep-research[server]'")
    from prometheus_client import start_http_server

    from deep_research.service.runs.run_metrics import RunMetrics

    metrics = RunMetrics()
    try:
        start_http_server(port, host, metrics.registry)
    except OSError as exc:
        raise UsageError(f"Cannot listen at {host}:{port}: {exc.strerror}. Name another port.") from exc
    return metrics.follow


def _work_here(
    settings: Settings, at_once: int, *, on_worker: "Callable[[Worker], None]" = _no_metrics, with_parent: bool = False
) -> None:
    from deep_research.service.runs.worker_process import work

    async def until_stopped() -> None:
        stopped, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stopped.set)
        if with_parent:
            threading.Thread(target=_wait_for_parent, args=(loop, stopped), name="parent", daemon=True).start()
        else:
            tell(f"Takes up runs, {at_once} at once (Ctrl-C stops it; others go on with them).")
        await work(settings, at_once=at_once, stopped=stopped, on_worker=on_worker)

    logging.getLogger("deep_research").setLevel(logging.INFO)
    asyncio.run(until_stopped())


def _wait_for_parent(loop: asyncio.AbstractEventLoop, stopped: asyncio.Event) -> None:
    sys.stdin.buffer.read()
    loop.call_soon_threadsafe(stopped.set)


if __name__ == "__main__":
    set_up_logs(is_verbose=False)
    _work_here(load_settings(), int(sys.argv[1]), with_parent=True)
