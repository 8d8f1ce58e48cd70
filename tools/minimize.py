"""Finds the least of a function of many numbers by its slope (L-BFGS). Needs numpy."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = Any
_MEMORY = 8
_ENOUGH = 1e-10


def minimize(cost: Callable[[Array], tuple[float, Array]], start: Array, steps: int) -> Array:
    """Return where a function is least, begun from a place; it gives its value and its slope."""
    at = start.copy()
    value, slope = cost(at)
    past: list[tuple[Array, Array]] = []
    for _ in range(steps):
        way = -_turned(slope, past)
        length = 1.0 if past else 1 / np.linalg.norm(slope)
        while (new := cost(at + length * way))[0] > value + 1e-4 * length * (slope @ way) and length > _ENOUGH:
            length /= 2
        step, bend = length * way, new[1] - slope
        # A step that brings no bend has arrived.
        if length <= _ENOUGH or step @ bend <= _ENOUGH * (step @ step):
            break
        past = [*past[1 - _MEMORY :], (step, bend)]
        at, (value, slope) = at + step, new
    return at


def _turned(slope: Array, past: Sequence[tuple[Array, Array]]) -> Array:
    """Return a slope as the bends met on the past steps turn it."""
    shares = []
    for step, bend in reversed(past):
        share = (step @ slope) / (bend @ step)
        shares.append(share)
        slope = slope - share * bend
    if past:
        step, bend = past[-1]
        slope = slope * (step @ bend) / (bend @ bend)
    for (step, bend), share in zip(past, reversed(shares), strict=True):
        slope = slope + step * (share - (bend @ slope) / (bend @ step))
    return slope
