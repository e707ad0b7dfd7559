"""Replaces numpy for the scripts of MLGym's games if numpy is not installed: lists of numbers and their mean."""

import math


def asarray(values, dtype=float):
    """Returns a list of numbers; `dtype` converts each."""
    return [dtype(value) for value in values]


def mean(values):
    """Returns the mean of a list of numbers; NaN for an empty list."""
    values = list(values)
    return math.fsum(values) / len(values) if values else math.nan


def __getattr__(name):
    raise AttributeError(f"numpy is not installed here, and its replacement has no {name!r}")


array = asarray
float32 = float64 = float
int32 = int64 = int
