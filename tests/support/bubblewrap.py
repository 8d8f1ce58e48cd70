"""What a test needs that runs code in a real sandbox."""

from importlib.util import find_spec

import pytest

from tests.support.programs import needs

NEEDS_BUBBLEWRAP = [
    needs("bubblewrap"),
    pytest.mark.skipif(find_spec("pandas") is None, reason="the extra `charts` is not installed"),
]
