"""Calls the grader of a user's file."""

import inspect
import math
import numbers

from paddock_user_file import (
    ACTIONS,
    CONTRACTS,
    Problem,
    call_by_names,
    line_of,
    require_function,
    require_parameters,
    shown,
    user_module,
)

_GRADE = "def grade(completion, answer) -> float"
_GRADE_VALUES = ("completion", "answer", "task", "messages", "query", "fields", "code_calls")
_SCORE = "a number, None, or a dict with 'score' whose other values are numbers"


def _grader_contract(module):
    function = require_function(module, "grade", _GRADE)
    if inspect.isclass(function):
        raise Problem(f"'grade' must be a function, as in '{_GRADE}': found a class")
    require_parameters(function, "grade")
    return {}


def _grade(request):
    name = request["function"]
    function = getattr(user_module(), name)
    values = request["values"]
    value = call_by_names(function, name, values, values["fields"], _GRADE_VALUES)
    return _score_of(value, name, line_of(function))


def _score_of(value, name, line):
    """Returns a result as `{ score, parts?, reason? }`."""
    if not isinstance(value, dict):
        return {"score": number_of(value, f"{name}() must return {_SCORE}: it returned", line)}
    if "score" not in value:
        keys = ", ".join(map(repr, value)) or "no keys"
        raise Problem(f"the dict that {name}() returns must have 'score': it has {keys}", line)
    parts = {}
    reason = None
    for key, each in value.items():
        if not isinstance(key, str):
            raise Problem(f"the keys of the dict that {name}() returns must be texts: found {shown(key)}", line)
        if key == "reason" and isinstance(each, str):
            reason = each[:1_000]
        else:
            parts[key] = number_of(each, f"'{key}' of the dict that {name}() returns must be a number or None: it is", line)
    score = parts.pop("score")
    reply = {"score": score}
    if parts:
        reply["parts"] = parts
    if reason is not None:
        reply["reason"] = reason
    return reply


def number_of(value, problem, line):
    if value is None:
        return None
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()  # a number of numpy
    if not isinstance(value, numbers.Real):
        raise Problem(f"{problem} {shown(value)}", line)
    number = float(value)
    if not math.isfinite(number):
        raise Problem(f"{problem} {number}", line)
    return number


CONTRACTS["grader"] = _grader_contract
ACTIONS["grade"] = _grade
