"""Is a calculation right: its operands are figures of the cited passages, and code computes the same result."""

import ast
import operator
import re
from collections.abc import Callable, Iterable

from deep_research.verify.particulars import dates_of, figures_of, split_figures

# What one may multiply or divide by without a source: shares of a hundred, months, weeks, days, thousands.
_CONSTANTS = frozenset({1.0, 12.0, 52.0, 100.0, 365.0, 1_000.0, 1_000_000.0})
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
# A result may be rounded to what is shown, or by so much of itself.
_ROUNDING = 0.005


def objection_to(basis: str, text: str, *, quotes: Iterable[str], asked: str = "") -> str:
    """Return why a calculation cannot stand, as a reason code, or "" if code knows no reason.

    `basis` is an equation such as "40 / 8 = 5"; `text` is the sentence that tells its result. Operands stand in the
    quotes or in what was asked.
    """
    sides = _EQUALS.split(basis.strip())
    if len(sides) != 2 or len(basis) > _MAX_CHARS:
        return f"equation: {basis}"
    left, right = map(_plain, sides)
    computed, shown = _computed(left), _computed(right)
    if computed is None or shown is None:
        return f"equation: {basis}"
    if not _is_rounded(computed, shown, right):
        return f"result: {left} = {computed:g}"
    held = set().union(*map(_values, (*quotes, asked)))
    operands = {float(number) for number in _NUMBER.findall(left)}
    for operand in sorted(operands - held - _CONSTANTS):
        return f"operand: {operand:g}"
    told = {figure.value for figure in figures_of(text)} | _bare(text)
    if not any(_is_rounded(computed, value, f"{value:g}") for value in told):
        return f"untold: {shown:g}"
    for figure in split_figures(text)[0]:
        is_result = any(_is_rounded(computed, value, right) for value in _bare(figure.raw) | {figure.value})
        if not is_result and not ({figure.value, *_bare(figure.raw)} & (held | operands)):
            return f"number: {figure.raw}"
    return ""


def _plain(side: str) -> str:
    """Return one side of an equation in digits alone: "4.2 million" as 4200000, without units and currencies."""
    for figure in figures_of(side):
        digits = _NUMBER.search(_THOUSANDS.sub("", figure.raw))
        if digits and float(digits[0]) != figure.value:
            side = side.replace(figure.raw.strip(), f"{figure.value:.12g}")
    return _UNITS.sub("", _THOUSANDS.sub("", side.translate(_SIGNS))).strip()


def _computed(expression: str) -> float | None:
    """Return the value of an expression of numbers, + - * / and brackets; None for anything else."""
    try:
        return _value(ast.parse(expression, mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    raise ValueError("not arithmetic")


def _is_rounded(computed: float, shown: float, raw: str) -> bool:
    """Return whether a shown value is the computed one, rounded to the digits it has."""
    match = _NUMBER.search(raw)
    decimals = len(match[0].partition(".")[2]) if match else 0
    return (
        abs(abs(computed) - abs(shown))
        <= max(0.5 * 10**-decimals if decimals else 0.0, _ROUNDING * abs(computed)) + 1e-9
    )


def _values(text: str) -> set[float]:
    """Return the figures of a text, by what they mean and by their digits, and its years."""
    years = {float(date.iso[:4]) for date in dates_of(text) if date.iso[:4].isdigit()}
    spelled = {worded.values[0][0] for worded in split_figures(text)[1]}
    return {figure.value for figure in figures_of(text)} | _bare(text) | years | spelled


def _bare(text: str) -> set[float]:
    return {float(number) for number in _NUMBER.findall(_THOUSANDS.sub("", text))}
