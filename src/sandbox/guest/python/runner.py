"""Runs the blocks of a session. Part of the base image. The worker calls `handle` with bytes."""

import ast
import asyncio
import atexit
import dis
import gc
import io
import json
import os
import random
import re
import signal
import struct
import sys
import types

FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
CO_COROUTINE = 0x80
MAX_CANCELS = 3
BUFFERED = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)
INPUT_BUFFER_BYTES = 65536
SPARE_BYTES = 1 << 16
STATEMENT = re.compile(
    r"(?:assert|async|class|def|del|elif|else|except|finally|for|from|global|if|import|pass|raise|try|while|with)\b"
).match
CONTINUATION = frozenset(" \t\f\n#)]}")
"""Characters that start a line which starts no statement."""
POP_TOP = dis.opmap["POP_TOP"]
OWN_SOURCE_WORDS = ("__file__", "argv", "multiprocessing", "ProcessPoolExecutor", "atexit", "__del__", "unraisable")
"""A program that contains one of these may read its own file. C code reads it to report exceptions that it ignores."""

SIGINT = signal.SIGINT
_signal = _signals.set_c_handler
_getcwd = os.getcwd
_join, _normpath = os.path.join, os.path.normpath
_dumps, _scan = json.dumps, json._default_decoder.scan_once
"""The scanner is written in C: functions of `json` use names of `builtins` and of `json` that a program can replace."""
_TextIOWrapper = io.TextIOWrapper
_get_c_handler, _set_running_loop = _signals.get_c_handler, asyncio._set_running_loop
_modules = sys.modules
_main = sys.modules["__main__"].__dict__
"""Names of the session's blocks."""
_random = random._inst
_seed_random = super(random.Random, _random).seed
"""Written in C, and saved, as the program of a session that is forked may have replaced what `random.seed` uses."""
_excepthook = sys.__excepthook__
_state = types.SimpleNamespace(block=0, name="", active=False, stopped=False, loop=None, no_input=None)


EXEC_HEAD = struct.Struct("<BIII")
"""Of a request to run code: its flags, the budget of calls, the maximum length of a value, and the length of the code,
in bytes."""
HAS_EXTRAS, HAS_STDIN, MAX_FLAGS = 1, 4, 8
"""Requests that start with a larger byte are JSON."""
_unpack_head = EXEC_HEAD.unpack_from
OK = {"status": "ok"}
BYTE_ORDER_MARK = "\ufeff"


def handle(request):
    """Handles a request of the worker: a block to run, a thread, a seed, or a program of the shell."""
    if type(request) is int:
        return _sched.run_thread(request)
    if request[0] < MAX_FLAGS:
        return _values.encode_outcome(_run(request))
    request = _loads(request)
    if "argv" in request:
        return _dumps(_programs.run_program(request)).encode()
    _seed(request.get("seed"))
    return b"{}"


def _loads(data):
    """Returns the value that is encoded as JSON in bytes of the host."""
    return _scan(data.decode("utf-8", "surrogatepass"), 0)[0]


def _seed(seed):
    _seed_random(seed)
    _random.gauss_next = None
    numpy_random = _modules.get("numpy.random")  # the state of one in the image would be that of every session
    if numpy_random is not None:
        try:
            numpy_random.seed(seed if seed is None else seed % 2**32)
        except BaseException:
            pass  # a program whose session is forked has replaced it


def _run(request):
    _state.block += 1
    _missing.denials.clear()
    _state.name = _errors.block[0] = f"<block {_state.block}>"
    _state.stopped = False
    try:
        flags, calls, value_cap, code_bytes = _unpack_head(request)
        end = EXEC_HEAD.size + code_bytes
        extras = _loads(request[end:]) if flags & HAS_EXTRAS else {}
        code = request[EXEC_HEAD.size : end].decode("utf-8", "surrogatepass").removeprefix(BYTE_ORDER_MARK)
        _begin(extras.get("tools", ()), calls)
        _prepare_streams(flags & HAS_STDIN)
        inputs = extras.get("inputs")
        outcome = _outcome_of(lambda: _values.set_inputs(inputs, _main)) if inputs else None
        if outcome is not None:
            pass  # an input did not fit into memory, or the program was interrupted
        elif "script" in extras:
            outcome = _run_script(code, extras["script"])
        else:
            outcome = _run_block(code, value_cap, "cell" in extras)
    except BaseException as error:
        status = "memory" if isinstance(error, MemoryError) else "error"
        outcome = {"status": status, "error": _errors.describe_type(error)}
    if outcome["status"] == "memory":
        bytes(SPARE_BYTES)  # raises if the program's objects leave no memory for the next block
    if _sched.threads:
        outcome = _outcome_of(_procs.end_killed) or outcome
    _state.active = False
    if outcome["status"] == "interrupted":
        _procs.end_all()
    elif "matplotlib.pyplot" in sys.modules:
        outcome = _outcome_of(_display.end_block) or outcome
        _state.active = False
    try:
        _finish_streams()
    except BaseException:
        pass  # the guest replaced its streams by objects that raise
    if _missing.denials:
        outcome = {**outcome, "denied": dict(_missing.denials)}
    return outcome


def _begin(tools, calls):
    """Forgets what the previous block left behind, and grants tools to the next."""
    _tools._begin(tools, calls)
    _sched.begin()
    if _get_c_handler(SIGINT) is not _on_interrupt:
        _signal(SIGINT, _on_interrupt)
    _loops.drop_interrupt()
    _alarms.begin()
    _timers.begin()
    _set_running_loop(None)


def _run_block(code, value_cap, is_cell):
    _display.begin_block()
    _errors.remember_block(code, _state.block)
    return _outcome_of(_evaluate_block, code, value_cap, is_cell)


def _evaluate_block(code, value_cap, is_cell):
    value = _cells.evaluate(code, _state.name) if is_cell else _evaluate(code, _state.name)
    if value is None:
        return OK
    if sys.displayhook is not sys.__displayhook__:
        sys.displayhook(value)  # a hook of the program, which the interpreter calls for each value
    text = "".join((_pretty.pretty(value) if is_cell else repr(value),))  # a subclass of str becomes str
    _display.show_value(value)
    return {
        "status": "ok",
        "value": (text[:value_cap], _values.json_of(value, value_cap)),
        "cut": len(text) > value_cap,
    }


def _run_script(code, argv):
    """Runs the code as `python` runs a file, including what happens at its end."""
    sys.argv[:] = argv
    _display.begin_script()
    session_main = _modules.get("__main__")
    _ends.begin_program(_main)
    if argv[0] == "-":
        _state.name = _errors.block[0] = "<stdin>"
    else:
        _state.name = _errors.block[0] = _modules["__main__"].__file__ = _normpath(_join(_getcwd(), argv[0]))
        sys.path[:1] = [os.path.dirname(_state.name)]
        module = os.path.basename(_state.name).removesuffix(".py")
        words = (*OWN_SOURCE_WORDS, f"import {module}", f"from {module} ")
        if any(word in code for word in words):
            _write_source_file(code, _state.name)
    _errors.remember_source(code, _state.name)
    earlier, outcome = set(_sched.threads), None
    try:
        outcome = _outcome_of(_execute, code, _state.name)
        if outcome["status"] != "interrupted":
            outcome = _outcome_of(_threads.finish, earlier) or _outcome_of(_end_script, code) or outcome
        return outcome
    finally:
        if outcome is None or outcome["status"] == "memory":
            _ends.drop_names()  # they may take all memory
        _use_main(_modules.setdefault("__main__", session_main))


def _use_main(module):
    """Lets the next blocks use the names of a module."""
    global _main
    if isinstance(module, types.ModuleType):
        _main = module.__dict__


def _end_script(code):
    """Does what follows the last line of a program."""
    _state.active = True
    atexit._run_exitfuncs()
    _procs.end_all()
    if _ends.is_visible(code):
        _ends.release()
    if "open" in code:
        _flush_files()


def _report(error):
    """
    Reports an exception of a program, and exits, if the program set `sys.excepthook` or raised KeyboardInterrupt
    itself. Others are part of the result.
    """
    is_interrupt = isinstance(error, KeyboardInterrupt)
    if is_interrupt and _state.stopped:
        return
    hook = getattr(sys, "excepthook", _excepthook)
    if hook is not _excepthook:
        _errors.call_hook(hook, error, _errors.from_block(error.__traceback__))
    elif is_interrupt:
        sys.stderr.write(_errors.describe(error)["traceback"])
    else:
        return
    raise SystemExit(130 if is_interrupt else 1)


def _execute(code, name):
    try:
        exec(compile(code, name, "exec", dont_inherit=True), _modules["__main__"].__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        _report(error)
        raise
    return OK


def _write_source_file(code, name):
    """Writes the program to its file, if that does not exist, since the program may read its own source."""
    try:
        with open(name, "x", encoding="utf-8", errors="surrogatepass") as file:
            file.write(code)
    except OSError:
        pass


def _flush_files():
    """Flushes files that were not closed."""
    for value in gc.get_objects():
        if type(value) in BUFFERED:
            try:
                value.flush()
            except Exception:
                pass  # the file is closed or not writable


def _outcome_of(work, *args):
    _state.active = True
    try:
        return work(*args)
    except SystemExit as error:
        return _describe_exit(error.code)
    except BaseException as error:
        if type(error) is KeyboardInterrupt:
            _state.active = False  # the block has stopped: another interrupt would only cut the report short
        return {"status": _status_of(error), "error": _errors.describe(error)}


def _evaluate(code, name):
    """Runs the block in `__main__` and returns the value of its last expression."""
    parts = _compile(code, name)
    if any(part.co_flags & CO_COROUTINE for part in parts):
        return _run_in_loop(_evaluate_async(parts))
    for part in parts:
        value = eval(part, _main)
    return value


def _compile(code, name):
    """
    Compiles a block: its statements, and its last expression. The text of most blocks shows where the last statement
    starts. The syntax tree of the others shows it, but takes far longer, as it becomes Python objects.
    """
    start = _start_of_last(code)
    if start is not None:
        parts = _compile_split(code, start, name)
        if parts:
            return parts
    tree = compile(code, name, "exec", FLAGS | ast.PyCF_ONLY_AST, dont_inherit=True)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    parts = []
    if tree.body or last is None:
        parts.append(compile(tree, name, "exec", FLAGS, dont_inherit=True))
    if last is not None:
        parts.append(compile(ast.Expression(last.value), name, "eval", FLAGS, dont_inherit=True))
    return parts


def _start_of_last(code):
    """Returns where the last statement of a block starts; None if the text does not show it."""
    start = end = len(code)
    while start == len(code) or code[start] in CONTINUATION:
        if end < 0:
            return None
        end = code.rfind("\n", 0, end)
        start = end + 1
    head = code[:start]
    if ";" in code[start:] or "\\" in code[start:] or "\r" in code or head.endswith("\\\n"):
        return None
    is_open = any(head.count(opening) != head.count(closing) for opening, closing in ("()", "[]", "{}"))
    return None if is_open or head.count('"""') % 2 or head.count("'''") % 2 else start


def _compile_split(code, start, name):
    """Compiles a block whose last statement starts at `start`. Returns None if that is an error, or may be wrong."""
    is_statement = STATEMENT(code, start)
    try:
        if not is_statement:
            lines = "\n" * code.count("\n", 0, start)
            value = compile(lines + code[start:], name, "eval", FLAGS, dont_inherit=True)
            return [value] if start == 0 else [compile(code[:start], name, "exec", FLAGS, dont_inherit=True), value]
    except SyntaxError:
        pass  # it is a statement, or an error
    try:
        whole = compile(code, name, "exec", FLAGS, dont_inherit=True)
    except SyntaxError:
        return None
    ends_with_value = not is_statement and whole.co_code[-6] == POP_TOP
    return None if ends_with_value else [whole]


def _run_in_loop(coroutine):
    """Runs a coroutine in the loop of the session's blocks, whose tasks go on in later blocks."""
    if _state.loop is None or _state.loop.is_closed():
        _state.loop = asyncio.new_event_loop()
    task = _state.loop.create_task(coroutine)
    try:
        return _state.loop.run_until_complete(task)
    except BaseException as error:
        if task.done():
            raise
        raise error.with_traceback(_cancel_block(_state.loop, task))


def _cancel_block(loop, task):
    """Ends an interrupted block, so that no part of it runs in the next. Returns the traceback of where it stopped."""
    trace = None
    for _ in range(MAX_CANCELS):
        task.cancel()
        try:
            loop.run_until_complete(task)
        except BaseException as error:
            trace = trace or _errors.from_block(error.__traceback__)
        if task.done():
            return trace
    for left in asyncio.all_tasks(loop):
        left._log_destroy_pending = False
    _state.loop = None
    return trace


async def _evaluate_async(parts):
    for part in parts:
        value = eval(part, _main)
        if part.co_flags & CO_COROUTINE:
            value = await value
    return value


def _on_interrupt(_signal, frame):
    _state.stopped = True
    if _state.active and not _sched.hold_interrupt(frame) and not _loops.hold_interrupt(frame):
        raise KeyboardInterrupt


def _begin_program():
    """Prepares for a program of the shell, which must not call host tools."""
    _begin((), 0)
    _state.active = True


def _status_of(error):
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return "memory" if isinstance(error, MemoryError) else "error"


def _describe_exit(code):
    if code is None:
        return OK
    if isinstance(code, int):
        # the exit code that a shell would see
        code = code & 0xFF if -(2**63) <= code < 2**63 else 0xFF
        return {"status": "exited", "exitCode": code} if code else OK
    print(code, file=sys.stderr)
    return {"status": "exited", "exitCode": 1}


def _prepare_streams(has_stdin):
    """Opens the streams that are closed, and a new stdin if there is something to read."""
    if has_stdin or sys.stdin is not _state.no_input or sys.stdin.closed:
        raw = io.BufferedReader(io.FileIO(0, "r", closefd=False), INPUT_BUFFER_BYTES)
        raw.raw.name = "<stdin>"
        sys.stdin = sys.__stdin__ = _TextIOWrapper(raw, "utf-8", "surrogateescape", newline="\n")
        sys.stdin.mode = "r"
        _state.no_input = None if has_stdin else sys.stdin
    if getattr(sys.stdout, "closed", True):
        sys.stdout = _open_stream(1, "strict")
    if getattr(sys.stderr, "closed", True):
        sys.stderr = _open_stream(2, "backslashreplace")


def _open_stream(fd, errors):
    raw = io.FileIO(fd, "w", closefd=False)
    raw.name = "<stdout>" if fd == 1 else "<stderr>"
    stream = _TextIOWrapper(raw, "utf-8", errors, newline="\n", write_through=True)
    stream.mode = "w"
    return stream


def _finish_streams():
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


sys.stdout = sys.__stdout__ = _open_stream(1, "strict")
sys.stderr = sys.__stderr__ = _open_stream(2, "backslashreplace")
