"""Calls the reward function of the docs as slime does."""

import asyncio
from types import SimpleNamespace

from readme_block import reward


def sample(response, label):
    return SimpleNamespace(response=response, label=label, remove_sample=False)


right, wrong, odd = sample("\\boxed{1/2}", "\\frac{1}{2}"), sample("\\boxed{2}", "3"), sample("\\boxed{2}", "")


async def rewards():
    return await asyncio.gather(*(reward(None, each, evaluation=False) for each in (right, wrong, odd)))


given = asyncio.run(rewards())
assert given == [1, 0, 0], given
assert [each.remove_sample for each in (right, wrong, odd)] == [False, False, True]
print("rewarded")
