"""Runs one command in a session and prints its outcome as a line of JSON, which is the last one. It runs in the sandbox."""

import base64
import json
import os
import subprocess
import threading

NOT_FOUND, NOT_EXECUTABLE = 127, 126


class Stream:
    """The first bytes of a pipe. Beyond its limit it ends the process."""

    def __init__(self, pipe, limit, process):
        self.data = bytearray()
        self.exceeded = False
        self._pipe, self._limit, self._process = pipe, limit, process
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        while chunk := os.read(self._pipe.fileno(), 65_536):
            room = self._limit - len(self.data)
            self.data += chunk[:room]
            if len(chunk) > room and not self.exceeded:
                self.exceeded = True
                self._process.kill()

    def join(self):
        self._thread.join()
        self._pipe.close()


def run(command, cwd, env, stdin, limit):
    """Runs a command and returns its exit code, its output and whether that exceeded the limit."""
    with open(stdin or os.devnull, "rb") as source:
        if stdin:
            os.unlink(stdin)
        process = subprocess.Popen(
            command,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, **env},
        )
        try:
            streams = [Stream(pipe, limit, process) for pipe in (process.stdout, process.stderr)]
            for stream in streams:
                stream.join()
            process.wait()
        except BaseException:  # such as the timeout of the program
            process.kill()
            raise
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return code, [bytes(stream.data) for stream in streams], any(stream.exceeded for stream in streams)


def answer(request, files, inline):
    """Returns the outcome of a command. Output that is long is written to files."""
    command = request["command"]
    try:
        code, outputs, exceeded = run(**request)
    except PermissionError:
        return {"forbidden": True}
    except OSError as error:
        missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
        code, exceeded = NOT_FOUND if missing else NOT_EXECUTABLE, False
        outputs = [b"", f"{error.filename or command[0]}: {error.strerror}\n".encode()]
    outcome = {"code": code, "exceeded": exceeded}
    if sum(map(len, outputs)) <= inline:
        return {**outcome, "outputs": [base64.b64encode(output).decode() for output in outputs]}
    for file, output in zip(files, outputs):
        with open(file, "wb") as target:
            target.write(output)
    return {**outcome, "outputs": None}


print("\n" + json.dumps(answer(**json.loads(REQUEST))))
