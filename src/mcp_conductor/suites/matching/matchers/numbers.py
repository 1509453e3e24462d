"""Matchers of numbers: of numbers, and of texts that are a number and nothing else. They are compared as written."""

from collections.abc import Callable
from decimal import Context, Decimal, DecimalException
from typing import Any

from mcp_conductor.suites.matching.differences import described, number_in, shown
from mcp_conductor.suites.matching.matchers import matcher
from mcp_conductor.suites.matching.matchers.arguments import Divisor, Tolerance

_CONTEXT = Context(prec=2000)


def _number_problem(actual: Any, fits: Callable[[Decimal], bool], wanted: str) -> str | None:
    number = number_in(actual)
    if number is None:
        return f"is {described(actual)}, not a number"
    return None if fits(number) else f"is {shown(actual)}, not {wanted}"


@matcher("greaterThan")
def greater_than(actual: Any, number: Decimal) -> str | None:
    """match:greaterThan:NUMBER — a greater number.

    match:greaterThan:5  6       passes
    match:greaterThan:5  5       is 5, not greater than 5
    match:greaterThan:5  "many"  is the string 'many', not a number
    """
    return _number_problem(actual, lambda found: found > number, f"greater than {number}")


@matcher("greaterThanOrEqual")
def greater_than_or_equal(actual: Any, number: Decimal) -> str | None:
    """match:greaterThanOrEqual:NUMBER — this number or a greater one.

    match:greaterThanOrEqual:5  5  passes
    match:greaterThanOrEqual:5  4  is 4, not at least 5
    """
    return _number_problem(actual, lambda found: found >= number, f"at least {number}")


@matcher("lessThan")
def less_than(actual: Any, number: Decimal) -> str | None:
    """match:lessThan:NUMBER — a smaller number.

    match:lessThan:5  4.9  passes
    match:lessThan:5  5    is 5, not less than 5
    """
    return _number_problem(actual, lambda found: found < number, f"less than {number}")


@matcher("lessThanOrEqual")
def less_than_or_equal(actual: Any, number: Decimal) -> str | None:
    """match:lessThanOrEqual:NUMBER — this number or a smaller one.

    match:lessThanOrEqual:5  5    passes
    match:lessThanOrEqual:5  5.1  is 5.1, not at most 5
    """
    return _number_problem(actual, lambda found: found <= number, f"at most {number}")


@matcher("between")
def between(actual: Any, low: Decimal, high: Decimal) -> str | None:
    """match:between:LOW:HIGH — a number from LOW to HIGH, both included.

    match:between:1:9  9   passes
    match:between:1:9  10  is 10, not from 1 to 9
    """
    return _number_problem(actual, lambda found: low <= found <= high, f"from {low} to {high}")


@matcher("range")
def in_range(actual: Any, low: Decimal, high: Decimal) -> str | None:
    """match:range:LOW:HIGH — the same as between.

    match:range:1:9  1    passes
    match:range:1:9  0.5  is 0.5, not from 1 to 9
    """
    return between(actual, low, high)


@matcher("approximately")
def approximately(actual: Any, number: Decimal, tolerance: Tolerance) -> str | None:
    """match:approximately:NUMBER:TOLERANCE — a number that differs from NUMBER by no more than TOLERANCE.

    match:approximately:3.14:0.01  3.141  passes
    match:approximately:3.14:0.01  3.2    is 3.2, not within 0.01 of 3.14
    """
    return _number_problem(
        actual,
        lambda found: number - tolerance <= found <= number + tolerance,
        f"within {tolerance} of {number}",
    )


@matcher("multipleOf")
def multiple_of(actual: Any, divisor: Divisor) -> str | None:
    """match:multipleOf:DIVISOR — a multiple of DIVISOR.

    match:multipleOf:0.1  0.3  passes
    match:multipleOf:4    10   is 10, not a multiple of 4
    """
    return _number_problem(actual, lambda found: _divides(divisor, found), f"a multiple of {divisor}")


@matcher("divisibleBy")
def divisible_by(actual: Any, divisor: Divisor) -> str | None:
    """match:divisibleBy:DIVISOR — the same as multipleOf.

    match:divisibleBy:3  9   passes
    match:divisibleBy:3  10  is 10, not a multiple of 3
    """
    return multiple_of(actual, divisor)


def _divides(divisor: Decimal, number: Decimal) -> bool:
    try:
        return not _CONTEXT.remainder(number, divisor)
    except DecimalException:  # of thousands of digits, or infinite
        return False


@matcher("decimalPlaces")
def decimal_places(actual: Any, places: int) -> str | None:
    """match:decimalPlaces:PLACES — a number with PLACES digits after the point; zeros at its end do not count.

    match:decimalPlaces:2  1.25  passes
    match:decimalPlaces:2  1.5   is 1.5, with 1 decimal places, not 2
    """
    number = number_in(actual)
    if number is None:
        return f"is {described(actual)}, not a number"
    found = _places(number)
    return None if found == places else f"is {shown(actual)}, with {found} decimal places, not {places}"


def _places(number: Decimal) -> int:
    exponent = _CONTEXT.plus(number).normalize(_CONTEXT).as_tuple().exponent
    return -exponent if isinstance(exponent, int) and exponent < 0 else 0
