from cases import CASES
from paddock_evaluation import SubmissionError


def evaluate(submission):
    """The share of the hidden cases that hold."""
    return {"passed": sum(holds(submission, *case) for case in CASES) / len(CASES)}


def holds(submission, name, arguments, expected):
    try:
        result = submission.call(f"spans.{name}", *arguments)
    except SubmissionError as error:
        return isinstance(expected, type) and error.kind == expected.__name__
    return type(result) is type(expected) and result == expected
