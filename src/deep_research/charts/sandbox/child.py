"""The program inside a sandbox: it loads matplotlib once and runs each piece of chart code in a fresh child of its own.

It stands alone, and gets and gives one line of JSON at a time. The first line sets it up; then come requests with an
id, and `stop` for one that takes too long. It trusts nothing of a child: not its output, not its timing, not its end.
"""

import base64
import ctypes
import gc
import io
import json
import linecache
import os
import resource
import select
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

# The only place inside that can be written.
SCRATCH = Path("/tmp")
MAX_FIGURES = 5
_MAX_OUTPUT = 64 * 1024
_MAX_RESULT = 24 * 1024 * 1024
_MAX_FILES = 64
_POLL_S = 0.01
_SET_DUMPABLE, _SET_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 4, 38, 22, 2
_NAME = "<chart>"


class _LineReader:
    """What the host says, line by line."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._pending = b""

    def read(self) -> Any:
        """Wait for the next line; end with the host."""
        while b"\n" not in self._pending:
            piece = os.read(self.descriptor, 1 << 20)
            if not piece:
                os._exit(0)
            self._pending += piece
        line, _, self._pending = self._pending.partition(b"\n")
        return json.loads(line)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def main() -> NoReturn:
    """Load everything, say so, and serve until the host goes."""
    # As the first process it can end all others, and none of them can end it. Anywhere else it would end its user's.
    if os.getpid() != 1:
        sys.exit("this program runs only as the first process of a sandbox")
    lines, reply_to = _LineReader(os.dup(0)), os.dup(1)
    nothing = os.open("/dev/null", os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    setup = lines.read()
    # Nobody inside may look into this process: its memory, its descriptors, its environment.
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        sys.exit("this process cannot be closed to others")
    steps = setup["filters"].get(os.uname().machine)
    if not steps:
        sys.exit(f"there is no filter of system calls for {os.uname().machine}")
    fence = _Fence(libc, base64.b64decode(steps), setup["limits"])
    sys.path += setup["packages"]
    os.environ.clear()
    os.environ.update(
        MPLCONFIGDIR=f"{SCRATCH}/matplotlib", MPLBACKEND="agg", OPENBLAS_NUM_THREADS="1", HOME=str(SCRATCH)
    )
    names = _load(setup["style"])
    _empty_scratch()
    os.dup2(nothing, 2)
    gc.collect()
    gc.freeze()
    _say(reply_to, {"ready": True})
    while True:
        request = lines.read()
        if "code" not in request:
            continue  # a stop that came after the end
        _say(reply_to, {"id": request["id"], **_serve(request, lines, reply_to, fence, names)})


def _load(style: str) -> dict[str, Any]:
    """Return what chart code finds by name, and `plotted`, which reads the values of a chart.

    Draw once, so that fonts and the like are loaded for all children.
    """
    plt, numpy, pandas = map(import_module, ("matplotlib.pyplot", "numpy", "pandas"))
    fonts: Any = import_module("matplotlib.font_manager")
    # Matplotlib drops its open fonts in every child, as two processes would share a place in a file. Here the parent
    # waits while its only child draws.
    fonts._get_font = lru_cache(maxsize=64)(fonts._get_font.__wrapped__)
    namespace: dict[str, Any] = {"__name__": "style"}
    exec(compile(style, "style.py", "exec"), namespace)
    namespace["apply"]()
    figure, axes = plt.subplots()
    frame = pandas.DataFrame([{"label": "a", "value": 1}, {"label": "b", "value": 2}])
    axes.plot(frame["label"], frame["value"], label="a 中文")
    axes.bar(frame["label"], frame["value"])
    axes.set_title("a 中文 標題 日本語")
    axes.set_ylabel("b")
    axes.legend()
    _drawn(figure)
    plt.close("all")
    found = {"plt": plt, "np": numpy, "numpy": numpy, "pd": pandas, "pandas": pandas}
    return found | {"plotted": namespace["plotted"]}


class _Fence:
    """What a child puts around itself before it runs anything: limits, and the filter of system calls."""

    def __init__(self, libc: ctypes.CDLL, steps: bytes, bounds: dict[str, int]) -> None:
        self._libc = libc
        self._steps = ctypes.create_string_buffer(steps, len(steps))
        self._program = _Program(len(steps) // 8, ctypes.addressof(self._steps))
        self._bounds = bounds

    def close(self) -> None:
        """Close it for good."""
        for name, most in {**self._bounds, "NOFILE": _MAX_FILES, "CORE": 0}.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
        prctl = self._libc.prctl
        if prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or prctl(_SET_SECCOMP, _FILTER, ctypes.byref(self._program), 0, 0):
            os._exit(70)


def _serve(
    request: dict[str, Any], lines: _LineReader, reply_to: int, fence: _Fence, names: dict[str, Any]
) -> dict[str, Any]:
    """Run one request in a child and return what became of it."""
    printed, print_to = os.pipe()
    result, result_to = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for descriptor in (lines.descriptor, reply_to, printed, result):
                os.close(descriptor)
            os.dup2(print_to, 1)
            os.dup2(print_to, 2)
            os.close(print_to)
            os.chdir(SCRATCH)
            fence.close()
            _run(request, result_to, names)
        finally:
            os._exit(0)
    os.close(print_to)
    os.close(result_to)
    received = {printed: bytearray(), result: bytearray()}
    ending = _await(child, lines, received, {printed: _MAX_OUTPUT, result: _MAX_RESULT})
    # Nothing of it may live on: neither a process nor a file.
    _end_everybody()
    for descriptor in received:
        os.close(descriptor)
    _empty_scratch()
    return {
        "ending": ending,
        "output": received[printed].decode("utf-8", "replace"),
        "result": received[result].decode("utf-8", "replace"),
    }


def _await(child: int, lines: _LineReader, received: dict[int, bytearray], most: dict[int, int]) -> str:
    """Collect what the child writes until it has ended, and say how; not its pipes decide, which others may hold."""
    for descriptor in received:
        os.set_blocking(descriptor, False)
    open_pipes = set(received)
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        readable, _, _ = select.select([*open_pipes, lines.descriptor], [], [], 0 if ended else _POLL_S)
        for descriptor in open_pipes & set(readable):
            piece = os.read(descriptor, 1 << 16)
            if not piece:
                open_pipes.discard(descriptor)
            received[descriptor] += piece[: most[descriptor] - len(received[descriptor])]
        if ended and not open_pipes & set(readable):
            code = os.waitstatus_to_exitcode(status)
            return "done" if code == 0 else f"signal {signal.Signals(-code).name}" if code < 0 else f"exit {code}"
        if lines.descriptor in readable:
            lines.read()
            return "stopped"


def _end_everybody() -> None:
    """End every other process in here, and wait for each."""
    while True:
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _empty_scratch() -> None:
    for path in SCRATCH.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _say(descriptor: int, reply: dict[str, Any]) -> None:
    rest = memoryview(json.dumps(reply).encode() + b"\n")
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _run(request: dict[str, Any], result_to: int, names: dict[str, Any]) -> None:
    """In the child: run the code, then write what it drew, or its error."""
    code, plt, plotted = request["code"], names["plt"], names.pop("plotted")
    # It would touch all that the parent has loaded, and so copy it.
    gc.disable()
    # Code that saves its chart often closes it too; then there would be nothing left to take.
    plt.close = lambda *_, **__: None
    linecache.cache[_NAME] = (len(code), None, code.splitlines(keepends=True), _NAME)
    reply: dict[str, Any] = {"error": ""}
    try:
        exec(compile(code, _NAME, "exec"), {"__name__": "__main__", "data": request["data"], **names})
        reply |= _figures(plt, request["data"], plotted)
    except BaseException:  # a chart that says `exit()` has failed too
        kind, error, trace = sys.exc_info()
        while trace and trace.tb_frame.f_code.co_filename != _NAME:
            trace = trace.tb_next
        reply["error"] = "".join(traceback.format_exception(kind, error, trace))[-_MAX_OUTPUT:]
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    _say(result_to, reply)


def _figures(plt: Any, data: Any, plotted: Callable[[Any, Any], list[float]]) -> dict[str, Any]:
    figures = [plt.figure(number) for number in plt.get_fignums()[:MAX_FIGURES]]
    pictures = [_drawn(figure) for figure in figures]
    return {
        "figures": [base64.b64encode(png).decode() for png, _ in pictures],
        "svgs": [svg.decode() for _, svg in pictures],
        "plotted": [[value for axes in figure.axes for value in plotted(axes, data)] for figure in figures],
    }


def _drawn(figure: Any) -> tuple[bytes, bytes]:
    """Return a figure as PNG and SVG; `savefig` would draw it twice for each, and place everything four times."""
    png, svg = io.BytesIO(), io.BytesIO()
    import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(figure).print_png(png)
    figure.set_layout_engine("none")
    import_module("matplotlib.backends.backend_svg").FigureCanvasSVG(figure).print_svg(svg)
    return png.getvalue(), svg.getvalue()


if __name__ == "__main__":
    main()
