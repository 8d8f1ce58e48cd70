"""A process is killed with SIGKILL at points spread over a whole run; another goes on as if nothing had happened."""

import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from deep_research.pipeline.state import Stage
from tests.e2e.harness import QUESTION, User, assert_emitted_once, keys_but_status

EVEN_POINTS = 13
pytestmark = pytest.mark.long


DOCUMENTS = Path(__file__).parents[2] / "examples" / "documents"
# A model asked with real prompts over a scripted web, and the real thing: research over real documents without a model.
WORLDS = {"written": ("written",), "documents": ("documents",)}
# One of each kind: more would only be read again after every kill.
READ = (
    "council-closing-report.pdf",
    "halden-courier-article.html",
    "energy-committee-minutes.docx",
    "harbour-heat-faq.html",
)
QUESTIONS = {"written": QUESTION, "documents": "How much did the Halden Bay heat pump retrofit cost?"}


@pytest.fixture(scope="module", params=sorted(WORLDS))
def undisturbed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> User:
    folder = tmp_path_factory.mktemp("undisturbed")
    world: tuple[str, ...] = WORLDS[request.param]
    if request.param == "documents":
        docs = tmp_path_factory.mktemp("docs")
        for name in READ:
            shutil.copy(DOCUMENTS / name, docs)
        world = (*world, "--docs", str(docs))
    user = User(folder, question=QUESTIONS[request.param], world=world)
    finished = user.ask(*user.world)
    assert finished.returncode == 0, finished.stderr
    return user


def choose_points(undisturbed: User) -> list[dict[str, str]]:
    """Return where to kill: evenly over all writes of the run, and in the middle of each stage."""
    noted = [line.split() for line in (undisturbed.folder / "writes").read_text().splitlines()]
    last = max(int(number) for number, _ in noted)
    even = [2 + (last - 3) * number // (EVEN_POINTS - 1) for number in range(EVEN_POINTS)]
    faults = ("kill_before", "kill_after")
    spread = [{"TEST_KILL_AT": str(at), "TEST_FAULT": faults[number % 2]} for number, at in enumerate(even)]
    return [*spread, *({"TEST_KILL_STAGE": stage.value} for stage in Stage)]


def test_a_run_killed_anywhere_ends_like_one_that_was_not(undisturbed: User, tmp_path: Path) -> None:
    points = choose_points(undisturbed)

    def try_point(number: int) -> tuple[int, set[str], str]:
        user = User(tmp_path / f"point-{number}", question=undisturbed.question)
        return _kill_and_resume(user, undisturbed, points[number])

    with ThreadPoolExecutor(2) as pool:
        tried = list(pool.map(try_point, range(len(points))))
    killed = [(stages, where) for count, stages, where in tried if count]
    assert len(killed) >= 25, f"only {len(killed)} of {len(points)} points killed a process"
    met = set().union(*(stages for stages, _ in killed))
    assert met >= {stage.value for stage in Stage}, f"no kill during {set(Stage) - met}"
    # Queries are searched, and then batches of pages read, side by side.
    inside = [where for _, where in killed if "/task/" in where or "/batch/" in where]
    assert len(inside) >= 5, "too few kills inside a fan-out"


def _kill_and_resume(user: User, undisturbed: User, point: dict[str, str]) -> tuple[int, set[str], str]:
    first = user.ask(*undisturbed.world, **point)
    if first.returncode == 0:
        return 0, set(), ""
    assert first.returncode == -signal.SIGKILL, first.stderr
    run, told = user.only_run(), user.events()
    paid = [row for row in user.calls() if row.state == "done"]
    begun = len(user.logged("begin"))

    resumed = user.run("runs", "resume", run.id)
    assert resumed.returncode == 0, f"{point}: {resumed.stderr}"
    begun_again = len(user.logged("begin")) - begun
    needed = len(undisturbed.logged("begin"))
    said = f"{begun_again} calls after {len(paid)} paid of {needed}\n{resumed.stderr}"
    assert begun_again == needed - len(paid), f"{point}: {said}"
    events = user.events()
    assert_emitted_once(events)
    assert events[: len(told)] == told, "what was told must not change"
    assert keys_but_status(events) == keys_but_status(undisturbed.events())
    assert user.report() == undisturbed.report(), f"{point}"
    assert _rounds(user) == _rounds(undisturbed), f"{point}"
    open_steps = _open_steps(told)
    return 1, {step for step, _ in open_steps}, told[-1].key if told else ""


def _rounds(user: User) -> bytes:
    return (Path(user.only_run().folder) / "rounds.jsonl").read_bytes()


def _open_steps(told: list) -> set[tuple[str, str]]:
    """Return the stages that had begun and not ended, and the one that ended last."""
    open_: set[tuple[str, str]] = set()
    for event in told:
        if event.kind == "progress":
            step = (event.data["step"], event.key.split(":")[1])
            open_ = open_ | {step} if event.data["status"] == "started" else open_ - {step}
    return open_
