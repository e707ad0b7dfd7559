"""The prompt of a problem, where it is the beginning of a program."""

import re

_DEFINITION = re.compile(r"^(?:async def|def|class|import|from|@\w+)\b", re.MULTILINE)


def compiled_prompt(prompt):
    """The prompt as code, its last function without a body if need be; None where it is prose."""
    if not _DEFINITION.search(prompt):
        return None
    for source in (prompt, f"{prompt}\n    pass\n"):
        try:
            return compile(source, "<prompt>", "exec")
        except (SyntaxError, ValueError):
            pass
    return None
