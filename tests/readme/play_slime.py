"""Calls the reward function of the docs as slime does, with the options of its command."""

import asyncio
import importlib
import sys

from slime.utils.types import Sample

OPTIONS = dict(zip(sys.argv[1:], [*sys.argv[2:], ""]))
right, wrong, odd = Sample("\\boxed{1/2}", "\\frac{1}{2}"), Sample("\\boxed{2}", "3"), Sample("\\boxed{2}", "")


def load(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


async def rewards():
    reward = load(OPTIONS["--custom-rm-path"])
    single = await asyncio.gather(*(reward(None, each, evaluation=False) for each in (right, wrong, odd)))
    return single, await reward(None, [right, wrong])


given = asyncio.run(rewards())
assert given == ([1, 0, 0], [1, 0]), given
assert [each.remove_sample for each in (right, wrong, odd)] == [False, False, True]
assert callable(load(OPTIONS["--custom-generate-function-path"]))
assert "--tool-key" in OPTIONS
print("rewarded")
