"""What can go wrong, in one tree; a class's first docstring line is what the user reads where no detail is given.

DeepResearchError
├── UsageError                 64  the caller asked for something that does not exist or does not fit
│   ├── ConfigurationError     64
│   ├── NotFound               64  there is nothing of this id
│   │   └── UnknownRun         64
│   ├── WrongState             64  the run does not stand where this can be done
│   └── NewerStore             64
├── InputError                 65  the question or the files cannot be used
│   └── TooLarge               65
├── SignInFailed               64  the name or the password is wrong
├── TooManyTries               75  somebody tried too often; waiting helps
├── LimitReached               75  an account has used what it may use for now
├── ClarificationFailed         1  strict mode without a valid answer, or a question nobody can research
├── AnswerNeeded                2  the run waits for an answer that nobody here can give
├── CallFailed                 70  one outside call failed; its branch goes on without it
│   ├── NetworkError
│   │   ├── TimedOut               it hung until its time was over
│   │   └── Unreachable            nobody answers at its address
│   ├── ModelError
│   │   ├── ModelBusy              trying again later may help
│   │   ├── ModelRefused           no call to this model can succeed: key, rights or name are wrong
│   │   │   └── CreditSpent        or the account has no credit or quota left
│   │   └── UnusableAnswer         the model answered, twice, and neither answer can be used
│   ├── SourceError
│   │   ├── AddressRefused         the guard lets nobody open this address
│   │   ├── SourceGone             there is nothing at its address, or not any more
│   │   ├── SourceDamaged          a file does not hold what its kind of file must
│   │   ├── SourceProtected        a file opens only with a password
│   │   ├── SourceBusy             trying again later may help
│   │   │   ├── ChallengeShown     it wants a proof that a person is asking
│   │   │   └── ServiceClosed      it failed so often that nobody is sent there for a while
│   │   ├── SourceRefused          no call to this source can succeed: key, credit or name are wrong
│   │   ├── QueryRefused           the source answers others, but not this query
│   │   └── CalledOff              the answer was no longer needed
│   └── BudgetExceeded
├── StageFailed                70  a stage said that the run must not go on
├── RunParked                  70  processes that worked on the run ended, one after the other
└── StopRun                        nothing in this process may go on with this run
    ├── RunInterrupted        130
    ├── RunCancelled          130
    ├── RunHeld                75
    ├── RunTaken               75
    ├── StoreLocked            75
    ├── CannotWrite            73
    ├── NotInJournal           70
    └── StoreCorrupt           70
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Self

from deep_research.request import Language, Spend
from deep_research.text.messages.words import Words, words_in


class ErrorCategory(StrEnum):
    """The kinds of failure; only those of the network and of the model are worth another try."""

    NETWORK = "NETWORK"
    LLM = "LLM"
    BUSINESS = "BUSINESS"
    RESOURCE_LIMIT = "RESOURCE_LIMIT"

    @property
    def is_retryable(self) -> bool:
        """Whether trying again may help."""
        return self in (ErrorCategory.NETWORK, ErrorCategory.LLM)


class DeepResearchError(Exception):
    """Something went wrong in Deep Research."""

    exit_code: ClassVar[int] = 70
    category: ClassVar[ErrorCategory] = ErrorCategory.BUSINESS
    # The key and values of its message, if it has one; the language of whoever reads it and the command that goes on,
    # once these are known.
    words_key: str = ""
    words_values: Mapping[str, object] = {}
    language: Language | None = None
    next_step: str = ""

    def with_message(self, key: str, **values: object) -> Self:
        """Give it a message by key: in English here, and by a shell in its reader's language."""
        self.words_key, self.words_values = key, values
        self.args = (words_in("en")(key, **values),)
        return self

    def in_words(self, words: Words) -> str:
        """Return the message in a language; a detail without a key stays as it is."""
        return words(self.words_key, **self.words_values) if self.words_key else str(self)

    def __str__(self) -> str:
        detail = super().__str__()
        return detail or (type(self).__doc__ or type(self).__name__).splitlines()[0]


class UsageError(DeepResearchError):
    """The command or call does not fit."""

    exit_code = 64


class ConfigurationError(UsageError):
    """A setting is unknown or has a value that does not fit."""


class NotFound(UsageError):
    """There is nothing of this id."""


class UnknownRun(NotFound):
    """There is no such run in this store."""


class WrongState(UsageError):
    """The run does not stand where this can be done."""


class NewerStore(UsageError):
    """The store was written by a newer version of Deep Research."""


class InputError(DeepResearchError):
    """The question or the files cannot be used."""

    exit_code = 65


class TooLarge(InputError):
    """What was sent is larger than is taken."""


class SignInFailed(DeepResearchError):
    """The name or the password is wrong."""

    exit_code = 64


class TooManyTries(DeepResearchError):
    """Too many tries; wait a while."""

    exit_code = 75

    def __init__(self, detail: str = "", *, retry_after_s: float = 60.0) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class LimitReached(DeepResearchError):
    """The account has used what it may use for now.

    `renews_at` is when there is more, if the calendar brings it.
    """

    exit_code = 75

    def __init__(
        self,
        detail: str = "",
        *,
        limit: str = "",
        most: float = 0.0,
        left: float = 0.0,
        renews_at: datetime | None = None,
    ) -> None:
        super().__init__(detail)
        self.limit, self.most, self.left, self.renews_at = limit, most, left, renews_at
        if limit:
            values = {"most": f"{most:g}"}
            if renews_at is not None:
                values |= {"left": f"{left:g}", "when": f"{renews_at:%Y-%m-%d %H:%M} UTC"}
            self.with_message(f"limit.{limit}", **values)


class ClarificationFailed(DeepResearchError):
    """The question stayed too unclear to research."""

    exit_code = 1


class AnswerNeeded(DeepResearchError):
    """The run waits for an answer: to `question`, in words or by the number of one of its `options`."""

    exit_code = 2

    def __init__(self, detail: str = "", *, run: str = "", question: str = "", options: Sequence[str] = ()) -> None:
        super().__init__(detail)
        self.run, self.question, self.options = run, question, tuple(options)


class CallFailed(DeepResearchError):
    """An outside call failed."""

    def __init__(self, detail: str = "", *, spend: Spend | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.spend = spend or Spend()
        # Set where a service that is busy says how long to wait.
        self.retry_after_s = retry_after_s
        self.call_key = ""
        # All calls that must be made again where the work is tried again, if there are more.
        self.call_keys: tuple[str, ...] = ()
        # A failure that comes from the journal, not from a call made now.
        self.is_recorded = False


class NetworkError(CallFailed):
    """A service could not be reached."""

    category = ErrorCategory.NETWORK


class TimedOut(NetworkError):
    """A service did not answer in time."""


class Unreachable(NetworkError):
    """A service's name is not known, or nobody answers at its address."""


class ModelError(CallFailed):
    """The model did not give a usable answer."""

    category = ErrorCategory.LLM


class ModelBusy(ModelError):
    """The model is overloaded or limits its callers; `retry_after_s` is how long it asks to wait."""


class ModelRefused(ModelError):
    """The model's provider refuses every call: the key, the rights or the model's name are wrong."""

    exit_code = 64
    category = ErrorCategory.BUSINESS


class CreditSpent(ModelRefused):
    """The account behind the model's key has no credit or quota left; another model may stand in."""


class UnusableAnswer(ModelError):
    """The model's answers could not be used."""


class SourceError(CallFailed):
    """A source gave nothing that can be used."""


class AddressRefused(SourceError):
    """The address does not lead to the public web."""


class SourceGone(SourceError):
    """There is nothing at the address of a source."""


class SourceDamaged(SourceError):
    """A file is damaged."""


class SourceProtected(SourceError):
    """A file is protected by a password."""


class SourceBusy(SourceError):
    """A source is overloaded or limits its callers; `retry_after_s` is how long it asks to wait."""

    category = ErrorCategory.NETWORK


class ChallengeShown(SourceBusy):
    """A source asks for a proof that a person is searching; who asks again at once meets it again."""


class ServiceClosed(SourceBusy):
    """A service failed so often that nobody is sent to it for a while."""


class SourceRefused(SourceError):
    """A source refuses every call: its key, the account's credit or the name of the model are wrong."""


class QueryRefused(SourceError):
    """A source cannot make anything of this one query; others it may answer."""


class CalledOff(SourceError):
    """A call was given up because its answer was no longer needed."""


class BudgetExceeded(CallFailed):
    """The budget does not allow this call."""

    category = ErrorCategory.RESOURCE_LIMIT


class StageFailed(DeepResearchError):
    """A stage stopped the run."""


class RunParked(DeepResearchError):
    """Processes that worked on this run ended, one after the other, before they got any further."""

    exit_code = 70


class StopRun(DeepResearchError):
    """Nothing in this process may go on with this run."""

    category = ErrorCategory.RESOURCE_LIMIT


class RunInterrupted(StopRun):
    """The run was interrupted; everything finished so far is kept."""

    exit_code = 130


class RunCancelled(StopRun):
    """The run was cancelled; everything finished so far is kept."""

    exit_code = 130


class RunHeld(StopRun):
    """Another process is working on this run."""

    exit_code = 75


class RunTaken(StopRun):
    """Another process took this run over; this one changed nothing since."""

    exit_code = 75


class StoreLocked(StopRun):
    """The store stayed locked by another process."""

    exit_code = 75


class CannotWrite(StopRun):
    """The store or the run folder cannot be written."""

    exit_code = 73


class NotInJournal(StopRun):
    """The run asks for something that its journal does not hold."""


class StoreCorrupt(StopRun):
    """The store holds a row that cannot be read."""


class ErrorClassifier:
    """Sorts any exception into one of the four categories."""

    @staticmethod
    def classify(error: BaseException) -> ErrorCategory:
        """Return the category that decides whether a step is tried again."""
        if isinstance(error, DeepResearchError):
            return error.category
        if isinstance(error, MemoryError | RecursionError):
            return ErrorCategory.RESOURCE_LIMIT
        if isinstance(error, TimeoutError | ConnectionError):
            return ErrorCategory.NETWORK
        return ErrorCategory.BUSINESS


def error_named(name: str, detail: str, retry_after_s: float | None = None) -> CallFailed:
    """Return the recorded failure of a call as the error it was; an unknown name becomes a plain `CallFailed`."""
    kind = globals().get(name)
    if not isinstance(kind, type) or not issubclass(kind, CallFailed):
        kind = CallFailed
    return kind(detail, retry_after_s=retry_after_s)
