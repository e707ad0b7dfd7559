"""
Entry point of the shell functions: runs one command and prints the length of the shell assignments, the assignments, a
newline, and the output.
"""

import os
import sys

EDITING = ("open", "goto", "scroll_down", "scroll_up", "create", "edit", "insert", "state")


def main():
    name, *words = sys.argv[1:]
    editor = Editor(os.environ)
    code = 0
    try:
        lines = _run(editor, name, words)
    except Refused as refused:
        lines, code = refused.args, 1
        editor.changed = {}
    except OSError as error:
        lines, code = [f"Error: {error.strerror}: {error.filename}"], 1
    assignments = ";".join(f"{name}={_quoted(str(value))}" for name, value in editor.changed.items())
    _write(f"{len(assignments):06}{assignments}\n{'\n'.join(lines)}")
    raise SystemExit(code)


def flake8():
    """Prints the findings of this module in flake8's format."""
    code = 0
    lines = []
    for path in [word for word in sys.argv[1:] if not word.startswith("-")]:
        for fault in _faults_of(path):
            code = 1
            lines.append(f"{path}:{fault.line}:{fault.column}: {fault.code} {fault.message}\n")
    _write("".join(lines))
    raise SystemExit(code)


def _faults_of(path):
    try:
        return find_faults(TextFile.read(path).data, path)
    except OSError as error:
        return [Fault(0, 1, "E902", f"{type(error).__name__}: {error.strerror}: '{path}'")]


def _run(editor, name, words):
    if name in EDITING:
        return getattr(editor, name)(*words)
    if name == "search_file":
        return search_file(editor, *words)
    return {"search_dir": search_dir, "find_file": find_file}[name](*words)


def _quoted(text):
    """Quotes a text as one word of the shell, in ASCII and on one line."""
    return "$'" + "".join(map(_escaped, text)) + "'"


def _escaped(char):
    """Escapes a character as its UTF-16 units, which is the only numeric form that the shell supports."""
    if char.isascii() and char.isprintable() and char not in "'\\":
        return char
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _write(text):
    data = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    sys.stdout.buffer.write(data.encode())
    sys.stdout.buffer.flush()
