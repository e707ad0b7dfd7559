"""The client of OpenEnv against a server."""

import os

from openenv import GenericEnvClient


def test_a_session_keeps_its_variables() -> None:
    with GenericEnvClient(base_url=os.environ["PADDOCK_URL"]).sync() as client:
        client.reset()
        client.step({"code": "x = 6"})
        assert client.step({"code": "print(x * 7)"}).observation["stdout"] == "42\n"
        client.reset()
        assert "NameError" in client.step({"code": "x"}).observation["stderr"]
