"""Replaces verl: reads its options and sends the sandbox the requests of verl's reward function."""

import asyncio
import json
import os
import runpy
import sys
import time
import urllib.error
import urllib.request

OPTIONS = dict(argument.split("=", 1) for argument in sys.argv[1:])
MULTI_TURN = "actor_rollout_ref.rollout.multi_turn."
if MULTI_TURN + "enable" in OPTIONS:
    os.environ["PADDOCK_URL"] = OPTIONS["+ray_kwargs.ray_init.runtime_env.env_vars.PADDOCK_URL"]
    module = runpy.run_path(OPTIONS[MULTI_TURN + "function_tool_path"])
    assert asyncio.run(module["run_python"]("print(6 * 7)")) == "42\n"
    print("called")
    sys.exit()
URL = OPTIONS.pop("reward.sandbox_fusion.url")
assert URL.endswith("/run_code"), "verl needs the whole address"
assert OPTIONS == {}
ATTEMPTS, SECONDS = 3, 2


def run(code, stdin, seconds):
    body = {"compile_timeout": seconds, "run_timeout": seconds, "code": code, "stdin": stdin, "language": "python"}
    body = {**body, "memory_limit_MB": 1024, "files": {}, "fetch_files": []}
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    for attempt in range(1, ATTEMPTS + 1):
        request = urllib.request.Request(URL, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=2 * seconds + 10) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code != 504 or attempt == ATTEMPTS:
                raise
            time.sleep(attempt)


def reward(code, stdin, expected, seconds=SECONDS):
    """True or False, -1 for the sandbox's fault, -2 for an error, -3 for a timeout."""
    answer = run(code, stdin, seconds)
    ran = answer["run_result"]
    if answer["status"] == "SandboxError":
        return -1
    if answer["status"] == "Failed":
        return -3 if ran["status"] == "TimeLimitExceeded" else -2
    assert answer["status"] == "Success" and ran["status"] == "Finished" and ran["return_code"] == 0
    return ran["stdout"].rstrip("\n") == expected


assert reward("print(int(input()) * 2)", "21\n", "42") is True
assert reward("print(int(input()) * 2)", "21\n", "43") is False
assert reward("print(input() + 1)", "21\n", "22") == -2
assert reward("while True: pass", "", "", seconds=0.3) == -3
print("rewarded")
