"""pytest plugin that runs SandboxFusion's own tests against Paddock.

Programs and cells go to Paddock at `PADDOCK_URL`. `/submit` goes there too if the data set is of stdin and stdout, with
the row of the data set in the request. All other requests reach SandboxFusion's server in this process, whose data
sets run their programs at Paddock. For each test, one line of JSON in the file `PADDOCK_REPORT` tells its outcome.
"""

import json
import os
from collections import Counter
from pathlib import Path

import httpx
import pytest

URL = os.environ["PADDOCK_URL"]
SERVED_LANGUAGES = {"python", "pytest", "bash"}
SAMPLES = Path("sandbox/tests/datasets/samples")
STDIO_DATASETS = {"code_contests": "code_eval_code_contests.jsonl"}

requests = Counter()
"""Requests of the running test to Paddock: `served`, or `refused` for their language; `lacking` those without a package."""


def post_to_paddock(path, body):
    """Sends a request to Paddock and counts it for the running test."""
    language = body.get("language") or body.get("config", {}).get("language") or "python"
    requests["served" if language in SERVED_LANGUAGES else "refused"] += 1
    response = httpx.post(URL + path, json=body, timeout=120)
    requests["lacking"] += "ModuleNotFoundError: No module named" in response.text
    return response


async def run_at_paddock(request, endpoint):
    """Runs a program of a data set. It replaces SandboxFusion's own request to another server of programs."""
    from sandbox.server.sandbox_api import RunCodeResponse

    response = post_to_paddock(endpoint.removeprefix(URL), request.model_dump())
    if response.status_code != 200:
        raise RuntimeError(f"Paddock responded with status {response.status_code}: {response.text}")
    return RunCodeResponse(**response.json())


def with_row(body):
    """Returns a body of `/submit` with the row of its data set, or None if the data set is of another kind."""
    file = STDIO_DATASETS.get(body["dataset"])
    if file is None:
        return None
    rows = map(json.loads, (SAMPLES / file).read_text(encoding="utf-8").splitlines())
    row = next(row for row in rows if row["id"] == body["id"])
    data = {"dataset_type": "CommonOJDataset", "provided_data": row}
    return {**body, "config": {**body["config"], **data}}


def pytest_configure(config):
    from fastapi import testclient

    class PaddockClient(testclient.TestClient):
        def request(self, method, url, **options):
            if str(url) in ("/run_code", "/run_jupyter"):
                return post_to_paddock(url, options["json"])
            if str(url) == "/list_datasets":
                requests["served"] += 1
                return httpx.get(URL + url)
            body = with_row(options["json"]) if str(url) == "/submit" else None
            return super().request(method, url, **options) if body is None else post_to_paddock(url, body)

    testclient.TestClient = PaddockClient


@pytest.fixture(autouse=True, scope="session")
def programs_run_at_paddock():
    """Configures SandboxFusion's server, which the tests have imported by now."""
    from tenacity import wait_none

    from sandbox.configs.run_config import RunConfig
    from sandbox.utils import sandbox_client

    datasets = RunConfig.get_instance_sync().dataset
    datasets.cpu_runner_url = datasets.gpu_runner_url = URL + "/run_code"
    sandbox_client.post_run_request = run_at_paddock
    # A language that is refused is refused again.
    sandbox_client.run_code_in_sandbox_w_retry.retry.wait = wait_none()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    requests.clear()
    yield


def pytest_runtest_logreport(report):
    if report.when != "call" and report.passed:
        return
    row = {"name": report.nodeid, "passed": report.passed, **requests}
    with open(os.environ["PADDOCK_REPORT"], "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
