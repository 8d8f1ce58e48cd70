"""Is a calculation right: its operands are figures of the cited passages, and code computes the same result."""

import ast
import operator
import re
from collections.abc import Callable, Collection, Iterable, Sequence

from deep_research.text.quantities import Quantity
from deep_research.verify.particulars import dates_of, figures_of, split_figures

# What one may compute with without a source: counts that anybody sees, hours, weeks, days, and scales.
_CONSTANTS = frozenset({*map(float, range(13)), 24.0, 52.0, 60.0, 100.0, 365.0, 1e3, 1e4, 1e6, 1e8, 1e9})
# "0.24" may stand for 240,000, in millions.
_SCALES = (1e3, 1e4, 1e6, 1e8, 1e9)
_EQUALS = re.compile(r"\s*(?:=|≈|≒|＝)\s*")
_SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "–": "-", "·": "*", "（": "(", "）": ")", "x": "*", "X": "*"})
_THOUSANDS = re.compile(r"(?<=\d)[,，](?=\d{3})")
# Units and currencies beside a number say nothing that computing needs.
_UNITS = re.compile(r"[^\W\d_]+\.?|[%‰€$£¥￥°/](?=\s*(?:[-+*/)=]|$))|[€$£¥￥%]")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_MAX_CHARS = 200
# A greater growth factor than this is no share.
_MAX_FACTOR = 10.0
# A result may be rounded to the digits that are shown, but by no more than the larger part of itself, or else by the
# smaller one.
_MOST_ROUNDING, _ROUNDING = 0.05, 0.005


def objection_to(basis: str, text: str, *, quotes: Iterable[str], asked: str = "") -> str:
    """Return why a calculation cannot stand, as a reason code, or "" if code knows no reason.

    `basis` is an equation such as "40 / 8 = 5"; `text` is the sentence that tells its result. Operands stand in the
    quotes or in what was asked.
    """
    sides = _EQUALS.split(basis.strip())
    if len(sides) != 2 or len(basis) > _MAX_CHARS:
        return f"equation: {basis}"
    left, right = map(_plain, sides)
    results, shown = _results(left), _results(right)
    if not results or not shown:
        return f"equation: {basis}"
    computed = results[-1]
    is_share = any(figure.unit == "%" for figure in figures_of(sides[1]))
    forms = [computed, 100 * computed] if is_share else [computed]
    if not any(_is_rounded(form, shown[-1], right) for form in forms):
        return f"result: {left} = {computed:g}"
    values = set().union(*map(_values, (*quotes, asked)))
    operands = {float(number) for number in _NUMBER.findall(left)}
    for operand in sorted(operands - values - _CONSTANTS):
        if not _is_form_of(operand, values):
            return f"operand: {operand:g}"
    in_digits, in_words = split_figures(text)
    stated = _bare(text) | {worded.value for worded in in_words}
    is_stated = any(_is_same_value(computed, value, f"{value:g}") for value in stated)
    if not is_stated and not any(_tells([computed], figure) for figure in figures_of(text)):
        return f"untold: {shown[-1]:g}"
    # A quotient is stated for one of something: "per 1 km", "每1个百分点".
    known = values | operands | ({1.0} if "/" in left else set())
    for figure in in_digits:
        if not _tells(results, figure) and not ({figure.value, *_bare(figure.raw)} & known):
            return f"number: {figure.raw}"
    return ""


def _is_form_of(operand: float, values: Collection[float]) -> bool:
    """Return whether an operand is a figure of the passages in another form: scaled, a share, or a growth factor.

    12 % may be computed with as 0.12, 1.12 or 0.88.
    """
    forms = [operand * scale for scale in _SCALES] if operand != int(operand) else []
    forms += [100 * operand, 100 * (operand - 1), 100 * (1 - operand)] if operand < _MAX_FACTOR else []
    return any(abs(form - value) <= 1e-6 * abs(value) for form in forms for value in values if value)


def _plain(side: str) -> str:
    """Return one side of an equation in digits alone: "4.2 million" as 4200000, without units and currencies."""
    for figure in figures_of(side):
        digits = _NUMBER.search(_THOUSANDS.sub("", figure.raw))
        if digits and float(digits[0]) != figure.value:
            side = side.replace(figure.raw.strip(), f"{figure.value:.12g}")
    return _UNITS.sub("", _THOUSANDS.sub("", side.translate(_SIGNS))).strip()


def _results(expression: str) -> list[float]:
    """Return what an expression of numbers, + - * / and brackets computes, step by step; nothing for anything else."""
    steps: list[float] = []
    try:
        steps.append(_value(ast.parse(expression, mode="eval").body, steps))
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError, MemoryError):
        return []
    return steps


def _value(node: ast.expr, steps: list[float]) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, steps)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        steps.append(_OPERATORS[type(node.op)](_value(node.left, steps), _value(node.right, steps)))
        return steps[-1]
    raise ValueError("not arithmetic")


def _is_rounded(computed: float, shown: float, raw: str) -> bool:
    """Return whether a shown value is the computed one, rounded to the digits it has."""
    match = _NUMBER.search(_THOUSANDS.sub("", raw))
    half = 0.5 * 10 ** -len(match[0].partition(".")[2]) if match else 0.0
    allowed = max(min(half, _MOST_ROUNDING * abs(computed)), _ROUNDING * abs(computed))
    return abs(abs(computed) - abs(shown)) <= allowed + 1e-9


def _tells(results: Sequence[float], figure: Quantity) -> bool:
    """Return whether a figure is one of these results: 1.24 may also be written as 124 % or as 24 % more."""
    forms = list(results)
    if figure.unit == "%":
        ratios = [result for result in results if abs(result) < _MAX_FACTOR]
        forms += [form for ratio in ratios for form in (100 * ratio, 100 * (ratio - 1))]
    return any(
        _is_same_value(form, value, figure.raw) for form in forms for value in {figure.value, *_bare(figure.raw)}
    )


def _is_same_value(computed: float, shown: float, raw: str) -> bool:
    """Return whether a sentence gives the computed value, rounded: 2348 may be written as 2,300."""
    return _is_rounded(computed, shown, raw) or float(f"{abs(computed):.1e}") == abs(shown)


def _values(text: str) -> set[float]:
    """Return the figures of a text, by what they mean and by their digits, and its years."""
    years = {float(date.iso[:4]) for date in dates_of(text) if date.iso[:4].isdigit()}
    return {figure.value for figure in (*figures_of(text), *split_figures(text)[1])} | _bare(text) | years


def _bare(text: str) -> set[float]:
    return {float(number) for number in _NUMBER.findall(_THOUSANDS.sub("", text))}
