"""``CodeAgent`` with ``paddock.smolagents.PaddockExecutor``. A model replays the replies of the test."""

from __future__ import annotations

import datetime
import decimal
import fractions
import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image
from recipes import block
from serving import serve
from smolagents import ActionStep, CodeAgent, Tool, tool
from smolagents.models import ChatMessage, MessageRole, Model

from paddock import Client, _values
from paddock.smolagents import GuestValue, PaddockExecutor


class ScriptedModel(Model):
    """Replies with programs in turn, and keeps the messages that it was sent."""

    def __init__(self, *programs: str) -> None:
        super().__init__(model_id="scripted")
        self.programs = iter(programs)
        self.prompts: list[str] = []

    def generate(self, messages: list[Any], *_: Any, **__: Any) -> ChatMessage:
        self.prompts.append(str(messages))
        return ChatMessage(role=MessageRole.ASSISTANT, content=f"<code>\n{next(self.programs)}\n</code>")


@pytest.fixture
def executor() -> Iterator[PaddockExecutor]:
    executor = PaddockExecutor()
    yield executor
    executor.cleanup()
    assert Client(os.environ["PADDOCK_URL"]).sessions({"for": "smolagents"}) == []


@tool
def price(thing: str, count: int = 1) -> float:
    """Returns the price of some things.

    Args:
        thing: Name of the thing.
        count: Number of things.
    """
    return {"tea": 2.5, "cake": 4.0}[thing] * count


def run(executor: PaddockExecutor, *programs: str, **options: Any) -> tuple[Any, list[ActionStep]]:
    arguments = options.pop("additional_args", None)
    agent = CodeAgent(tools=options.pop("tools", []), model=ScriptedModel(*programs), executor=executor, verbosity_level=0, **options)
    answer = agent.run("Go.", additional_args=arguments)
    return answer, [step for step in agent.memory.steps if isinstance(step, ActionStep)]


def test_the_recipe_of_the_docs(tmp_path: Path) -> None:
    (tmp_path / "recipe.py").write_text(block("smolagents", "python", page="agents"))
    model = ScriptedModel("total = price('tea', count=3)\nprint(total)", "final_answer(total + price('cake'))")
    assert runpy.run_path(str(tmp_path / "recipe.py"), {"model": model})["answer"] == 11.5
    assert "7.5" in model.prompts[1]
    assert Client(os.environ["PADDOCK_URL"]).sessions({"for": "smolagents"}) == []


def test_state_errors_and_output_of_steps(executor: PaddockExecutor) -> None:
    answer, steps = run(
        executor,
        "x = 6\nprint('printed')\n'the value'",
        "print('before')\nx / 0",
        "import os\nos._exit(3)",
        "price('beer')",
        "try:\n    price('beer')\nexcept Exception as error:\n    print(type(error).__name__, error)\nx = 7",
        "x * 6",
        "try:\n    final_answer(x * 6)\nexcept Exception:\n    print('caught')\nprint('after')",
        tools=[price],
    )
    observations, errors = [step.observations or "" for step in steps], [step.error for step in steps]
    assert answer == 42
    assert observations[0] == "Execution logs:\nprinted\nLast output from code snippet:\nthe value"
    assert "before" in observations[1] and errors[1] is not None and "ZeroDivisionError" in errors[1].message
    assert errors[2] is not None and "variables are lost" in errors[2].message
    assert errors[3] is not None and "ToolError: KeyError: 'beer'" in errors[3].message
    assert "ToolError KeyError: 'beer'" in observations[4] and errors[4] is None
    assert observations[5].endswith("Last output from code snippet:\n42")
    assert "caught" not in observations[6] and "after" not in observations[6]


def test_a_timeout_ends_a_step_and_keeps_its_variables() -> None:
    executor = PaddockExecutor(timeout=2)
    answer, steps = run(executor, "x = 42\nwhile True: pass", "final_answer(x)")
    assert answer == 42 and steps[0].error is not None and "within 2 s" in steps[0].error.message
    executor.cleanup()


class _Own:
    def __repr__(self) -> str:
        return "own object"


OWN = _Own()
VALUES = [
    None, True, 10**30, -5, 1.5, float("inf"), "é\n😀", b"\x00\xff", bytearray(b"x"), (1, (2,)), [], {}, {1: "a", (2, 3): {"b"}},
    frozenset({1}), 2 + 3j, range(1, 9, 2), datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.timezone.utc),
    datetime.date(2026, 1, 2), datetime.time(1, 2), datetime.timedelta(-1, 5, 7), decimal.Decimal("1.10"),
    fractions.Fraction(1, 3), OWN, [OWN, {"k": OWN}],
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back_equal_and_of_the_same_type(executor: PaddockExecutor, value: Any) -> None:
    """They are sent as ``additional_args``, returned as final answer, and passed to a tool and back."""

    class Same(Tool):
        name, description = "same", "Returns its argument."
        inputs = {"value": {"type": "any", "description": "A value."}}
        output_type = "any"

        def forward(self, value: Any) -> Any:
            return value

    answer, _ = run(executor, "final_answer((value, same(value=value), [same(value=value)][0]))", tools=[Same()], additional_args={"value": value})
    assert answer == (value, value, value)
    assert [type(each) for each in answer] == [type(value)] * 3


def test_values_of_numpy_and_pil(executor: PaddockExecutor) -> None:
    array, image = numpy.arange(6, dtype=">i4").reshape(2, 3), Image.new("RGB", (5, 3), (1, 2, 3))
    executor.send_variables({"number": numpy.float32(1.5)})
    assert executor("number").output == "1.5"
    executor.send_variables({"array": array})
    with pytest.raises(ValueError, match="No module named 'numpy'"):  # the profile has none
        executor("array")

    def refuse(*_: Any) -> Any:
        raise ValueError("the value has no form of its own")

    restored = _values.decode(_values.encode(array, refuse), refuse)
    assert restored.dtype == array.dtype and (restored == array).all()
    assert _values.decode(_values.encode(image, refuse), refuse).tobytes() == image.tobytes()
    for wrong in (["RGB", [100_000, 100_000], "AAAA"], ["P", [1, 1], "AA=="], ["RGB", [-1, 1], ""], ["RGB", 5, ""]):
        with pytest.raises(ValueError):
            _values.decode({"Image": wrong}, refuse)
    for wrong in (["O", [1], "AAAAAAAAAAA="], ["<i4", [10**9], "AAAAAA=="], ["<i4"], "x"):
        with pytest.raises(ValueError):
            _values.decode({"ndarray": wrong}, refuse)


def test_an_object_of_the_program_arrives_as_text(executor: PaddockExecutor) -> None:
    answer, _ = run(executor, "class Point:\n    def __repr__(self): return 'Point(1)'\nfinal_answer([Point(), lambda: 1])")
    assert answer[0] == GuestValue("Point", "Point(1)") and str(answer[0]) == "Point(1)"
    assert answer[1].type == "function"


def test_a_program_cannot_reach_other_objects_or_functions(executor: PaddockExecutor) -> None:
    calls = [
        ("price", '[[{"host": [0, "x", "y"]}], {"dict": []}]'),
        ("price", '[[{"host": [-1, "x", "y"]}], {"dict": []}]'),
        ("price", '[[{"host": ["a"]}], {"dict": []}]'),
        ("price", '[[{"__reduce__": ["os.system"]}], {"dict": []}]'),
        ("price", "[" * 100_000),
        ("price", "1"),
        ("cleanup", '[[], {"dict": []}]'),
        ("__init__", '[[], {"dict": []}]'),
    ]
    executor.send_tools({"price": price})
    for name, arguments in calls:
        with pytest.raises(ValueError, match="ToolError"):
            executor(f"import paddock\npaddock.tools.call_tool(name={name!r}, arguments={arguments!r})")
    assert executor("price('tea')").output == "2.5"


def test_managed_agents_and_a_second_run_share_nothing_but_what_is_sent() -> None:
    with serve("--max-sessions", "2") as url:
        inner_model = ScriptedModel("final_answer(6)")
        inner = CodeAgent(
            tools=[], model=inner_model, executor=PaddockExecutor(url), name="inner", description="Knows six.", verbosity_level=0
        )
        programs = ["found = inner('Six?')\nprint(found)", "final_answer('6' in found)", "final_answer(found[:3])"]
        outer = CodeAgent(tools=[], model=ScriptedModel(*programs), managed_agents=[inner], executor=PaddockExecutor(url), verbosity_level=0)
        assert outer.run("Go.") is True
        assert len(Client(url).sessions({"for": "smolagents"})) == 2
        assert outer.run("Again.", reset=False)
        outer.cleanup()
        inner.cleanup()
        assert Client(url).sessions({"for": "smolagents"}) == []


def test_mypy_accepts_the_executor_in_strict_mode() -> None:
    folder = Path(os.environ["PADDOCK_ROOT"]) / "packaging" / "python"
    untyped = ["--disable-error-code", "import-untyped", "--allow-subclassing-any"]  # smolagents has no types
    options = ["--strict", "--follow-imports", "silent", "--cache-dir", os.devnull, *untyped]
    result = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "paddock/smolagents.py"], cwd=folder, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr
