"""Work done in threads, in this process and in a forked one."""

import subprocess
import sys

import pytest

from tests.support.waiting import HANG_S

FORKED = """
import asyncio, os
from deep_research.text.in_thread import in_thread

print(asyncio.run(in_thread(sum, [1, 2])), flush=True)
forked = os.fork()
if not forked:
    print(asyncio.run(in_thread(sum, [3, 4])), flush=True)
    os._exit(0)
os.waitpid(forked, 0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no process can be forked")
def test_a_forked_process_works_in_threads_of_its_own():
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=HANG_S
    )
    assert (ended.stdout.split(), ended.stderr) == (["3", "7"], "")
