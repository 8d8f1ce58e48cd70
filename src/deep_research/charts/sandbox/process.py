"""Workers: started sandboxes with the program in them, spoken to line by line. Nothing that they say is trusted.

`WarmSandbox` runs chart code in one that is ready, with a second one kept ready for when that is lost.
"""

import asyncio
import base64
import json
import subprocess
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from deep_research.charts.sandbox.port import Execution
from deep_research.charts.sandbox.reply import MAX_REPLY_BYTES, execution_of
from deep_research.charts.sandbox.seccomp import filters
from deep_research.errors import SourceError, SourceRefused
from deep_research.text.cleaning import clean_text
from deep_research.value import Json, JsonObject

Process = asyncio.subprocess.Process
START_S = 60.0
_GRACE_S = 3.0
_END_S = 5.0
_MAX_REASON_CHARS = 500
_MEBI = 1024 * 1024


class SandboxLost(Exception):
    """The worker is gone, or said something that only a broken one says."""


class SandboxLimits(NamedTuple):
    """What one piece of code may use: seconds, memory, and the size of a file and of all its files."""

    timeout_s: float = 60.0
    memory_mb: int = 1024
    file_mb: int = 64
    scratch_mb: int = 256


class Start(NamedTuple):
    """How a worker is started: the command, its environment (None: ours), and the folders of packages inside.

    `ending` is a command that ends what the end of the started process leaves behind; `user` is who that process must
    be once it has started, if it is not simply ours.
    """

    command: Sequence[str]
    environment: dict[str, str] | None
    packages: Sequence[str] = ()
    ending: Sequence[str] = ()
    user: int | None = None


class Backend(Protocol):
    """A way to shut code in."""

    @property
    def name(self) -> str:
        """What it is called."""

    async def problem(self) -> str:
        """Return why it cannot be used here, or nothing; what only a trial shows is not looked for."""

    def start(self, limits: SandboxLimits) -> Start:
        """Return how a worker is started, under a name of its own."""


def program(name: str) -> str:
    """Return the text of a program of this package that stands alone."""
    return files("deep_research.charts.sandbox").joinpath(name).read_text(encoding="utf-8")


async def start_process(command: Sequence[str], **options: Any) -> Process:
    """Start a process with pipes to it; whoever is called off meanwhile leaves none behind."""
    pipe = asyncio.subprocess.PIPE
    begun = asyncio.ensure_future(
        asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe, **options)
    )
    try:
        return await asyncio.shield(begun)
    except asyncio.CancelledError:
        await end_process(await begun)
        raise


async def end_process(process: Process) -> str:
    """End a process, wait for that, and return the last line that it wrote to its standard error."""
    with suppress(ProcessLookupError):
        process.kill()
    if process.stdin is not None:
        process.stdin.close()
    said = b""
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                _, said = await process.communicate()
    finally:
        # Its own children may hold the pipes, or whoever waits is called off again; asyncio has no other way to let go.
        process._transport.close()  # type: ignore[attr-defined]
    lines = clean_text((said or b"").decode("utf-8", "replace")).strip().splitlines()
    return lines[-1][-_MAX_REASON_CHARS:] if lines else ""


async def write_to(process: Process, input_bytes: bytes) -> None:
    """Write to a process, or raise `OSError` where it has ended."""
    stream = process.stdin
    assert stream
    try:
        stream.write(input_bytes)
        await stream.drain()
    except RuntimeError as exc:
        # What uvloop raises where the pipe is closed; asyncio's own loop does not.
        raise BrokenPipeError from exc


async def run_command(command: Sequence[str], *, within_s: float = 10.0, input_bytes: bytes = b"") -> tuple[int, str]:
    """Return the exit code of a command and what it said."""
    try:
        ended = await asyncio.to_thread(
            subprocess.run,
            command,
            input=input_bytes,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=within_s,
            check=False,
        )
    except OSError as exc:
        return 127, str(exc)
    except subprocess.TimeoutExpired:
        return 124, f"no answer within {within_s:g} s"
    return ended.returncode, clean_text(ended.stdout.decode("utf-8", "replace")).strip()


def _users(pid: int) -> set[int]:
    """Return who a process is to the rest of the machine."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    return {int(number) for line in status.splitlines() if line.startswith("Uid:") for number in line.split()[1:]}


class SandboxProcess:
    """A fork server in a sandbox, for one piece of code at a time."""

    def __init__(self, process: Process, start: Start, limits: SandboxLimits) -> None:
        self._process = process
        self._start = start
        self._limits = limits
        self._numbers = count(1)

    @classmethod
    async def started(cls, start: Start, limits: SandboxLimits, style: str) -> "SandboxProcess":
        """Start one and wait until everything is loaded, or raise `SandboxLost` with the reason."""
        try:
            process = await start_process(
                start.command, limit=MAX_REPLY_BYTES, env=start.environment, start_new_session=True
            )
        except OSError as exc:
            raise SandboxLost(str(exc)) from exc
        started_process = cls(process, start, limits)
        # The clock is the host's; this ends only what would go on after the host itself.
        most: JsonObject = {
            "AS": limits.memory_mb * _MEBI,
            "FSIZE": limits.file_mb * _MEBI,
            "CPU": int(limits.timeout_s) + 2,
        }
        calls: JsonObject = {machine: base64.b64encode(steps).decode() for machine, steps in filters().items()}
        try:
            async with asyncio.timeout(START_S):
                await started_process._say(
                    {"style": style, "filters": calls, "limits": most, "packages": [*start.packages]}
                )
                await started_process._hear()
            if start.user is not None and _users(process.pid) != {start.user}:
                raise SandboxLost(f"it does not run as the user {start.user}")
        except (SandboxLost, TimeoutError) as exc:
            reason = await started_process.end()
            raise SandboxLost(reason or str(exc) or f"it did not start within {START_S:g} s") from exc
        except BaseException:  # Called off: no process may be left behind.
            await started_process.end()
            raise
        return started_process

    @property
    def pid(self) -> int:
        """The process that stands for the sandbox outside."""
        return self._process.pid

    async def run(self, code: str, data: Json) -> Execution:
        """Return what the code drew, or raise `SourceError` with what it printed, or `SandboxLost`."""
        number = next(self._numbers)
        await self._say({"id": number, "code": code, "data": data})
        try:
            async with asyncio.timeout(self._limits.timeout_s):
                reply = await self._hear()
        except TimeoutError:
            await self._stop(number)
            raise SourceError(f"The code was stopped after {self._limits.timeout_s:g} s.") from None
        if reply.get("id") != number:
            raise SandboxLost("it answered another request")
        return execution_of(reply)

    async def _stop(self, number: int) -> None:
        """Have the code stopped; where that does not happen at once, end the worker."""
        try:
            async with asyncio.timeout(_GRACE_S):
                await self._say({"stop": number})
                await self._hear()
        except (SandboxLost, TimeoutError):
            await self.end()

    @property
    def is_alive(self) -> bool:
        """Whether it may be asked again."""
        return self._process.returncode is None

    async def end(self) -> str:
        """End the sandbox with everything in it; return the last words of whoever started it."""
        said = await end_process(self._process)
        if self._start.ending:
            await run_command(self._start.ending, within_s=_END_S)
        return said

    async def _say(self, message: JsonObject) -> None:
        try:
            await write_to(self._process, json.dumps(message).encode() + b"\n")
        except OSError as exc:
            raise SandboxLost("it has ended") from exc

    async def _hear(self) -> JsonObject:
        """Return the next answer."""
        stream = self._process.stdout
        try:
            line = await stream.readline() if stream else b""
            reply = json.loads(line)
        # A line that is too long, no JSON, or none at all; nested too deeply.
        except (ValueError, RecursionError, OSError) as exc:
            raise SandboxLost("it has ended") from exc
        if not isinstance(reply, dict):
            raise SandboxLost("it answered nonsense")
        return reply


@dataclass
class WarmSandbox:
    """The first of these backends that passes the self-test; it starts with the first piece of code."""

    backends: Sequence[Backend]
    limits: SandboxLimits
    style: str
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _backend: Backend | None = None
    _problem: str = ""
    _process: SandboxProcess | None = None
    _spare: asyncio.Task[SandboxProcess] | None = None

    @property
    def timeout_s(self) -> float:
        return self.limits.timeout_s

    async def execute(self, code: str, data: Json = None) -> Execution:
        """Run the code; `SourceRefused` says that no code can be run here, and why."""
        async with self._lock:
            process = await self._ready()
            try:
                execution = await process.run(code, data)
            except SandboxLost:
                await self._let_go()
                # The code may have done it: it gets one more try, in a sandbox that nothing else will be run in.
                execution = await self._alone(code, data)
            except SourceError:
                if not process.is_alive:
                    await self._let_go()
                raise
            except BaseException:
                # Called off in the middle: the worker may still be busy with it.
                await self._let_go()
                raise
            if self._spare is None:
                self._spare = asyncio.create_task(self._start())
            return execution

    async def check(self) -> str:
        """Return the name of the backend that is used, or raise `SourceRefused` with what is wrong with each."""
        async with self._lock:
            await self._ready()
            return self._backend.name if self._backend else ""

    async def close(self) -> None:
        """End the workers."""
        await self._let_go()
        if (spare := self._spare) is not None:
            self._spare = None
            spare.cancel()
            for outcome in await asyncio.gather(spare, return_exceptions=True):
                if isinstance(outcome, SandboxProcess):
                    await outcome.end()

    async def _ready(self) -> SandboxProcess:
        """Return the worker; the first one is tested, and tells which backend is used."""
        if self._problem:
            raise SourceRefused(self._problem)
        if self._backend is None:
            self._process = await self._choose()
        if self._process is not None and not self._process.is_alive:
            await self._let_go()
        if self._process is None:
            spare, self._spare = self._spare, None
            self._process = await self._started_again(spare)
        return self._process

    async def _choose(self) -> SandboxProcess:
        problems = []
        for backend in self.backends:
            problem = await backend.problem()
            if not problem:
                self._backend = backend
                try:
                    return await self._tested()
                except (SandboxLost, SourceError) as exc:
                    problem = str(exc)
            self._backend = None
            problems.append(f"{backend.name}: {problem}")
        self._problem = (
            f"Code for charts cannot be run: no sandbox is available ({'; '.join(problems)}). "
            "Install bubblewrap or start Docker."
        )
        raise SourceRefused(self._problem)

    async def _tested(self) -> SandboxProcess:
        """Return a worker of the backend that passed the self-test."""
        process = await self._start()
        try:
            execution = await process.run(program("probe.py"), None)
            if problems := execution.stdout.split("\n")[:-1]:
                raise SandboxLost(f"the self-test failed: {', '.join(problems)}")
        except BaseException:  # Called off too: no process may be left behind.
            await process.end()
            raise
        return process

    async def _started_again(self, spare: Awaitable[SandboxProcess] | None = None) -> SandboxProcess:
        """Return the spare one, or a new one where there is none that works."""
        try:
            process = await (spare or self._start())
            return process if process.is_alive else await self._start()
        except SandboxLost as exc:
            raise SourceError(f"The sandbox could not be started again: {exc}") from exc

    async def _start(self) -> SandboxProcess:
        assert self._backend is not None
        return await SandboxProcess.started(self._backend.start(self.limits), self.limits, self.style)

    async def _alone(self, code: str, data: Json) -> Execution:
        process = await self._started_again()
        try:
            return await process.run(code, data)
        except SandboxLost as exc:
            raise SourceError("The code ended the sandbox that it ran in, twice.") from exc
        finally:
            await process.end()

    async def _let_go(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.end()
