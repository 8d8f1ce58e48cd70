"""Programs that a model wrote for the charts of a whole run, in the real sandbox: good, mended, and robbing."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from deep_research.charts.sandbox.bubblewrap import Bubblewrap
from deep_research.charts.sandbox.process import SandboxLimits, WarmSandbox
from deep_research.pipeline.adapters import Adapters
from tests.e2e.harness import Lab, User
from tests.support.analyst import ScriptedAnalyst
from tests.support.bubblewrap import NEEDS_BUBBLEWRAP
from tests.support.charts import with_series
from tests.support.sandbox_host import STYLE
from tests.support.world import with_models

pytestmark = NEEDS_BUBBLEWRAP
GOOD = """
fig, ax = plt.subplots()
for name in dict.fromkeys(row["series"] for row in data):
    rows = [row for row in data if row["series"] == name]
    ax.plot([row["label"] for row in rows], [row["value"] for row in rows], label=name or "成本")
ax.legend()
"""
MISSPELT = GOOD.replace("value", "valeu")
ROBBING = "plt.plot([1, 2]); print(open('/etc/passwd').read())"


def _analyst(programs: Sequence[str], mended: str) -> ScriptedAnalyst:
    answer = {"charts": list(range(1, len(programs) + 1)), "titles": [], "programs": list(programs)}
    return ScriptedAnalyst(
        answers={
            "plan_charts": lambda _: json.dumps(answer),
            "repair_chart": lambda _: json.dumps({"python_code": mended}),
        }
    )


@pytest.mark.parametrize(
    ("programs", "mended", "results"),
    [
        ([GOOD], "", ["done"]),
        ([MISSPELT], GOOD, ["done"]),
        ([ROBBING, GOOD], ROBBING + " ", ["failed", "done"]),
    ],
)
def test_a_run_draws_what_the_sandbox_gives_back(tmp_path: Path, programs: list[str], mended: str, results: list[str]):
    user = User(tmp_path)
    analyst = _analyst(programs, mended)

    def change(adapters: Adapters) -> Adapters:
        sandbox = WarmSandbox([Bubblewrap()], SandboxLimits(), STYLE)
        adapters = replace(with_series(adapters), sandbox=sandbox, on_close=(*adapters.on_close, sandbox.close))
        return with_models(adapters, analyst)

    assert Lab(user, change=change).ask().status == "done"
    events = [event.data for event in user.events() if event.kind == "chart-result"]
    if "sandbox" in user.report().partition("## About this report")[2]:
        pytest.skip("bubblewrap cannot make a sandbox here")
    assert [event["status"] for event in events] == results
    if "failed" in results:
        assert "No such file" in str(events[0]["error"])
        assert "root:" not in str(events)
    pictures = sorted(user.folder.rglob("figures/*.png"))
    assert len(pictures) == results.count("done")
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)
