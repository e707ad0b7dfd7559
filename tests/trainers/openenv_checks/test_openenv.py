"""The client of OpenEnv against a server."""

import os
from typing import Any

from openenv import GenericEnvClient
from recipes import block


def test_the_recipe_of_the_docs() -> None:
    recipe: dict[str, Any] = {}
    exec(block("OpenEnv", "python", page="agents"), recipe)
    assert recipe["result"].observation["stdout"] == "42\n"


def test_a_session_keeps_its_variables_until_the_reset() -> None:
    with GenericEnvClient(base_url=os.environ["PADDOCK_URL"]).sync() as client:
        client.reset()
        client.step({"code": "x = 6"})
        assert client.step({"code": "print(x * 7)"}).observation["stdout"] == "42\n"
        assert "ZeroDivisionError" in client.step({"code": "1 / 0"}).observation["stderr"]
        client.reset()
        assert "NameError" in client.step({"code": "x"}).observation["stderr"]


def test_clients_do_not_share_variables() -> None:
    url = os.environ["PADDOCK_URL"]
    with GenericEnvClient(base_url=url).sync() as first, GenericEnvClient(base_url=url).sync() as second:
        first.reset()
        second.reset()
        first.step({"code": "x = 6"})
        assert "NameError" in second.step({"code": "x"}).observation["stderr"]
