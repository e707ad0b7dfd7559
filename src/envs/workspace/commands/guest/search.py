"""Commands that search for text and for files."""

import fnmatch
import os
import re

MOST_SHOWN = 100


def search_dir(term="", folder=".", *more):
    """Lists files below a folder with matching lines, without hidden and binary files."""
    if not term or more:
        raise Refused('Usage: search_dir "<text>" [<folder>]')
    root = _folder(folder)
    pattern = basic_pattern(term)
    found = []
    for path in _files_below(root, hidden=False):
        lines = _matching_lines(path, pattern)
        if lines:
            found.append((path, len(lines)))
    return _report(
        f'"{term}" in {root}',
        [f"{path} ({count} matches)" for path, count in found],
        sum(count for _, count in found),
        "files",
    )


def search_file(editor, term="", path=None, *more):
    """Lists the matching lines of a file, or of the open file."""
    if not term or more:
        raise Refused('Usage: search_file "<text>" [<file>]')
    if path is None:
        path = editor._opened().path
    elif not os.path.isfile(path):
        raise Refused('Usage: search_file "<text>" [<file>]', f"Error: File {path} not found")
    path = os.path.realpath(path)
    lines = _matching_lines(path, basic_pattern(term))
    return _report(
        f'"{term}" in {path}', [f"Line {number}:{line}" for number, line in lines], len(lines), "lines"
    )


def find_file(name="", folder=".", *more):
    """Lists the files below a folder whose name matches a pattern with `*` and `?`."""
    if not name or more:
        raise Refused('Usage: find_file "<name>" [<folder>]')
    root = _folder(folder)
    found = [path for path in _files_below(root, hidden=True) if fnmatch.fnmatchcase(os.path.basename(path), name)]
    return _report(f'"{name}" in {root}', found, len(found), "files")


def _report(subject, lines, count, kind):
    if count == 0:
        return [f"No matches found for {subject}"]
    if len(lines) > MOST_SHOWN:
        return [f"More than {MOST_SHOWN} {kind} matched for {subject}: {len(lines)}. Please narrow your search."]
    return [f"Found {count} matches for {subject}:", *lines, f"End of matches for {subject}"]


def basic_pattern(term):
    """Compiles a pattern as `grep` reads it: brackets, braces, `+`, `?` and `|` are literal unless after a backslash."""
    plain = re.sub(r"\\([(){}+?|])|([(){}+?|])", lambda found: found[1] or f"\\{found[2]}", term)
    plain = f"\\{plain}" if plain.startswith("*") else plain
    for text in (plain, re.escape(term)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return re.compile(text)
        except re.error:
            continue
    raise AssertionError("an escaped text is a pattern")


def _matching_lines(path, pattern):
    try:
        if is_binary(path):
            return []
        lines = TextFile.read(path).lines
    except OSError:
        return []  # deleted meanwhile, or not readable
    return [(number, line.removesuffix("\r")) for number, line in enumerate(lines, 1) if pattern.search(line)]


def _files_below(root, *, hidden):
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(name for name in inner if hidden or not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(folder, name)
            if (hidden or not name.startswith(".")) and os.path.isfile(path) and not os.path.islink(path):
                yield path


def _folder(path):
    if not os.path.isdir(path):
        raise Refused(f"Directory {path} not found")
    return os.path.realpath(path)
