"""Compiles the prompt of a problem if it is the beginning of a program."""

import re

_DEFINITION = re.compile(r"^(?:async def|def|class|import|from|@\w+)\b", re.MULTILINE)


def compiled_prompt(prompt):
    """Returns the prompt as code, adding a body to its last function if needed; None if the prompt is prose."""
    body = body_of(prompt)
    return None if body is None else compile(prompt + body, "<prompt>", "exec")


def body_of(prompt):
    """Returns what a prompt lacks to be code, such as the body of its last function; None if the prompt is prose."""
    if not _DEFINITION.search(prompt):
        return None
    for body in ("", "\n    pass\n"):
        try:
            compile(prompt + body, "<prompt>", "exec")
            return body
        except (SyntaxError, ValueError):
            pass
    return None
