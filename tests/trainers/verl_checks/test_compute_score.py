"""verl's reward function over all formats of test cases, with ``/run_code``."""

import json
import os
import threading
from typing import Any

import pytest
from verl.utils.reward_score import default_compute_score

URL = os.environ["PADDOCK_URL"] + "/run_code"

DOUBLE = "print(int(input()) * 2)"
ADD = "def combine(a, b):\n    return a + b"
METHOD = f"class Solution:\n    def combine(self, a, b):\n        return a + b"
STDIN = {"inputs": ["1\n", "21\n"], "outputs": ["2\n", "42\n"]}
CALL = {"fn_name": "combine", "inputs": ["1\n2", '"a"\n"b"', "[1]\n[2, 3]"], "outputs": ["3", "ab", "[1, 2, 3]"]}
ASSERT = {"assert_case": ["assert combine(1, 2) == 3", "assert combine('a', 'b') == 'ab'"]}
ONE = {"inputs": [""], "outputs": ["ok"]}

CASES: list[tuple[str, str, dict[str, Any], float]] = [
    ("stdin", DOUBLE, STDIN, 1.0),
    ("stdin, half right", "print(2 if input() == '1' else 0)", STDIN, 0.5),
    ("stdin, wrong", "print(input())", STDIN, 0.0),
    ("stdin, read whole", "import sys\nprint(sum(map(int, sys.stdin)) * 2)", STDIN, 1.0),
    ("stdin, lines of sys.stdin.readline", "import sys\nprint(int(sys.stdin.readline()) * 2)", STDIN, 1.0),
    ("stdin, open(0)", "print(int(open(0).read()) * 2)", STDIN, 1.0),
    ("stdin, sys.stdin.buffer", "import sys\nprint(int(sys.stdin.buffer.read()) * 2)", STDIN, 1.0),
    ("function", ADD, CALL, 1.0),
    ("function, wrong for texts", "def combine(a, b):\n    return int(a) + int(b)", CALL, 1 / 3),
    ("function, missing", "def sub(a, b):\n    return a - b", CALL, 0.0),
    ("function with a recursion", "def combine(a, b):\n    return a if not b else combine(a + 1, b - 1)", {**CALL, "inputs": ["5\n400"], "outputs": ["405"]}, 1.0),
    ("Solution", METHOD, CALL, 1.0),
    ("Solution, missing method", "class Solution:\n    pass", CALL, 0.0),
    ("assert_case", ADD, ASSERT, 1.0),
    ("assert_case, half right", "def combine(a, b):\n    return int(a) + int(b)", ASSERT, 0.5),
    ("assert_case, syntax error", "def combine(a, b)\n    return a", ASSERT, 0.0),
    ("end of input", "input()\ninput()\nprint('ok')", ONE, 0.0),
    ("syntax error", "print('ok'", ONE, 0.0),
    ("exception after the output", "print('ok')\nraise ValueError", ONE, 0.0),
    ("exit code 0", "print('ok')\nraise SystemExit(0)", ONE, 1.0),
    ("exit code 1", "print('ok')\nraise SystemExit(1)", ONE, 0.0),
    ("os._exit", "import os\nprint('ok', flush=True)\nos._exit(0)", ONE, 1.0),
    ("infinite recursion", "def f():\n    f()\nf()", ONE, 0.0),
    ("MemoryError", "x = bytearray(1 << 40)", ONE, 0.0),
    ("2 MB in and out", "print(input())", {"inputs": ["a" * 2_000_000], "outputs": ["a" * 2_000_000]}, 1.0),
    ("unicode", "print(input()[::-1])", {"inputs": ["añ𝄞\n"], "outputs": ["𝄞ña"]}, 1.0),
    ("a main guard", "if __name__ == '__main__':\n    print('ok')", ONE, 1.0),
    ("a short sleep", "import time\ntime.sleep(0.2)\nprint('ok')", ONE, 1.0),
]


def score(source: str, program: str, tests: Any) -> float:
    reply = f"The program is:\n```python\n{program}\n```\n"
    semaphore = threading.Semaphore(64)
    options = {"sandbox_fusion_url": URL, "concurrent_semaphore": semaphore, "memory_limit_mb": 1024}
    return default_compute_score(source, reply, tests, **options)


@pytest.mark.parametrize(("program", "tests", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_score_is_that_of_the_format(program: str, tests: dict[str, Any], expected: float) -> None:
    assert score("codecontests", program, json.dumps(tests)) == pytest.approx(expected)


@pytest.mark.parametrize("source", ["codecontests", "apps", "codeforces", "taco"])
def test_each_data_source_is_scored_by_the_server(source: str) -> None:
    assert score(source, DOUBLE, json.dumps(STDIN)) == 1.0


def test_an_endless_loop_is_wrong() -> None:
    assert score("apps", "while True: pass", json.dumps(ONE)) == 0.0


def test_the_memory_limit_is_that_of_the_request() -> None:
    program = "x = bytearray(100 << 20)\nprint('ok')"
    options = {"sandbox_fusion_url": URL, "concurrent_semaphore": threading.Semaphore(1)}
    reply = f"```python\n{program}\n```"
    assert default_compute_score("apps", reply, json.dumps(ONE), memory_limit_mb=64, **options) == 0.0
    assert default_compute_score("apps", reply, json.dumps(ONE), memory_limit_mb=1024, **options) == 1.0
