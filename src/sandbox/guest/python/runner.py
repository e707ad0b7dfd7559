"""Runs the blocks of one session. Lives in the base image; `handle` is called by the worker with bytes."""

import ast
import asyncio
import atexit
import gc
import io
import json
import linecache
import os
import random
import signal
import sys
import traceback
import types
import warnings

FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
CO_COROUTINE = 0x80
TEXT_CAP = 65536
SETTLE_TRIES = 3
BUFFERED = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)
INPUT_BUFFER = 65536
ROOM = 1 << 20

SIGINT = signal.SIGINT
_signal = signal.signal
_write = os.write
_dumps = json.dumps
_loads = json.loads
_TracebackException = traceback.TracebackException
_StringIO = io.StringIO
_TextIOWrapper = io.TextIOWrapper
_plain_format = warnings.formatwarning
_main = sys.modules["__main__"]
_state = types.SimpleNamespace(block=0, name="", active=False, loop=None, no_input=None)


def handle(request):
    """Answers one request of the worker: a seed, a program of the shell, or a block to run."""
    request = _loads(request)
    if "argv" in request:
        return _dumps(run_program(request)).encode()
    if "code" not in request:
        random.seed(request.get("seed"))
        return b"{}"
    return _dumps(_run(request)).encode("utf-8", "backslashreplace")


def run_program(_request):
    """In an image with a shell, the module `program` puts its own in place of this."""
    raise RuntimeError("this image has no shell")


def _run(request):
    _state.block += 1
    _state.name = f"<block {_state.block}>"
    try:
        _tools._begin(request.get("tools", ()), request.get("calls", 0))
        _signal(SIGINT, _on_interrupt)
        _loops.drop_interrupt()
        asyncio._set_running_loop(None)
        _prepare_streams(request.get("stdin"))
        if "script" in request:
            outcome = _run_script(request["code"], request["script"])
        else:
            outcome = _run_block(request["code"], request["valueCap"])
    except BaseException as error:
        if isinstance(error, MemoryError):
            bytes(ROOM)  # raises where what the program holds leaves none for another one
        outcome = {"status": "error", "error": _describe_plainly(error)}
    _state.active = False
    try:
        _finish_streams()
    except BaseException:
        pass  # the guest replaced its streams by something that fails
    return outcome


def _run_block(code, value_cap):
    _remember_lines(code, _state.name)
    return _outcome_of(lambda: _shown(_evaluate(code, _state.name), value_cap))


def _shown(value, value_cap):
    if value is None:
        return {"status": "ok"}
    text = repr(value)
    return {"status": "ok", "value": text[:value_cap], "cut": len(text) > value_cap}


def _run_script(code, argv):
    """Runs the code as `python` runs a file, and what it leaves to be done at its exit."""
    sys.argv[:] = argv
    _state.name = _main.__file__ = os.path.abspath(argv[0])
    sys.path[:1] = [os.path.dirname(_state.name)]
    if "__file__" in code:
        _keep_as_file(code, _state.name)
    _remember_lines(code, _state.name)
    outcome = _outcome_of(lambda: _execute(code, _state.name))
    if outcome["status"] == "interrupted":
        return outcome
    _state.active = True
    atexit._run_exitfuncs()
    if "open" in code:
        _flush_files()
    return outcome


def _execute(code, name):
    exec(compile(code, name, "exec", dont_inherit=True), _main.__dict__)
    return {"status": "ok"}


def _keep_as_file(code, name):
    """Lets a program that looks for itself find itself, where there is no other file of its name."""
    try:
        with open(name, "x", encoding="utf-8", errors="surrogatepass") as file:
            file.write(code)
    except OSError:
        pass


def _flush_files():
    """Writes what stands in the buffers of files that nobody closed."""
    for value in gc.get_objects():
        if type(value) in BUFFERED:
            try:
                value.flush()
            except Exception:
                pass  # it is closed, or is no file to write


def _outcome_of(work):
    _state.active = True
    try:
        return work()
    except SystemExit as error:
        return _describe_exit(error.code)
    except BaseException as error:
        if type(error) is KeyboardInterrupt:
            _state.active = False  # it has stopped: a further interrupt would only cut the report short
        return {"status": _status_of(error), "error": _describe(error)}


def _remember_lines(code, name):
    """Keeps the block's source for tracebacks, now and in later blocks."""
    if type(linecache.cache) is not dict:
        linecache.cache = {}  # a block put something else in its place
    linecache.cache[name] = (len(code), None, _StringIO(code, newline=None).readlines(), name)


def _evaluate(code, name):
    """Runs the block in `__main__` and gives the value of its last expression."""
    tree = compile(code, name, "exec", FLAGS | ast.PyCF_ONLY_AST, dont_inherit=True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    parts = []
    if tree.body or last is None:
        parts.append(compile(tree, name, "exec", FLAGS, dont_inherit=True))
    if last is not None:
        parts.append(compile(ast.Expression(last.value), name, "eval", FLAGS, dont_inherit=True))
    if any(part.co_flags & CO_COROUTINE for part in parts):
        return _run_in_loop(parts)
    for part in parts:
        value = eval(part, _main.__dict__)
    return value


def _run_in_loop(parts):
    if _state.loop is None or _state.loop.is_closed():
        _state.loop = asyncio.new_event_loop()
    task = _state.loop.create_task(_evaluate_async(parts))
    try:
        return _state.loop.run_until_complete(task)
    except BaseException as error:
        if task.done():
            raise
        raise error.with_traceback(_settle(_state.loop, task))


def _settle(loop, task):
    """Lets a block that was cut short end now, so that nothing of it runs in the next; gives where it stood."""
    trace = None
    for _ in range(SETTLE_TRIES):
        task.cancel()
        try:
            loop.run_until_complete(task)
        except BaseException as error:
            trace = trace or _from_block(error.__traceback__)
        if task.done():
            return trace
    for left in asyncio.all_tasks(loop):
        left._log_destroy_pending = False
    _state.loop = None
    return trace


async def _evaluate_async(parts):
    for part in parts:
        value = eval(part, _main.__dict__)
        if part.co_flags & CO_COROUTINE:
            value = await value
    return value


def _on_interrupt(_signal, frame):
    if _state.active and not _loops.hold_interrupt(frame):
        raise KeyboardInterrupt


def _begin_program():
    """Makes ready for a program of the shell, which may call no host tool."""
    _tools._begin((), 0)
    _signal(SIGINT, _on_interrupt)
    _loops.drop_interrupt()
    asyncio._set_running_loop(None)
    _state.active = True


def _end_program():
    _state.active = False


def _status_of(error):
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return "memory" if isinstance(error, MemoryError) else "error"


def _describe_exit(code):
    if code is None or code is False or code == 0:
        return {"status": "ok"}
    if isinstance(code, int):
        # as a shell would see it
        code = code & 0xFF if -(2**63) <= code < 2**63 else 0xFF
        return {"status": "exited", "exitCode": code} if code else {"status": "ok"}
    print(code, file=sys.stderr)
    return {"status": "exited", "exitCode": 1}


def _describe(error):
    report = _TracebackException(type(error), error, _from_block(error.__traceback__), compact=True)
    _drop_own_frames(report)
    return {
        "type": _cap(_class_name(error)),
        "message": _cap(_text_of(error)),
        "traceback": _cap("".join(report.format())),
    }


def _from_block(trace):
    """The part of a traceback from the first line of a block on; nothing when no block is in it."""
    while trace and not _is_of_block(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_of_block(filename):
    return filename == _state.name or filename.startswith("<block ")


def _drop_own_frames(report):
    """Takes the frames of these modules out of a traceback and of those that it is chained to."""
    waiting = [report]
    while waiting:
        part = waiting.pop()
        if part is None:
            continue
        part.stack = _Stack(frame for frame in part.stack if not frame.filename.startswith("<paddock "))
        waiting += [part.__cause__, part.__context__, *(part.exceptions or ())]


class _Stack(traceback.StackSummary):
    """Words the frames of one place once: a recursion goes through it thousands of times."""

    def format_frame_summary(self, frame, **options):
        place = (frame.filename, frame.lineno, frame.end_lineno, frame.colno, frame.end_colno, frame.name)
        worded = self.__dict__.setdefault("worded", {})
        if place not in worded:
            worded[place] = super().format_frame_summary(frame, **options)
        return worded[place]


def _describe_plainly(error):
    """For an exception that cannot be described without failing again."""
    kind = _class_name(error)
    return {"type": kind, "message": "", "traceback": f"{kind}\n"}


def _class_name(error):
    """The name as the class has it, whatever its metaclass says."""
    return type.__dict__["__name__"].__get__(type(error))


def _text_of(error):
    try:
        return str(error)
    except Exception:
        return "<exception str() failed>"


def _cap(text):
    if len(text) <= TEXT_CAP:
        return text
    half = TEXT_CAP // 2
    return f"{text[:half]}\n... [{len(text) - TEXT_CAP} characters left out] ...\n{text[-half:]}"


def _prepare_streams(stdin):
    _give_input((stdin or "").encode("utf-8", "surrogatepass"))
    if stdin or sys.stdin is not _state.no_input or sys.stdin.closed:
        raw = io.BufferedReader(io.FileIO(0, "r", closefd=False), INPUT_BUFFER)
        sys.stdin = sys.__stdin__ = _TextIOWrapper(raw, "utf-8", "surrogateescape", newline="\n")
        _state.no_input = None if stdin else sys.stdin
    for name, fd, errors in (("stdout", 1, "strict"), ("stderr", 2, "backslashreplace")):
        if getattr(getattr(sys, name), "closed", True):
            setattr(sys, name, _open_stream(fd, errors))


def _give_input(data):
    """Puts what the block reads into the device behind descriptor 0, which takes it once."""
    try:
        _write(0, data)
    except OSError:
        pass  # the guest put something else there


def _open_stream(fd, errors):
    raw = io.FileIO(fd, "w", closefd=False)
    return _TextIOWrapper(raw, "utf-8", errors, newline="\n", write_through=True)


def _finish_streams():
    for stream in (sys.stdout, sys.stderr):
        flush = getattr(stream, "flush", None)
        if flush is not None:
            flush()


def _formatwarning(message, category, filename, lineno, line=None):
    """A warning of what dies in the runner's hands, such as a coroutine nobody awaited, is one of the block."""
    if not filename.startswith("<paddock "):
        return _plain_format(message, category, filename, lineno, line)
    name = _state.name
    return _plain_format(message, category, name, len(linecache.getlines(name)), line)


warnings.formatwarning = _formatwarning
sys.stdout = sys.__stdout__ = _open_stream(1, "strict")
sys.stderr = sys.__stderr__ = _open_stream(2, "backslashreplace")
