"""Calls of SandboxFusion's own client against Paddock. Prints one line of JSON per call: its name and its error."""

import asyncio
import base64
import json
import os

import sandbox_fusion as client
from sandbox_fusion import RunCodeRequest, RunJupyterRequest, SubmitRequest, SummaryMapping, TestConfig
from sandbox_fusion.models import GetPromptsRequest

client.set_endpoint(os.environ["PADDOCK_URL"] + "/")
SUM = "```python\nprint(sum(map(int, input().split())))\n```"
CASES = [{"input": {"stdin": f"{n} 1"}, "output": {"stdout": f"{n + 1}\n"}} for n in range(5)]
CALLS = []


def call(function):
    CALLS.append(function)
    return function


def run(code, language="python", **options):
    return client.run_code(RunCodeRequest(code=code, language=language, **options), max_attempts=1)


def submission(completion, test=CASES, **config):
    data = {"id": 7, "labels": "{}", "content": "Add.", "test": test}
    fields = {"dataset_type": "CommonOJDataset", "language": "python", "provided_data": data, **config}
    return SubmitRequest(dataset="sums", id=7, completion=completion, config=TestConfig(**fields))


def encode(text):
    return base64.b64encode(text.encode()).decode()


@call
def run_code_prints():
    result = run("print(6 * 7)")
    assert result.status == "Success" and result.run_result.stdout == "42\n", result
    assert result.run_result.return_code == 0 and result.run_result.execution_time > 0, result


@call
def run_code_raises():
    result = run("raise ValueError('no')")
    assert result.status == "Failed" and result.run_result.return_code == 1, result
    assert "ValueError: no" in result.run_result.stderr, result


@call
def run_code_exits():
    result = run("import sys; sys.exit(3)")
    assert result.status == "Failed" and result.run_result.return_code == 3, result


@call
def run_code_times_out():
    result = run("while True: pass", run_timeout=0.5)
    assert result.status == "Failed" and result.run_result.status == "TimeLimitExceeded", result


@call
def run_code_reads_stdin():
    assert run("print(input()[::-1])", stdin="abc").run_result.stdout == "cba\n"


@call
def run_code_without_stdin():
    assert "EOFError" in run("input()").run_result.stderr


@call
def run_code_unicode():
    text = "héllo 你好 🦔"
    assert run("print(input())", stdin=text).run_result.stdout == text + "\n"


@call
def run_code_files():
    result = run(
        "open('out/b.txt', 'w').write(open('in/a.txt').read().upper())",
        files={"in/a.txt": encode("abc"), "out/x": encode(""), "skipped.txt": None},
        fetch_files=["out/b.txt", "missing.txt"],
    )
    assert {name: base64.b64decode(text) for name, text in result.files.items()} == {"out/b.txt": b"ABC"}, result


@call
def run_code_starts_fresh():
    run("import builtins; builtins.left = 1; open('left.txt', 'w').close()")
    result = run("import builtins, os; print(hasattr(builtins, 'left'), os.path.exists('left.txt'))")
    assert result.run_result.stdout == "False False\n", result


@call
def run_code_pytest():
    program = "def test_sum(): assert 1 + 1 == {}"
    assert run(program.format(2), "pytest").status == "Success"
    failed = run(program.format(3), "pytest")
    assert failed.status == "Failed" and "AssertionError" in failed.run_result.stdout, failed


@call
def run_code_bash():
    assert run("for i in 1 2 3; do echo -n $i; done", "bash").run_result.stdout == "123"


@call
def run_code_refuses_a_language():
    try:
        run("int main() {}", "cpp")
    except Exception as error:
        assert "cpp" in str(error), error
    else:
        raise AssertionError("cpp was not refused")


@call
def run_code_async():
    async def both():
        requests = [RunCodeRequest(code=f"print({n})", language="python") for n in range(2)]
        return await asyncio.gather(*map(client.run_code_async, requests))

    assert [result.run_result.stdout for result in asyncio.run(both())] == ["0\n", "1\n"]


@call
def run_code_64_at_once():
    requests = [[RunCodeRequest(code=f"print({n} ** 2)", language="python")] for n in range(64)]
    results = client.run_concurrent(client.run_code, requests, concurrency=64)
    assert [int(result.run_result.stdout) for result in results] == [n**2 for n in range(64)]


@call
def summary():
    mapping = SummaryMapping(RunTimeout="slow", RunFailed="wrong")
    codes = ["1", "1 / 0", "while True: pass"]
    summaries = [client.summary_run_code_result(run(code, run_timeout=1), mapping) for code in codes]
    assert summaries == ["Success", "wrong", "slow"], summaries


@call
def run_jupyter_keeps_state():
    cells = ["a = 'hello'", "a", "import sys; print(a); print('e', file=sys.stderr)", "1 / 0", "print(len(a))"]
    result = client.run_jupyter(RunJupyterRequest(cells=cells))
    assert result.status == "Success" and len(result.cells) == 5, result
    assert result.cells[1].display[0]["text/plain"] == "'hello'", result
    assert (result.cells[2].stdout, result.cells[2].stderr) == ("hello\n", "e\n"), result
    assert result.cells[3].error[0]["ename"] == "ZeroDivisionError" and result.cells[4].stdout == "5\n", result


@call
def run_jupyter_files():
    cells = ["text = open('a.txt').read()", "open('b.txt', 'w').write(text * 2)"]
    request = RunJupyterRequest(cells=cells, files={"a.txt": encode("ab")}, fetch_files=["b.txt"])
    assert base64.b64decode(client.run_jupyter(request).files["b.txt"]) == b"abab"


@call
def run_jupyter_times_out():
    request = RunJupyterRequest(cells=["print(1)", "while True: pass"], total_timeout=1)
    result = client.run_jupyter(request, max_attempts=1)
    assert result.status == "Failed" and result.driver.status == "TimeLimitExceeded", result


@call
def run_jupyter_async():
    result = asyncio.run(client.run_jupyter_async(RunJupyterRequest(cells=["40 + 2"])))
    assert result.cells[0].display[0]["text/plain"] == "42", result


@call
def submit_accepts():
    result = client.submit(submission(SUM))
    assert result.accepted and len(result.tests) == 5 and result.extracted_code.startswith("print("), result
    assert all(test.passed and test.exec_info.status == "Success" for test in result.tests), result


@call
def submit_rejects():
    result = client.submit(submission("```python\nprint(4)\n```", extra={"run_all_cases": True}))
    assert not result.accepted and [test.passed for test in result.tests] == [False] * 3 + [True, False], result


@call
def submit_takes_json_and_times_out():
    slow = "```python\nimport time\ntime.sleep(60)\n```"
    result = client.submit(submission(slow, test=json.dumps(CASES), run_timeout=0.5))
    assert not result.accepted and result.tests[0].exec_info.run_result.status == "TimeLimitExceeded", result


@call
def submit_async():
    assert asyncio.run(client.submit_async(submission(SUM))).accepted


@call
def submit_safe_rejects_an_unknown_dataset_type():
    result = client.submit_safe(submission(SUM, dataset_type="NoDataset"), max_attempts=1)
    assert not result.accepted and result.tests == [], result


@call
def get_prompts_of_provided_data():
    rows = [{"id": 7, "labels": "{}", "content": "Add."}]
    config = TestConfig(dataset_type="CommonOJDataset", language="python", provided_data=rows)
    prompts = client.get_prompts(GetPromptsRequest(dataset="sums", config=config))
    assert [prompt.id for prompt in prompts] == [7] and prompts[0].prompt.startswith("Add."), prompts


for function in CALLS:
    error = None
    try:
        function()
    except Exception as raised:
        error = repr(raised)
    print(json.dumps({"name": function.__name__, "error": error}), flush=True)
