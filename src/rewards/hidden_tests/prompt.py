"""Compiles the prompt of a problem if it is the beginning of a program."""

import re

_DEFINITION = re.compile(r"^(?:async def|def|class|import|from|@\w+)\b", re.MULTILINE)


def compiled_prompt(prompt):
    """Returns the prompt as code, adding a body to its last function if needed; None if the prompt is prose."""
    if not _DEFINITION.search(prompt):
        return None
    for source in (prompt, f"{prompt}\n    pass\n"):
        try:
            return compile(source, "<prompt>", "exec")
        except (SyntaxError, ValueError):
            pass
    return None
