"""A model that keeps everybody waiting until it is told to answer."""

import asyncio
import threading

from tests.support.analyst import answer_over_the_wire
from tests.support.loopback import Request
from tests.support.model_server import ModelServer


class GatedModel(ModelServer):
    """Answers in form, once its gate is open; `is_asked` is set with the first request."""

    def __init__(self, *, is_open: bool = False) -> None:
        super().__init__(answer_over_the_wire)
        self.gate, self.is_asked = threading.Event(), threading.Event()
        if is_open:
            self.gate.set()

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        """Answer as soon as the gate is open; what it is asked about itself at once."""
        is_about_itself = request.target.endswith(("/api/show", "/models"))
        if not is_about_itself:
            self.is_asked.set()
        while not (is_about_itself or self.gate.is_set()):
            await asyncio.sleep(0.02)
        await super().answer(request, writer)

    @property
    def settings(self) -> dict[str, str]:
        """Return what makes a server use this model."""
        return {"provider": "ollama:scripted", "ollama_address": self.address_of("ollama")}
