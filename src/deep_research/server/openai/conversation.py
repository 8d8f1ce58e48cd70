"""Which run a conversation goes on with: its last message is a question, an answer, or a question about a report.

Clients of chats send nothing back but messages. So each answer ends with a line that names its run (a report does so
anyway); a run is gone on with only if it belongs to whoever asks.
"""

import asyncio
import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from deep_research.errors import UnknownRun
from deep_research.events import ENDED
from deep_research.pipeline.control import chosen, options_of
from deep_research.server.openai.errors import Refused
from deep_research.server.openai.replies import ReplyKey, questions_of
from deep_research.server.openai.requests import MODELS, ChatMessage
from deep_research.service.accounts.identity import Identity
from deep_research.service.runs.new_run import MAX_CONTEXT_CHARS, NewRun
from deep_research.service.service import ResearchService
from deep_research.storage.store.port import RunRow
from deep_research.value import JsonObject

# The last line of an answer: the run, and the number of the question where it is one.
_MARK = re.compile(r"\b([0-9a-f]{32})\b(?:\D{1,20}(\d{1,3}))?\s*$|\b([0-9a-f]{32})\b")
_MARKED_LINES = 3
# What may be said of a run beside its question, its context and its depth.
_NO_OPTIONS = ("question", "context", "depth")
_MAX_REMEMBERED = 1_000


# A run that an earlier answer names, and the number of its question, None where it was a report.
_Mark = tuple[str, int | None]


@dataclass(frozen=True)
class Asked:
    """What a request asks: the conversation, the reply that it goes on from where it names one, and its options."""

    messages: Sequence[ChatMessage]
    model: str
    options: JsonObject
    previous: ReplyKey | None = None


@dataclass
class Conversations:
    """Finds or begins the reply that a request asks for.

    A request that is sent again while its run is under way (clients do so when a connection breaks) gets the same run.
    """

    service: ResearchService
    _under_way: OrderedDict[str, str] = field(default_factory=OrderedDict)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def reply_key_of(self, asked: Asked, who: Identity) -> ReplyKey:
        """Return the key of the reply to a request; a run is begun or gone on with where it needs one."""
        # Instructions say how an assistant is to behave; a search for what "it" means would find names in them.
        spoken = [message for message in asked.messages if message.role in ("user", "assistant")]
        if not spoken or spoken[-1].role != "user":
            raise Refused("The last message must be the user's: it is the question.", param="messages")
        *earlier, last = spoken
        row, number = await self._earlier(asked.previous, earlier, who)
        if row is None:
            return await self._begun(asked, last.text, earlier, who)
        questions = await questions_of(self.service, row)
        number = len(questions) if number is None else number
        if number < len(questions):
            await self._put_answer(row, questions[number].scope, questions[number].data, last.text, who)
            return ReplyKey(row.id, number + 1)
        if row.status not in ENDED:
            raise Refused(
                f"Run {row.id} is still under way: wait for it, or cancel it.",
                status=HTTPStatus.CONFLICT,
                code="response_in_progress",
            )
        if row.status != "done":
            return await self._begun(asked, last.text, earlier, who)
        # What the assistant said is in the report that is followed.
        said = [message for message in earlier if message.role == "user"]
        return await self._begun(asked, last.text, said, who, follow=row.id)

    async def _earlier(
        self, previous: ReplyKey | None, earlier: Sequence[ChatMessage], who: Identity
    ) -> tuple[RunRow | None, int | None]:
        """Return the run that is gone on with, and the number of its reply, None for its last."""
        mark = previous or _mark_of(earlier)
        if mark is None:
            return None, None
        run, number = mark
        try:
            return await self.service.get(run, who), number
        except UnknownRun:
            if previous is None:
                return None, None
            raise Refused(
                f"Previous response with id 'resp_{previous.name}' not found.",
                status=HTTPStatus.NOT_FOUND,
                code="previous_response_not_found",
                param="previous_response_id",
            ) from None

    async def _put_answer(self, row: RunRow, scope: str, question: JsonObject, text: str, who: Identity) -> None:
        stored = (await self.service.store.get_answers(row.id)).get(scope)
        if stored is None:
            await self.service.answer(row.id, text, who)
        elif stored != chosen(text, options_of(question)):
            raise Refused(f"This question of run {row.id} was answered otherwise before: ask anew.", code="answered")

    async def _begun(
        self, asked: Asked, question: str, said: Sequence[ChatMessage], who: Identity, *, follow: str | None = None
    ) -> ReplyKey:
        context = "\n\n".join(message.text.strip() for message in said)[-MAX_CONTEXT_CHARS:]
        options = {name: value for name, value in asked.options.items() if name not in _NO_OPTIONS}
        stored = {"question": question, "context": context, "depth": MODELS[asked.model]}
        new = NewRun.model_validate({"follow": follow} | options | stored)
        named = json.dumps([who.user, new.model_dump(mode="json")], sort_keys=True)
        key = hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()
        async with self._lock:
            run = self._under_way.get(key)
            if run is None or not await self._is_under_way(run, who):
                run = (await self.service.create(new, who)).id
                self._under_way[key] = run
                if len(self._under_way) > _MAX_REMEMBERED:
                    self._under_way.popitem(last=False)
        return ReplyKey(run)

    async def _is_under_way(self, run: str, who: Identity) -> bool:
        try:
            return (await self.service.get(run, who)).status in ("created", "running")
        except UnknownRun:
            return False


def _mark_of(earlier: Sequence[ChatMessage]) -> _Mark | None:
    """Return the run that the assistant's last message names in its last lines."""
    said = next((message.text for message in reversed(earlier) if message.role == "assistant"), "")
    for line in reversed([line for line in said.splitlines() if line.strip()][-_MARKED_LINES:]):
        if found := _MARK.search(line):
            return found[1] or found[3], int(found[2]) - 1 if found[2] else None
    return None
