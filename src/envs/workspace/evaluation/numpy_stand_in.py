"""What scripts of games need of numpy, where numpy is not there: lists of numbers and their mean."""

import math


def asarray(values, dtype=float):
    """A list of numbers; `dtype` turns each into one."""
    return [dtype(value) for value in values]


def mean(values):
    """The mean of a list of numbers; NaN of none."""
    values = list(values)
    return math.fsum(values) / len(values) if values else math.nan


def __getattr__(name):
    raise AttributeError(f"numpy is not installed here, and what stands in for it has no {name!r}")


array = asarray
float32 = float64 = float
int32 = int64 = int
