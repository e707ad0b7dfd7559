"""Commands that show and change files. Their state is in shell variables."""

import json
import os

MAX_CHARACTERS_TO_JUMP = 20_000
SCROLLS_UNTIL_WARNING = 3
NOTHING_OPEN = "No file is open. Open one first: open \"<path>\""
RULE = "-" * 50


class Refused(Exception):
    """A command that cannot be run; its lines are the message for the agent."""


class Editor:
    """Runs one command: reads the shell's variables, returns lines of output, and collects the changed variables."""

    def __init__(self, variables):
        self.variables = variables
        self.file = variables.get("CURRENT_FILE", "")
        self.line = _number(variables.get("CURRENT_LINE"), 0)
        self.window = max(1, _number(variables.get("WINDOW"), 100))
        self.overlap = min(self.window - 1, max(0, _number(variables.get("OVERLAP"), 2)))
        self.changed = {}

    def open(self, path="", line=None, *more):
        if not path or more:
            raise Refused('Usage: open "<path>" [<line_number>]')
        if os.path.isdir(path):
            raise Refused(f"Error: {path} is a directory. Look into it with ls, and open a file.")
        if not os.path.exists(path):
            raise Refused(f"File {path} not found")
        if is_image(path):
            raise Refused(f"Error: {path} is an image, which cannot be shown here.")
        if is_binary(path):
            raise Refused(f"Error: {path} is a binary file, which cannot be shown here.")
        file = TextFile.read(path)
        notes = []
        center = self.window // 2
        if line is not None:
            center, notes = self._center_of(file, line)
        self._set(os.path.realpath(path), center, len(file.lines))
        return [*notes, *show(file, self.line, self.window)]

    def _center_of(self, file, text):
        if not text.isdecimal():
            raise Refused('Usage: open "<path>" [<line_number>]', f"Error: the line must be a number: it is {text!r}")
        if len(file.data) > MAX_CHARACTERS_TO_JUMP:
            raise Refused(
                f"Error: {file.path} has more than {MAX_CHARACTERS_TO_JUMP} characters and is not opened at a line.",
                "Open it without a line and use goto, or print a part of it with sed -n or head.",
            )
        line, total = int(text), len(file.lines)
        nearest = min(max(line, 1), max(total, 1))
        if line == nearest:
            return self._below_top(line), []
        return self._below_top(nearest), [f"Warning: there is no line {line}; the nearest is {nearest}."]

    def _below_top(self, line):
        """Returns the middle of a window that shows a line slightly below its top."""
        return max(1, line + self.window // 2 - self.window // 6)

    def goto(self, line="", *more):
        file = self._opened()
        if not line.isdecimal() or more:
            raise Refused("Usage: goto <line_number>", "Error: the line must be one number")
        if not 1 <= int(line) <= max(1, len(file.lines)):
            raise Refused(f"Error: the line must be from 1 to {len(file.lines)}: it is {line}")
        return self._show_at(file, self._below_top(int(line)))

    def scroll_down(self, *_):
        return self._scroll(self.window - self.overlap)

    def scroll_up(self, *_):
        return self._scroll(self.overlap - self.window)

    def _scroll(self, lines):
        file = self._opened()
        shown = self._show_at(file, clamp_center(self.line, len(file.lines), self.window) + lines)
        is_again = self.variables.get("LAST_ACTION", "").strip() in ("scroll_up", "scroll_down")
        count = 1 + (_number(self.variables.get("SCROLL_COUNT"), 0) if is_again else 0)
        self.changed["SCROLL_COUNT"] = count
        if count < SCROLLS_UNTIL_WARNING:
            return shown
        hint = "Scrolling on and on costs a step each time: search_file \"<text>\" finds a place at once, goto shows it."
        return [*shown, "", f"WARNING: {hint}"]

    def create(self, path="", *more):
        if not path or more:
            raise Refused('Usage: create "<path>"')
        notes = []
        if os.path.lexists(path):
            notes.append(f"Error: File '{path}' already exists.")
        else:
            try:
                with open(path, "x") as file:
                    file.write("\n")
            except OSError as error:
                raise Refused(f"Error: File '{path}' cannot be created: {error.strerror}") from None
        return [*notes, *self.open(path)]

    def edit(self, lines="", *more):
        file = self._writable()
        start, colon, end = lines.partition(":")
        if more or not colon or not start.isdecimal() or not end.isdecimal():
            raise Refused("Usage: edit <start_line>:<end_line>", "Error: both must be numbers, as in 3:5")
        first, last, total = int(start), int(end), len(file.lines)
        if not 1 <= first <= total + 1 or last < first:
            raise Refused(
                f"Error: the lines must be from 1 to {max(1, total)}, the first not behind the last: they are {lines}",
            )
        return self._change(file, first, min(last, total) - first + 1)

    def insert(self, line="", *more):
        file = self._writable()
        if not line.isdecimal() or more:
            raise Refused("Usage: insert <line_number>", "Error: the line must be one number; 0 is before the first")
        if int(line) > len(file.lines):
            raise Refused(f"Error: the line must be from 0 to {len(file.lines)}: it is {line}")
        return self._change(file, int(line) + 1, 0)

    def _change(self, file, first, removed):
        text = _input_lines()
        changed = file.replaced(first, removed, text)
        found = _new_faults_of(file, changed, first, removed, len(text))
        if found:
            raise Refused(*_refusal(file, changed, found, first, removed, len(text)))
        try:
            changed.write()
        except OSError as error:
            raise Refused(f"Error: {file.path} cannot be written: {error.strerror}") from None
        shown = self._show_at(changed, first)
        return [*shown, "The file was changed. See whether it is as you meant it: indentation, lines that are there twice."]

    def state(self, *_):
        state = {
            "open_file": os.path.realpath(self.file) if self.file else "n/a",
            "working_dir": self.variables.get("PWD") or os.getcwd(),
        }
        return [json.dumps(state)]

    def _opened(self):
        if not self.file:
            raise Refused(NOTHING_OPEN)
        try:
            return TextFile.read(self.file)
        except OSError as error:
            raise Refused(f"Error: the open file {self.file} cannot be read any more: {error.strerror}") from None

    def _writable(self):
        file = self._opened()
        if is_read_only(self.file):
            raise Refused(f"Error: You cannot edit read-only file {self.file}")
        return file

    def _show_at(self, file, center):
        self._set(self.file, center, len(file.lines))
        return show(file, self.line, self.window)

    def _set(self, path, center, total):
        self.file = self.changed["CURRENT_FILE"] = path
        self.line = self.changed["CURRENT_LINE"] = clamp_center(center, total, self.window)


def _new_faults_of(file, changed, first, removed, added):
    """Returns the new findings after a change of a Python file; none for other files."""
    if not file.path.endswith(".py"):
        return []
    after = find_faults(changed.data, file.path)
    if not after:
        return []
    return new_faults(find_faults(file.data, file.path), after, first=first, removed=removed, added=added)


def _refusal(file, changed, found, first, removed, added):
    return [
        "The file was NOT changed, as it would have new errors:",
        "",
        "ERRORS:",
        *(f"- {fault.line}:{fault.column} {fault.code} {fault.message}" for fault in found),
        "",
        "With your change it would be:",
        RULE,
        *_around(changed, first, added),
        RULE,
        "",
        "It is still:",
        RULE,
        *_around(file, first, removed),
        RULE,
        "Correct the text or the line numbers. The same command again would fail again.",
    ]


def _around(file, first, count):
    """Returns the lines of a change with five lines of context on each side."""
    window = count + 10
    center = clamp_center(first - 1 + count // 2, len(file.lines), window)
    return show(file, center, window)


def _input_lines():
    """Returns the text on stdin as lines."""
    text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    return text.removesuffix("\n").split("\n") if text else []


def _number(text, default):
    try:
        return int(text)
    except (TypeError, ValueError):
        return default
