"""Grades a program by its standard output, in the manner of graders that run it in their own interpreter."""

import ast, builtins, contextlib, faulthandler, io, os, shutil, signal, subprocess, sys, tempfile, types
from unittest.mock import mock_open, patch

getcwd, chdir = os.getcwd, os.chdir
class Expired(Exception): pass
def expire(number, frame): raise Expired

REMOVED = {os: "kill system remove unlink rmdir rename fork chdir getcwd chmod", shutil: "rmtree move chown",
           subprocess: "Popen", builtins: "quit"}

def reliability_guard():
    faulthandler.disable()
    for module, names in REMOVED.items():
        for name in names.split(): setattr(module, name, None)
    for name in ("resource", "psutil", "joblib"): sys.modules[name] = None
    os.environ["OMP_NUM_THREADS"] = "1"

def wrap(code):
    """Puts the statements of a program into a function."""
    tree = ast.parse(code)
    function = ast.parse("def wrapped(): pass").body[0]
    function.body = tree.body
    module = types.ModuleType("candidate")
    exec(compile(ast.Module([function], []), "<string>", "exec"), vars(module))
    return module.wrapped

def call(function, text):
    lines = iter(text.splitlines(True))
    @patch("builtins.open", mock_open(read_data=text))
    @patch("sys.stdin", io.StringIO(text))
    @patch("sys.stdin.readline", lambda *_: next(lines))
    @patch("sys.stdin.read", lambda *_: text)
    def run():
        with contextlib.suppress(SystemExit): function()
    run()

def grade(code, text, expected, seconds):
    signal.signal(signal.SIGALRM, expire)
    folder, start = tempfile.mkdtemp(), getcwd()
    chdir(folder)
    reliability_guard()
    out = io.StringIO()
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        faulthandler.enable(sys.__stderr__)
        with contextlib.redirect_stdout(out): call(wrap(code), text)
        return "right" if out.getvalue().split() == expected.split() else "wrong"
    except Expired: return "expired"
    except BaseException as error: return repr(error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.disable()
        chdir(start)
