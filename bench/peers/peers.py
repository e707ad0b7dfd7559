"""Times other systems that run a model's Python, as their users call them.

The argument is the system's name. Each line of stdin is `{"code", "fresh", "runs"}`: the program, whether each run has
a new interpreter, and how many there are. The answer is a line with the milliseconds of each run, as JSON.
"""

import contextlib
import json
import sys
import time


class Monty:
    def __init__(self):
        from pydantic_monty import Monty

        self.pool = Monty().__enter__()
        self.session = self.pool.checkout().__enter__()

    def warm(self, code):
        self.session.feed_run(code)

    def fresh(self, code):
        with self.pool.checkout() as session:
            session.feed_run(code)


class Smolagents:
    def __init__(self):
        from smolagents.local_python_executor import LocalPythonExecutor

        self.create = lambda: LocalPythonExecutor(additional_authorized_imports=[])
        self.executor = self.create()
        self.executor.send_tools({})

    def warm(self, code):
        self.executor(code)

    def fresh(self, code):
        executor = self.create()
        executor.send_tools({})
        executor(code)


class TorchRl:
    def __init__(self):
        from torchrl.envs.llm.transforms.tools import PersistentPythonProcess

        self.create = lambda: PersistentPythonProcess(timeout=60.0)
        self.process = self.create()

    def warm(self, code):
        check(self.process.execute(code)["success"])

    def fresh(self, code):
        process = self.create()
        check(process.execute(code)["success"])
        process.cleanup()


class Dspy:
    def __init__(self):
        import dspy

        self.create = dspy.PythonInterpreter
        self.interpreter = self.create()

    def warm(self, code):
        self.interpreter.execute(code)

    def fresh(self, code):
        interpreter = self.create()
        interpreter.execute(code)
        interpreter.shutdown()


PEERS = {"pydantic-monty": Monty, "smolagents": Smolagents, "TorchRL": TorchRl, "dspy": Dspy}


def check(is_right):
    if not is_right:
        raise AssertionError("the program failed")


def timed(run, code):
    start = time.perf_counter()
    run(code)
    return (time.perf_counter() - start) * 1000


def main():
    answers, sys.stdout = sys.stdout, sys.stderr  # a system may print
    peer = PEERS[sys.argv[1]]()
    for line in sys.stdin:
        request = json.loads(line)
        run = peer.fresh if request["fresh"] else peer.warm
        with contextlib.redirect_stdout(sys.stderr):
            times = [timed(run, request["code"]) for _ in range(request["runs"])]
        print(json.dumps(times), file=answers, flush=True)


main()
