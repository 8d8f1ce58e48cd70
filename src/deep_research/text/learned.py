"""Files of learned numbers: a line of JSON that says what they are and what they were trained on, then bytes."""

import json
from importlib.resources import files
from typing import Any


def read_learned(package: str, name: str) -> tuple[dict[str, Any], memoryview]:
    """Return the first line of a file of learned numbers, and its signed bytes."""
    header, _, values = (files(package) / name).read_bytes().partition(b"\n")
    return json.loads(header), memoryview(values).cast("b")
