"""Calls every operation with the client that openapi-python-client has generated.

Arguments: the folder with the package `paddock_api` and `calls.json`, the server's URL and the token.
"""

import importlib
import inspect
import json
import pkgutil
import re
import sys
import typing
import urllib.request

folder, url, token = sys.argv[1:]
sys.path.insert(0, folder)
import paddock_api  # noqa: E402
from paddock_api.client import AuthenticatedClient  # noqa: E402

for module in pkgutil.walk_packages(paddock_api.__path__, "paddock_api."):
    importlib.import_module(module.name)

client = AuthenticatedClient(base_url=url, token=token)


def snake(name):
    name = re.sub(r"[^0-9a-zA-Z]+", "_", name)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def post(path, body, headers=None):
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json", **(headers or {})}
    request = urllib.request.Request(url + path, json.dumps(body).encode(), headers, method="POST")
    with urllib.request.urlopen(request) as response:
        return response.headers, response.read()


def open_fixture(fixture):
    headers, text = post(fixture["path"], fixture["body"], fixture.get("headers"))
    place = fixture["id"]
    if "text" in place:
        found = place["text"]
    elif "header" in place:
        found = headers[place["header"]]
    else:
        found = json.loads(text)[place["key"]]
    for request in fixture.get("then", []):
        post(request["path"].replace("{id}", found), request["body"])
    return found


def model_of(function, body):
    """Returns the body as the model that the function takes: the one that has all its keys."""
    wanted = typing.get_type_hints(function)["body"]
    for model in typing.get_args(wanted) or (wanted,):
        if not hasattr(model, "from_dict"):
            continue
        try:
            value = model.from_dict(body)
        except (KeyError, TypeError, ValueError):
            continue
        return value
    raise TypeError(f"no model of {wanted} takes {body}")


def call_operation(call):
    tag = importlib.import_module(f"paddock_api.api.{snake(call['tag'])}.{snake(call['operationId'])}")
    function = tag.sync_detailed if hasattr(tag, "sync_detailed") else None
    arguments = {snake(name): value for name, value in {**call["pathParams"], **call["query"]}.items()}
    if "fixture" in call:
        found = open_fixture(call["fixture"])
        for place in ("idName", "idHeader"):
            if place in call:
                arguments[snake(call[place])] = found
    if "body" in call:
        arguments["body"] = model_of(function, call["body"])
    response = function(client=client, **arguments)
    status = int(response.status_code)
    if status not in call["statuses"]:
        return f"{status} {response.content[:300]!r}"
    is_json = response.headers.get("content-type", "").startswith("application/json")
    if is_json and response.parsed is None and response.content != b"null":
        return f"{status} is not parsed: {response.content[:300]!r}"
    return None


def end_sessions():
    """Ends all sessions, so that there is room for the next call."""
    http = client.get_httpx_client()
    for session in http.get("/v1/sessions").json()["sessions"]:
        http.delete(f"/v1/sessions/{session['id']}")


with open(f"{folder}/calls.json") as file:
    calls = json.load(file)
failures = 0
for call in calls:
    try:
        fault = call_operation(call)
    except Exception as error:  # a client that cannot read the response
        fault = repr(error)
    end_sessions()
    if fault is not None:
        failures += 1
        print(f"{call['operationId']}: {fault}", file=sys.stderr)
print(f"{len(calls) - failures} of {len(calls)} operations respond as described")
sys.exit(failures > 0)
