"""`WarmSandbox`: runs chart code in a worker that is ready, with a second one kept ready for when that is lost."""

import asyncio
from collections.abc import Awaitable, Sequence

from deep_research.charts.sandbox.port import Execution
from deep_research.charts.sandbox.process import Backend, SandboxLimits, SandboxLost, SandboxProcess, program
from deep_research.errors import SourceError, SourceRefused
from deep_research.value import Json


class WarmSandbox:
    """The first of these backends that passes the self-test; it starts with the first piece of code."""

    def __init__(self, backends: Sequence[Backend], limits: SandboxLimits, style: str) -> None:
        self._backends = backends
        self._limits = limits
        self._style = style
        self._lock = asyncio.Lock()
        self._backend: Backend | None = None
        self._problem = ""
        self._process: SandboxProcess | None = None
        self._spare: asyncio.Task[SandboxProcess] | None = None

    @property
    def timeout_s(self) -> float:
        return self._limits.timeout_s

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
        for backend in self._backends:
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
        return await SandboxProcess.started(self._backend.start(self._limits), self._limits, self._style)

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
