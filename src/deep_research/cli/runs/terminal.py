"""What a waiting run asks, put to a person at a terminal: numbered options, free text, a plan to approve or edit."""

import io
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from deep_research.cli.printing import tell
from deep_research.errors import InputError
from deep_research.pipeline.approval import EDITS, answered_plan, correction_in
from deep_research.pipeline.control import is_no_option, options_of, question_lines
from deep_research.pipeline.plan_text import plan_as_text
from deep_research.reasoning.values import Plan
from deep_research.text.folding import to_simplified
from deep_research.text.messages.words import Words
from deep_research.value import JsonObject

_POLL_INTERVAL_S = 0.5


def is_terminal() -> bool:
    """Return whether somebody is there who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_in_terminal(pending: JsonObject, words: Words, *, run: str) -> str | None:
    """Put one question and return the answer, or None where the input ends; Ctrl-C is left to the caller."""
    tell("\n" + "\n".join(question_lines(pending, words)))
    if pending.get("kind") == "plan-approval":
        return _ask_about_plan(Plan.from_json(pending["plan"]), words, run=run)
    count = len(options_of(pending))
    tell(words("shell.question_hint" if count else "shell.open_question_hint"))
    while (line := _read_line()) is not None:
        if not is_no_option(line, count):
            return line or ("1" if count else "")
        tell(words("shell.no_such_option", number=line, count=count))
    return None


def _ask_about_plan(plan: Plan, words: Words, *, run: str) -> str | None:
    """Ask until the plan is approved, cut or edited into one that can be used; an edit that cannot be is kept."""
    draft = unchanged = plan_as_text(plan, head=words("plan.file_head", run=run))
    tell(words("shell.plan_hint"))
    while (answer := _read_line()) is not None:
        is_edit = to_simplified(answer).lower() in EDITS
        if is_edit:
            draft = answer = _edited(draft)
            if answer == unchanged or not answer.strip():
                tell(words("shell.plan_hint"))
                draft = unchanged
                continue
        if correction_in(answer):
            return answer
        try:
            answered_plan(plan, answer, words)
        except InputError as exc:
            tell(f"! {exc} {words('plan.try_again') if is_edit else ''}".rstrip())
            continue
        return answer
    return None


def _edited(text: str) -> str:
    """Return a text after the user's editor; where there is none, as it was."""
    with TemporaryDirectory(prefix="deep-research-") as folder:
        path = Path(folder) / "plan.yaml"
        path.write_text(text, encoding="utf-8")
        # The shell knows the user's editor, and takes one with arguments apart.
        command = ["notepad"] if sys.platform == "win32" else ["sh", "-c", '${VISUAL:-${EDITOR:-vi}} "$1"', "sh"]
        try:
            subprocess.run([*command, str(path)], check=True)
            return path.read_text(encoding="utf-8-sig")
        except (OSError, subprocess.CalledProcessError, UnicodeDecodeError) as exc:
            tell(f"! {exc}")
            return text


def _read_line() -> str | None:
    """Return the line that was typed, without spaces around it, or None where the input ends."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        # Half of a character may be left where a terminal erases bytes; what was read already was whole.
        with suppress(io.UnsupportedOperation):
            sys.stdin.reconfigure(errors="replace")
    if sys.stdout.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401 - makes the line editable, Chinese characters too
        try:
            return input("> ").strip()
        except EOFError:
            return None
    tell("> ", end="")
    # A signal that comes just before a read begins is not noticed until the read ends: read only what is there.
    while sys.platform != "win32" and not select.select([sys.stdin], [], [], _POLL_INTERVAL_S)[0]:
        pass
    line = sys.stdin.readline()
    return line.strip() if line else None
