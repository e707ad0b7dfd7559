"""Text of results that models read as the output of a tool."""

from __future__ import annotations

from .client import ExecResult

_REASONS = {
    "timeout": "The program was stopped at its time limit.",
    "memory": "The program was stopped at its memory limit.",
    "output": "The program was stopped at its output limit.",
    "crashed": "The interpreter crashed.",
}


def tool_text(result: ExecResult, max_characters: int) -> str:
    """Returns what a program printed, the value of its last expression, and why it failed.

    Of a longer text, the beginning and the end are kept. An unsuccessful program always has a text.
    """
    error = result.error.traceback if result.error and result.status == "error" else ""
    reason = _REASONS.get(result.status, "")
    if result.status == "exited" and result.exit_code != 0:
        reason = f"The program exited with code {result.exit_code}."
    if not result.state_kept:
        reason += " Variables and files are lost."
    parts = [result.stdout, result.stderr, error, result.value or "", reason.strip()]
    text = ""
    for part in filter(None, parts):
        text += part if text == "" or text.endswith("\n") else f"\n{part}"
    return shorten(text, max_characters)


def shorten(text: str, max_characters: int) -> str:
    """Returns a text without its middle, if it has more characters. The note about it is not counted."""
    if len(text) <= max_characters:
        return text
    head, tail = (max_characters + 1) // 2, max_characters // 2
    note = f"\n… {len(text) - max_characters} characters are left out …\n"
    return text[:head] + note + text[len(text) - tail :]
