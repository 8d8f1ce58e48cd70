"""Replies: what a run does between two messages of its user, read from its events, so that each can be read again.

Clients of chats send nothing back but messages: the last of a conversation is a question, an answer, or a question
about a report. So each answer ends with a line that names its run (a report does so anyway); a run is gone on with only
if it belongs to whoever asks.
"""

import asyncio
import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Literal, NamedTuple

from deep_research.errors import UnknownRun
from deep_research.events import ENDED, LiveText, RunEvent
from deep_research.pipeline.control import chosen, options_of, question_lines, words_of
from deep_research.pipeline.journal import model_calls
from deep_research.pipeline.statistics import model_use
from deep_research.server.openai.requests import MODELS, ChatMessage, Refused
from deep_research.service.accounts.identity import Identity
from deep_research.service.public_text import public_message
from deep_research.service.report_text import Citation, Links, report_text
from deep_research.service.runs.new_run import MAX_CONTEXT_CHARS, NewRun
from deep_research.service.runs.progress_lines import Line, ProgressLines
from deep_research.service.service import ResearchService
from deep_research.storage.store.port import RunRow
from deep_research.value import JsonObject

HEARTBEAT_S = 15.0
_NAME = re.compile(r"([0-9a-f]{32})_(\d{1,4})")
Status = Literal["completed", "failed", "cancelled"]
# The last line of an answer: the run, and the number of the question where it is one.
_MARK = re.compile(r"\b([0-9a-f]{32})\b(?:\D{1,20}(\d{1,3}))?\s*$|\b([0-9a-f]{32})\b")
_MARKED_LINES = 3
# What may be said of a run beside its question, its context and its depth.
_NO_OPTIONS = ("question", "context", "depth")
_MAX_REMEMBERED = 1_000


# A run that an earlier answer names, and the number of its question, None where it was a report.
_Mark = tuple[str, int | None]


class ReplyKey(NamedTuple):
    """Which reply of a run it is; `number` is how many questions the run had asked before it."""

    run: str
    number: int = 0

    @property
    def name(self) -> str:
        """Return the part of an id that names this reply."""
        return f"{self.run}_{self.number}"


def reply_key(name: str) -> ReplyKey | None:
    """Return the key that an id names."""
    found = _NAME.fullmatch(name)
    return ReplyKey(found[1], int(found[2])) if found else None


class TokenUsage(NamedTuple):
    """The tokens that models used up for a reply."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0


class Reply(NamedTuple):
    """What a run replied: a report or a question to the user, or why there is none."""

    status: Status
    text: str = ""
    citations: tuple[Citation, ...] = ()
    usage: TokenUsage = TokenUsage()
    error: str = ""


def cited(citation: Citation) -> dict[str, str | int]:
    """Return a citation as OpenAI's clients read it."""
    return {
        "start_index": citation.start,
        "end_index": citation.end,
        "url": citation.url,
        "title": citation.title,
    }


class AskedQuestion(NamedTuple):
    """A question that a run asked; `scope` is what its answer is kept under."""

    scope: str
    data: JsonObject


@dataclass
class ReplyReader:
    """Reads one reply: what the run does, line by line, then what it came to."""

    service: ResearchService
    key: ReplyKey
    who: Identity
    links: Links
    _begun: datetime | None = None
    _last: RunEvent | None = None
    _question: AskedQuestion | None = None

    async def lines(self) -> AsyncIterator[Line | None]:
        """Yield what the events of the reply say until it ends, and None where nothing was sent for a while."""
        row = await self.service.get(self.key.run, self.who)
        lines = ProgressLines(words_of(row), is_verbose=True)
        asked, clock = 0, asyncio.get_running_loop().time
        last_sent = clock()
        async with aclosing(self.service.events(self.key.run, self.who, heartbeat_s=HEARTBEAT_S)) as items:
            async for item in items:
                if not isinstance(item, RunEvent):
                    # A model that writes for minutes makes no events.
                    if not isinstance(item, LiveText) or clock() - last_sent >= HEARTBEAT_S:
                        last_sent = clock()
                        yield None
                    continue
                if asked == self.key.number:
                    self._last = item
                    self._question = _question(item) or self._question
                    last_sent = clock()
                    for line in lines.of(item):
                        yield line
                if _is_question(item):
                    asked += 1
                    self._begun = item.at if asked == self.key.number else self._begun
                    if asked > self.key.number:
                        return

    async def reply(self) -> Reply:
        """Return the reply, once its events have been read."""
        row = await self.service.get(self.key.run, self.who)
        ended = self._last is not None and self._last.kind == "run-status"
        status = self._last.data.get("status") if self._last and ended else row.status
        usage = await self._usage(row)
        if status == "waiting":
            return Reply("completed", self._question_text(row), usage=usage)
        if status == "done":
            report = await report_text(self.service, row, self.who, self.links)
            return Reply("completed", report.text, report.citations, usage)
        if status == "cancelled":
            return Reply("cancelled", usage=usage, error=words_of(row)("shell.cancelled", run=row.id))
        if status != "failed":
            raise Refused(
                f"The server stops before run {row.id} ends; it goes on with the next start.",
                status=HTTPStatus.SERVICE_UNAVAILABLE,
                code="server_stopping",
            )
        reason = public_message(row.failure or str(self._last.data.get("reason", "") if self._last else ""))
        return Reply("failed", usage=usage, error=words_of(row)("shell.failed", run=row.id, reason=reason))

    async def _usage(self, row: RunRow) -> TokenUsage:
        end = self._last.at if self._last else row.updated_at
        calls = [
            call
            for call in await self.service.store.list_calls(row.id)
            if call.started_at <= end and (self._begun is None or call.started_at > self._begun)
        ]
        use = model_use(await model_calls(calls, self.service.store))
        return TokenUsage(*(int(str(use[f"{kind}_tokens"])) for kind in TokenUsage._fields))

    def _question_text(self, row: RunRow) -> str:
        words, number = words_of(row), self.key.number + 1
        # Of a plan, events tell only that there is one.
        asked = self._question.data if self._question and "question" in self._question.data else row.pending or {}
        kind = "answer" if options_of(asked) else "plan_answer" if "plan" in asked else "open_answer"
        question, how = "\n".join(question_lines(asked, words)), words(f"conversation.{kind}")
        mark = words("conversation.mark", run=row.id, number=number)
        return f"{question}\n\n{how}\n\n---\n\n{mark}\n"


async def questions_of(service: ResearchService, row: RunRow) -> list[AskedQuestion]:
    """Return the questions that a run has asked so far, in order."""
    asked: list[AskedQuestion] = []
    last = AskedQuestion("", {})
    for event in await service.store.read_events(row.id):
        last = _question(event) or last
        if _is_question(event):
            asked.append(last)
    return asked


def _question(event: RunEvent) -> AskedQuestion | None:
    """Return the question that an event tells of, if it does."""
    if event.kind not in ("clarification", "plan-approval"):
        return None
    # A key is the kind, the scope and a number.
    return AskedQuestion(event.key.split(":")[1], event.data)


def _is_question(event: RunEvent) -> bool:
    return event.kind == "run-status" and event.data.get("status") == "waiting"


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
