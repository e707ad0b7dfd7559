"""Compiles the prompt of a problem if it is the beginning of a program."""

import re

_DEFINITION = re.compile(r"^(?:async def|def|class|import|from|@\w+)\b", re.MULTILINE)


def compiled_prompt(prompt):
    """Returns the prompt as code, adding a body to its last function if needed; None if the prompt is prose."""
    completed = _completed(prompt)
    return None if completed is None else completed[1]


def body_of(prompt):
    """Returns what a prompt lacks to be code, such as the body of its last function; None if the prompt is prose."""
    completed = _completed(prompt)
    return None if completed is None else completed[0]


def _completed(prompt):
    """Returns what a prompt lacks to be code, and the code; None if the prompt is prose."""
    if not _DEFINITION.search(prompt):
        return None
    for body in ("", "\n    pass\n"):
        try:
            return body, compile(prompt + body, "<prompt>", "exec")
        except (SyntaxError, ValueError):
            pass
    return None
