"""Executor of smolagents: programs of a ``CodeAgent`` run in a session, and its tools in this process.

    from paddock.smolagents import PaddockExecutor

    with CodeAgent(tools=[…], model=model, executor=PaddockExecutor()) as agent:
        agent.run("…")
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from importlib.resources import files as package_files
from typing import Any, Callable, Mapping, Optional

from smolagents.local_python_executor import CodeOutput, InterpreterError, PythonExecutor

from . import _values
from .client import Client, ExecResult, Session

__all__ = ["GuestValue", "PaddockExecutor"]

_TTL_SECONDS = 86_400.0
"""Sessions outlive the pauses of a slow model. After ten minutes without use, one ends if another needs its place."""
_MAX_TOOL_SECONDS = 600.0
_MAX_REPR = 10_000
_MAX_OBJECTS = 10_000
_GUEST = "\n".join((package_files("paddock") / name).read_text("utf-8") for name in ("_values.py", "_guest_agent.py"))
_NO_ANSWER = object()


@dataclass(frozen=True)
class GuestValue:
    """A value of a program that cannot leave the sandbox, such as an instance of its own class."""

    type: str
    text: str
    """Its ``repr``, of at most 10,000 characters."""

    def __str__(self) -> str:
        return self.text


class PaddockExecutor(PythonExecutor):
    """Runs the programs of one agent. Variables are kept from step to step, and from run to run.

    Tools run in this process, with arguments that the program chooses. Arguments, results and final answers can have
    the types of JSON, tuples, sets, bytes, complex numbers, dates, times, ``Decimal``, ``Fraction``, arrays of numpy
    and images of PIL. An object of this process arrives as one that only tools can use; one of the program as
    ``GuestValue``.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        *,
        timeout: float = 300.0,
        wait: Optional[float] = None,
        memory_bytes: Optional[int] = None,
    ) -> None:
        """``url`` and ``token`` default to the environment variables ``PADDOCK_URL`` and ``PADDOCK_TOKEN``.

        ``timeout`` is that of a step in seconds, with the calls of its tools. The first step waits for a free session
        for ``wait`` seconds, or without limit.
        """
        url = url or os.environ.get("PADDOCK_URL", "http://127.0.0.1:8471")
        self._client = Client(url, token or os.environ.get("PADDOCK_TOKEN"))
        self._timeout, self._wait, self._memory_bytes = timeout, wait, memory_bytes
        self._session: Optional[Session] = None
        self._tools: dict[str, Callable[..., Any]] = {}
        self._variables: dict[str, Any] = {}
        self._objects: list[Any] = []
        self._is_prepared = False
        self._answer: Any = _NO_ANSWER
        self.state: dict[str, Any] = {"_print_outputs": ""}
        """Has what the last program printed, which smolagents shows to the model after an error."""

    def send_tools(self, tools: Mapping[str, Callable[..., Any]]) -> None:
        """Sets the functions that programs can call: tools and managed agents."""
        self._tools = dict(tools)
        self._is_prepared = False

    def send_variables(self, variables: Mapping[str, Any]) -> None:
        """Sets variables of the programs, such as ``additional_args`` of ``run``."""
        self._variables.update(variables)
        self._is_prepared = False

    def __call__(self, code_action: str) -> CodeOutput:
        """Runs a program. Raises ``InterpreterError`` with its traceback if it fails, and ``PaddockError``."""
        self._answer = _NO_ANSWER
        self.state["_print_outputs"] = ""
        session = self._prepared()
        result = session.exec(code_action, timeout=self._timeout)
        self._is_prepared = result.state_kept
        logs = self.state["_print_outputs"] = result.stdout + result.stderr
        if self._answer is not _NO_ANSWER:
            return CodeOutput(self._answer, logs, True)
        if not result.ok:
            raise InterpreterError(_problem(result, self._timeout))
        output = result.value_json if isinstance(result.value_json, str) else result.value
        return CodeOutput(output, logs, False)

    def cleanup(self) -> None:
        """Ends the session, as ``CodeAgent.cleanup`` does. A later program runs in a new one."""
        session, self._session = self._session, None
        self._is_prepared = False
        if session is not None:
            session.close()

    def call_tool(self, name: str, arguments: str) -> str:
        """Runs a tool for a program, which gets the exceptions of the tool as ``paddock.ToolError``."""
        args, kwargs = _values.decode(json.loads(arguments), self._decode_object)
        value = self._tools[name](*args, **kwargs)
        if name == "final_answer":
            self._answer = value
            return "null"
        return json.dumps(_values.encode(value, self._encode_object))

    def _prepared(self) -> Session:
        """Returns the session, with the tools and variables in it."""
        if self._session is None:
            self._session = self._client.session(
                wait=self._wait,
                ttl=_TTL_SECONDS,
                memory_bytes=self._memory_bytes,
                tools=[self.call_tool],
                tool_timeout=min(self._timeout, _MAX_TOOL_SECONDS),
                metadata={"for": "smolagents"},
            )
        if not self._is_prepared:
            descriptions = {name: str(getattr(tool, "description", "")) for name, tool in self._tools.items()}
            variables = _values.encode(self._variables, self._encode_object)
            request = json.dumps({"descriptions": descriptions, "variables": variables})
            names = f"{{'__name__': 'paddock_agent', 'REQUEST': {request!r}, 'TARGET': globals()}}"
            result = self._session.exec(f"exec({_GUEST!r}, {names})", timeout=self._timeout)
            if not result.ok:
                raise InterpreterError(f"Cannot send tools and variables: {_problem(result, self._timeout)}")
            self._is_prepared = True
        return self._session

    def _encode_object(self, value: Any) -> dict[str, Any]:
        number = next((at for at, known in enumerate(self._objects) if known is value), len(self._objects))
        if number == len(self._objects):
            if number == _MAX_OBJECTS:
                raise ValueError(f"Cannot send object as programs have at most {_MAX_OBJECTS}")
            self._objects.append(value)
        return {"host": [number, type(value).__name__, repr(value)[:_MAX_REPR]]}

    def _decode_object(self, tag: str, data: Any) -> Any:
        if tag == "host" and isinstance(data[0], int) and 0 <= data[0] < len(self._objects):
            return self._objects[data[0]]
        if tag == "repr" and len(data) == 2:
            return GuestValue(str(data[0]), str(data[1]))
        raise ValueError(f"Cannot read value as its tag is unknown: {tag!r}")


def _problem(result: ExecResult, timeout: float) -> str:
    """Returns why a program failed, as a text for the model."""
    lost = "" if result.state_kept else " Its variables are lost."
    if result.status == "error" and result.error:
        return result.error.traceback + lost
    if result.status == "timeout":
        return f"The program did not end within {timeout:g} s, or the CPU time of the profile.{lost}"
    reasons = {"memory": "its memory limit", "output": "its output limit"}
    if result.status in reasons:
        return f"The program was stopped at {reasons[result.status]}.{lost}"
    return f"The program ended the interpreter ({result.status}, exit code {result.exit_code}).{lost}"
