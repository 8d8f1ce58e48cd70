"""What a test needs that runs code in a real sandbox."""

import shutil
from importlib.util import find_spec

import pytest

NEEDS_BUBBLEWRAP = [
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed; make system installs it"),
    pytest.mark.skipif(find_spec("pandas") is None, reason="the extra `charts` is not installed"),
]
