"""Plays one task with the agent of a framework, unmodified: `play.py NAME`, with the base URLs and the key in the environment."""
import asyncio
import os
import sys

OPENAI, ANTHROPIC, KEY = (os.environ[name] for name in ("GATEWAY_OPENAI", "GATEWAY_ANTHROPIC", "GATEWAY_KEY"))
QUESTION = "Please add 2 and 3."
DOC = """Adds two numbers.

Args:
    a: The first number.
    b: The second number.
"""


def add(a: float, b: float) -> str:
    return str(a + b)


add.__doc__ = DOC


def openai_agents(api, streamed=False):
    from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool
    from agents import set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    make = OpenAIChatCompletionsModel if api == "chat" else OpenAIResponsesModel
    model = make(model="m", openai_client=AsyncOpenAI(base_url=OPENAI, api_key=KEY))
    agent = Agent(name="adder", instructions="You add.", tools=[function_tool(add)], model=model)

    async def play():
        if not streamed:
            return (await Runner.run(agent, QUESTION)).final_output
        result = Runner.run_streamed(agent, QUESTION)
        async for _ in result.stream_events():
            pass
        return result.final_output

    return asyncio.run(play())


def smolagents(streamed=False):
    from smolagents import LogLevel, OpenAIServerModel, ToolCallingAgent, tool

    model = OpenAIServerModel(model_id="m", api_base=OPENAI, api_key=KEY)
    options = {"stream_outputs": True} if streamed else {}
    agent = ToolCallingAgent(tools=[tool(add)], model=model, verbosity_level=LogLevel.OFF, max_steps=5, **options)
    return agent.run(QUESTION)


def langgraph(api, streamed=False):
    from langchain.agents import create_agent
    from langchain_core.tools import tool

    if api == "messages":
        from langchain_anthropic import ChatAnthropic

        model = ChatAnthropic(model="m", base_url=ANTHROPIC, api_key=KEY, streaming=streamed)
    else:
        from langchain_openai import ChatOpenAI

        use = {"use_responses_api": True} if api == "responses" else {}
        model = ChatOpenAI(model="m", base_url=OPENAI, api_key=KEY, streaming=streamed, **use)
    agent = create_agent(model, [tool(add)], system_prompt="You add.")
    content = agent.invoke({"messages": [("user", QUESTION)]})["messages"][-1].content
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def pydantic_ai(api):
    from pydantic_ai import Agent

    if api == "messages":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        model = AnthropicModel("m", provider=AnthropicProvider(base_url=ANTHROPIC, api_key=KEY))
    else:
        from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
        from pydantic_ai.providers.openai import OpenAIProvider

        make = OpenAIChatModel if api == "chat" else OpenAIResponsesModel
        model = make("m", provider=OpenAIProvider(base_url=OPENAI, api_key=KEY))
    return Agent(model, tools=[add], instructions="You add.").run_sync(QUESTION).output


def mini_swe_agent():
    import subprocess
    import tempfile

    settings = ["mini.yaml", f"model.model_kwargs.api_base={OPENAI}", f"model.model_kwargs.api_key={KEY}"]
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "run.json")
        command = ["-m", "minisweagent.run.mini", "--yolo", "--exit-immediately", "--model", "openai/m"]
        configs = [part for setting in settings for part in ("--config", setting)]
        subprocess.run(
            [sys.executable, *command, "--task", QUESTION, "--cost-limit", "0", "--output", output, *configs],
            cwd=folder,
            env={**os.environ, "MSWEA_COST_TRACKING": "ignore_errors", "MSWEA_GLOBAL_CONFIG_DIR": folder},
            stdin=subprocess.DEVNULL,
            check=True,
        )
        with open(output) as file:
            return file.read()


AGENTS = {
    "openai-agents chat": lambda: openai_agents("chat"),
    "openai-agents chat streamed": lambda: openai_agents("chat", streamed=True),
    "openai-agents responses": lambda: openai_agents("responses"),
    "openai-agents responses streamed": lambda: openai_agents("responses", streamed=True),
    "smolagents": lambda: smolagents(),
    "smolagents streamed": lambda: smolagents(streamed=True),
    "langgraph chat": lambda: langgraph("chat"),
    "langgraph chat streamed": lambda: langgraph("chat", streamed=True),
    "langgraph responses": lambda: langgraph("responses"),
    "langgraph messages": lambda: langgraph("messages"),
    "langgraph messages streamed": lambda: langgraph("messages", streamed=True),
    "pydantic-ai chat": lambda: pydantic_ai("chat"),
    "pydantic-ai responses": lambda: pydantic_ai("responses"),
    "pydantic-ai messages": lambda: pydantic_ai("messages"),
    "mini-swe-agent": lambda: mini_swe_agent(),
}

if __name__ == "__main__":
    print(AGENTS[sys.argv[1]]())
