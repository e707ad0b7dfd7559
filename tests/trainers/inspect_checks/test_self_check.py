"""Inspect's own checks of sandboxes. Those that fail are exceptions of ``suite.json``, each with its reason."""

import pytest
from inspect_ai.util._sandbox import self_check
from inspect_ai.util._sandbox.self_check import *  # noqa: F403

pytestmark = pytest.mark.anyio


def test_count_of_checks() -> None:
    assert len(self_check.__all__) == 44, "Inspect has other checks: see whether the provider needs a change"
