"""Compares answers with math-verify, in a session that runs nothing else. The host writes the rows to stdin."""

import json
import logging
import signal
import sys
import time

from math_verify import parse, verify

logging.disable(logging.CRITICAL)  # math-verify logs each text that it cannot parse

REPEAT_SECONDS = 0.2
"""The limit of a row is raised again after so long, as sympy has places that catch everything."""


class RowLimit(BaseException):
    """A row takes too long. math-verify catches each `Exception`."""


class _Row:
    """Notes limits that the running row has reached, since sympy and math-verify may catch their errors."""

    is_late = False
    is_out_of_memory = False

    def begin(self, seconds):
        self.is_late = self.is_out_of_memory = False
        signal.signal(signal.SIGALRM, self._on_alarm)
        signal.setitimer(signal.ITIMER_REAL, seconds, REPEAT_SECONDS)

    def end(self):
        signal.setitimer(signal.ITIMER_REAL, 0)

    def require_limits(self):
        if self.is_late:
            raise RowLimit
        if self.is_out_of_memory:
            raise MemoryError

    def watch_memory(self):
        sys.monitoring.use_tool_id(sys.monitoring.DEBUGGER_ID, "paddock")
        sys.monitoring.register_callback(sys.monitoring.DEBUGGER_ID, sys.monitoring.events.RAISE, self._on_raise)
        sys.monitoring.set_events(sys.monitoring.DEBUGGER_ID, sys.monitoring.events.RAISE)

    def _on_alarm(self, number, frame):
        self.is_late = True
        raise RowLimit

    def _on_raise(self, code, offset, exception):
        if isinstance(exception, MemoryError):
            self.is_out_of_memory = True


_row = _Row()


def judge(row_seconds, batch_seconds):
    """Writes one line for each row of stdin. Stops early when the time of the batch is over.

    A line is `equal`, `different`, or `gold` if the expected answer cannot be parsed. A row that takes too long
    ends the batch with `RowLimit`, and one that needs too much memory with `MemoryError`.
    """
    end = time.monotonic() + batch_seconds
    for gold, answer in json.loads(sys.stdin.read()):
        print(_judge_within(gold, answer, row_seconds), flush=True)
        if time.monotonic() >= end:
            break


def _judge_within(gold, answer, seconds):
    _row.begin(seconds)
    try:
        verdict = _judge(gold, answer)
    finally:
        _row.end()
    _row.require_limits()
    return verdict


def _judge(gold, answer):
    expected = parse(gold, parsing_timeout=None)
    if not expected:
        return "gold"
    given = parse(answer, parsing_timeout=None)
    return "equal" if verify(expected, given, timeout_seconds=None) else "different"


_WARM_UP = [
    (r"$\frac{1}{2}$", "The answer is 0.5."),
    (r"$x^2+2x+1$", r"\boxed{(x+1)^2}"),
    (r"$\{1,2\}$", r"\boxed{2, 1}"),
    (r"$(1,2)$", r"$\boxed{(1, 2)}$"),
    (r"$x>3$", r"\[3 < x\]"),
    (r"$\begin{pmatrix}1&2\\3&4\end{pmatrix}$", r"$\begin{pmatrix}1&2\\3&4\end{pmatrix}$"),
    (r"$\sqrt{8}$", r"\boxed{2\sqrt{2}}"),
    (r"$2\pi$", "Final Answer: The final answer is $6.283185$. I hope it is correct."),
    (r"$[1,2)$", r"$1\le x<2$"),
    (r"$\sin(x)+\log(2)$", r"$\log(2)+\sin x$"),
    (r"$25\%$", r"$\frac14$"),
    ("5", r"$4$ and $6$"),
]
"""Rows that fill the caches of math-verify, sympy and the parser when the image is built."""

for _gold, _answer in _WARM_UP:
    _judge(_gold, _answer)
_row.watch_memory()
