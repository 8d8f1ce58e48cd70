"""How the command line says what went wrong: in the user's language, and with the command that goes on."""

from collections.abc import Iterator
from contextlib import contextmanager

from deep_research.cli.printing import tell
from deep_research.errors import CallFailed, CannotWrite, DeepResearchError, StageFailed, StoreCorrupt, StoreLocked
from deep_research.text.masking import masked
from deep_research.text.messages.words import Words, words_in

# What stopped the process and not the run, which is taken up where it stood.
_OUTSIDE = (CannotWrite, StoreCorrupt, StoreLocked)


@contextmanager
def in_words_of(words: Words) -> Iterator[None]:
    """Let what goes wrong inside be explained in these words' language; the innermost one stands."""
    try:
        yield
    except DeepResearchError as exc:
        exc.language = exc.language or words.language
        raise


@contextmanager
def keeping(run: str, words: Words) -> Iterator[None]:
    """Add to an error that ends a run with something worth keeping how to go on with it."""
    try:
        with in_words_of(words):
            yield
    except Exception as exc:  # Whatever it was, it is raised again with what to do next.
        verb = "resume" if isinstance(exc, _OUTSIDE) else "retry"
        next_step = words("shell.keeps", run=run[:8], command=f"deep-research runs {verb} {run[:8]}")
        if not isinstance(exc, DeepResearchError):
            exc.add_note(next_step)
        elif isinstance(exc, (*_OUTSIDE, CallFailed, StageFailed)):
            exc.next_step = next_step
        raise


def explain(exc: DeepResearchError) -> int:
    """Print what went wrong, and return the exit code."""
    lines = (exc.in_words(words_in(exc.language or "en")), exc.next_step)
    tell("deep-research: " + masked("\n".join(filter(None, lines))))
    return exc.exit_code
