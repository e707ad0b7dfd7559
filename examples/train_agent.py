"""Plays tasks with an agent of OpenAI's Agents SDK through a gateway, several times each, and rewards every run.

    paddock gateway --policy sglang:http://127.0.0.1:30000 --tokenizer ./Qwen3-8B --out rows.jsonl
    pip install openai-agents
    python3 examples/train_agent.py http://127.0.0.1:8472

The rows of a task have the same group, so that a trainer compares their rewards, as GRPO does.
"""

import asyncio
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

from paddock.gateway import Gateway

TASKS = [
    {"id": "two", "query": "Please add 2 and 3.", "answer": "5"},
    {"id": "six", "query": "Please add 6 and 1.", "answer": "7"},
]
SAMPLES = 4
CONCURRENCY = 16


@function_tool
def add(a: float, b: float) -> float:
    """Adds two numbers."""
    return a + b


async def play(gateway: Gateway, task: dict[str, str], sample: int) -> float:
    """Plays a task once. A run that fails has rows with the status aborted, which a trainer leaves out."""
    with await asyncio.to_thread(gateway.session, task, sample=sample, sampling={"temperature": 1.0}) as session:
        client = AsyncOpenAI(base_url=session.openai_url, api_key=session.key)
        model = OpenAIChatCompletionsModel(model=session.model, openai_client=client)
        agent = Agent(name="adder", instructions="You add. Answer with the sum.", tools=[add], model=model)
        result = await Runner.run(agent, task["query"])
        reward = 1.0 if task["answer"] in result.final_output else 0.0
        await asyncio.to_thread(session.reward, reward)
        return reward


async def main(url: str) -> None:
    set_tracing_disabled(True)
    gateway = Gateway(url)
    slots = asyncio.Semaphore(CONCURRENCY)

    async def limited(task: dict[str, str], sample: int) -> float:
        async with slots:
            return await play(gateway, task, sample)

    runs = [limited(task, sample) for task in TASKS for sample in range(1, SAMPLES + 1)]
    rewards = await asyncio.gather(*runs, return_exceptions=True)
    scored = [reward for reward in rewards if isinstance(reward, float)]
    print(f"{len(scored)} of {len(rewards)} runs ended, mean reward {sum(scored) / max(1, len(scored)):.3f}")


asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8472"))
