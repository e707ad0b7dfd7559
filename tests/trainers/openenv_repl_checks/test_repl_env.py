"""The client of OpenEnv's repl_env, as its checkout has it, against a server."""

import os
import sys
from typing import Any

sys.path.insert(0, os.path.join(os.environ["CHECKOUT_OPENENV"], "envs", "repl_env"))

from client import REPLEnv  # noqa: E402

CONTEXT = "Hello World " * 10_000


def connect() -> Any:
    return REPLEnv(base_url=os.environ["PADDOCK_URL"]).sync()


def test_an_episode_ends_with_the_expected_answer() -> None:
    with connect() as env:
        start = env.reset(context=CONTEXT, task_prompt="Count chars", expected_answer=str(len(CONTEXT)))
        assert "Context loaded (120000 chars)" in start.observation.result.stdout
        assert (start.observation.context_length, start.observation.context_preview) == (120_000, CONTEXT[:500])
        step = env.execute("count = len(context)")
        assert step.observation.result.locals_snapshot == {"count": "120000"}
        assert (step.done, step.reward, step.observation.iteration) == (False, 0, 1)
        assert env.get_variable("count").observation.result.stdout == "120000"
        assert {"context", "answer", "FINAL", "FINAL_VAR", "SHOW_VARS", "count"} <= set(env.list_variables())
        end = env.execute("print(f'FINAL({count})')")
        assert (end.done, end.reward) == (True, 1)
        state = env.state()
        assert (state.final_answer, state.context, state.task_prompt) == ("120000", CONTEXT, "Count chars")


def test_answers_are_found_as_the_original_finds_them() -> None:
    with connect() as env:
        for code, answer in (
            ("FINAL('a b')", "a b"),
            ("x = (1, 2)\nFINAL_VAR('x')", "(1, 2"),
            ("found = 7\nprint('FINAL_VAR(found)')", "7"),
            ("answer['content'] = 'seven'; answer['ready'] = True", "seven"),
        ):
            env.reset(task_prompt="q")
            assert env.execute(code).done
            assert env.state().final_answer == answer


def test_errors_submissions_and_the_last_step_have_their_rewards() -> None:
    with connect() as env:
        env.reset(expected_answer="Z")
        error = env.execute("1 / 0")
        assert (error.reward, error.observation.result.success) == (-0.05, False)
        assert "ZeroDivisionError" in error.observation.result.stderr
        assert env.submit_final_answer(" z ").reward == 1
        env.reset()
        steps = [env.execute(f"x = {n}") for n in range(30)]
        assert [step.done for step in steps] == [False] * 29 + [True]
        assert (steps[-1].reward, env.state().final_answer) == (-0.1, None)
