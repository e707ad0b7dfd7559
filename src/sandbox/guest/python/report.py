"""Describes exceptions for the results of a session, and formats warnings."""

import builtins
import io
import linecache
import operator
import sys
import traceback
import warnings

MAX_TEXT_CHARS = 65536
MAX_TRACE_ENDS = 5000
# Blocks whose source is kept. Without a bound, a session with many short blocks has a checkpoint of megabytes.
MAX_SOURCES = 1000

_StringIO, _plain_update = io.StringIO, linecache.updatecache
TracebackException = traceback.TracebackException
_plain_format = warnings._formatwarnmsg_impl
_print_exception = sys.__excepthook__
_builtins = builtins.__dict__
_own_builtins = dict(_builtins)
block = [""]
"""Name of the running block."""


def describe(error):
    return with_builtins(_describe, error)


def _describe(error):
    trace = from_block(error.__traceback__)
    _cut_middle(trace)
    text, traceback = report_of(error, trace)
    return {"type": _shorten(_class_name(error)), "message": _shorten(text), "traceback": _shorten(traceback)}


def report_of(error, trace):
    """Returns the text of an exception, and its report with a traceback."""
    try:
        add_source_line(error)
        report = TracebackException(type(error), error, trace, compact=True)
        drop_own_frames(report)
        return explain(report, error), "".join(report.format())
    except Exception:
        return _text_of(error), _print_plainly(error, trace)


def _print_plainly(error, trace):
    """Returns the report of CPython's own printer, for a program that changed what the library's printer needs."""
    earlier, sys.stderr = sys.stderr, _StringIO()
    try:
        _print_exception(type(error), error.with_traceback(trace), trace)
        return sys.stderr.getvalue()
    finally:
        sys.stderr = earlier


def call_hook(hook, error, trace):
    """Calls the `sys.excepthook` of a program. If the hook raises, reports both exceptions."""
    try:
        hook(type(error), error, trace)
    except SystemExit:
        raise
    except BaseException as second:
        second.__context__ = None
        for text, raised, start in (
            ("Error in sys.excepthook:\n", second, second.__traceback__.tb_next),
            ("\nOriginal exception was:\n", error, trace),
        ):
            sys.stderr.write(text + with_builtins(report_of, raised, start)[1])


def with_builtins(work, *args):
    """Calls a function that uses the library, with the built-in functions that the program has replaced."""
    if all(map(operator.is_, map(_builtins.get, _own_builtins), _own_builtins.values())):
        return work(*args)
    earlier = dict(_builtins)
    _builtins.update(_own_builtins)
    try:
        return work(*args)
    finally:
        _builtins.clear()
        _builtins.update(earlier)


def add_source_line(error):
    """Adds its line to an error of the compiler, which CPython reads from the program's file."""
    if isinstance(error, SyntaxError) and error.text is None and error.lineno and _is_block_file(error.filename):
        error.text = linecache.getline(error.filename, error.lineno) or None


def explain(report, error):
    """Adds to a report what the reader of an error of the sandbox needs to know. Returns the text of the exception."""
    text = _text_of(error)
    explained = _missing.explain(error, text)
    if explained != text:
        report._str = explained
        if isinstance(error, SyntaxError):
            report.msg = f"{report.msg}{explained.removeprefix(text)}"
    return explained


def from_block(trace):
    """Returns the traceback from the first frame of a block on. None if it contains no block."""
    while trace and not _is_block_file(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _cut_middle(trace):
    """Removes the middle of a long traceback: a recursion may have a million entries, and each takes microseconds."""
    entries = []
    while trace:
        entries.append(trace)
        trace = trace.tb_next
    if len(entries) > 2 * MAX_TRACE_ENDS:
        entries[MAX_TRACE_ENDS - 1].tb_next = entries[-MAX_TRACE_ENDS]


def _is_block_file(filename):
    return filename == block[0] or filename.startswith("<block ")


def drop_own_frames(report):
    """Removes the frames of these modules from a traceback and from the chained ones."""
    waiting = [report]
    while waiting:
        part = waiting.pop()
        if part is None:
            continue
        part.stack = _Stack(frame for frame in part.stack if not frame.filename.startswith("<paddock "))
        waiting += [part.__cause__, part.__context__, *(part.exceptions or ())]


class _Stack(traceback.StackSummary):
    """Formats each source position once, since a recursion has thousands of frames at one position."""

    def format_frame_summary(self, frame, **options):
        place = (frame.filename, frame.lineno, frame.end_lineno, frame.colno, frame.end_colno, frame.name)
        formatted = self.__dict__.setdefault("formatted", {})
        if place not in formatted:
            formatted[place] = super().format_frame_summary(frame, **options)
        return formatted[place]


def describe_type(error):
    """Describes an exception by its type only, since a full description may raise again."""
    kind = _class_name(error)
    return {"type": kind, "message": "", "traceback": f"{kind}\n"}


def _class_name(error):
    """Returns the class's real name, even if its metaclass overrides it."""
    return type.__dict__["__name__"].__get__(type(error))


def _text_of(error):
    try:
        return str(error)
    except Exception:
        return "<exception str() failed>"


def _shorten(text):
    if len(text) <= MAX_TEXT_CHARS:
        return text
    half = MAX_TEXT_CHARS // 2
    return f"{text[:half]}\n... [{len(text) - MAX_TEXT_CHARS} characters left out] ...\n{text[-half:]}"


def remember_source(code, name):
    """Keeps the source of a block for tracebacks of this block and of later ones."""
    if type(linecache.cache) is not dict:
        linecache.cache = {}  # a block replaced it
    linecache.cache[name] = (code,)


def remember_block(code, number):
    """Keeps the source of a block as `remember_source` does, and forgets that of a much earlier one."""
    remember_source(code, f"<block {number}>")
    linecache.cache.pop(f"<block {number - MAX_SOURCES}>", None)


def _update_lines(filename, module_globals=None):
    """Replacement for `linecache.updatecache`, which splits the source of a block when its lines are needed."""
    entry = linecache.cache.get(filename)
    if entry is None or len(entry) != 1 or type(entry[0]) is not str:
        return _plain_update(filename, module_globals)
    lines = _StringIO(entry[0], newline=None).readlines()
    linecache.cache[filename] = (len(entry[0]), None, lines, filename)
    return lines


def _format_warning(message):
    """Attributes warnings raised in the runner, such as of a coroutine that was never awaited, to the block."""
    if message.filename.startswith("<paddock "):
        message.filename = block[0]
        message.lineno = len(linecache.getlines(block[0]))
    return _plain_format(message)


linecache.updatecache = _update_lines
warnings._formatwarnmsg_impl = _format_warning
