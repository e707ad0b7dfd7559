"""Grades a program in a process of its own, in the manner of graders that remove functions there."""

import contextlib
import io
import multiprocessing
import os
import shutil
import signal
import tempfile


class Expired(Exception):
    pass


def expire(number, frame):
    raise Expired


def run(code, seconds, result):
    with tempfile.TemporaryDirectory() as folder:
        chdir, rmtree, unlink, rmdir = os.chdir, shutil.rmtree, os.unlink, os.rmdir
        chdir(folder)
        for name in ("unlink", "rmdir", "kill", "getcwd", "chdir", "rename"):
            setattr(os, name, None)
        shutil.rmtree = None
        signal.signal(signal.SIGALRM, expire)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                signal.setitimer(signal.ITIMER_REAL, seconds)
                try:
                    exec(code, {})
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            result.append("passed")
        except Expired:
            result.append("expired")
        except BaseException as error:
            result.append(f"failed: {error}")
        os.chdir, shutil.rmtree, os.unlink, os.rmdir = chdir, rmtree, unlink, rmdir
        chdir("/")


def check(code, seconds):
    result = multiprocessing.Manager().list()
    process = multiprocessing.Process(target=run, args=(code, seconds, result))
    process.start()
    process.join(timeout=seconds + 20)
    if process.is_alive():
        process.kill()
    return result[0] if result else "killed"
