import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { delay } from "@std/async";
import * as z from "zod";
import {
  ChatEnv,
  loadProfile,
  PythonInterpreter,
  replyAction,
  SandboxPool,
  ToolError,
  ToolTransform,
  TransformedEnv,
} from "../../../mod.ts";
import type { PythonInterpreterOptions } from "../../../mod/transforms.ts";
import { type Tool, tool } from "../../../mod/tools.ts";
import { play } from "./play.ts";

const profile = await loadProfile("tools");

const add = tool({
  name: "add",
  description: "Adds two numbers.",
  parameters: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => a + b,
});

Deno.test("PythonInterpreter grants tools to code", async (t) => {
  await using pool = new SandboxPool({ profile, size: 2, resetMode: "rewind" });

  await t.step("PythonInterpreter lets code call tools, and records each call", async () => {
    const code =
      "from paddock import tools\ntotal = 0\nfor n in range(3): total = tools.add(total, b=n)\nprint(total)";
    const { step, prompt, shown } = await play(pool, code, { tools: [add] });
    assertStringIncludes(shown, "3");
    assertStringIncludes(prompt, "def add(a: float, b: float) -> Any:");
    const [result] = step.toolResults;
    assertEquals(
      result?.calls?.map(({ startMs = -1, durationMs, ...call }) => {
        assert(startMs >= 0 && durationMs >= 0);
        return call;
      }),
      [[0, 0, "0"], [0, 1, "1"], [1, 2, "3"]].map(([a, b, sum], at) => ({
        caller: "code" as const,
        call: at + 1,
        callId: `python-1-1-${at + 1}`,
        tool: "add",
        status: "ok" as const,
        arguments: { a, b },
        result: String(sum),
        truncated: false,
      })),
    );
  });

  await t.step("a failed call raises ToolError in Python, and its record says why", async () => {
    const tools: Tool[] = [
      add,
      tool({
        name: "fail",
        description: "",
        parameters: z.object({}),
        run: () => {
          throw new ToolError("no seat is left");
        },
      }),
      tool({
        name: "slow",
        description: "",
        parameters: z.object({}),
        timeoutMs: 20,
        run: (_, { signal }) => delay(60_000, { signal }),
      }),
    ];
    const code = `from paddock import ToolError, tools
for call in (tools.fail, tools.slow, lambda: tools.add("x", 1)):
    try: call()
    except ToolError as error: print(error)`;
    const { step, shown } = await play(pool, code, { tools });
    assertMatch(shown, /no seat is left\n'slow' gave no result within 20 ms\nwrong arguments for 'add': a: /);
    const calls = step.toolResults[0]?.calls?.map(({ tool, status }) => [tool, status]);
    assertEquals(calls, [["fail", "error"], ["slow", "timeout"]]); // wrong arguments do not leave the sandbox
  });

  await t.step("calls run at the same time by asyncio.gather()", async () => {
    const waiting: (() => void)[] = [];
    const meet = tool({
      name: "meet",
      description: "",
      parameters: z.object({ n: z.int() }),
      run: async ({ n }) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        if (waiting.push(resolve) === 3) waiting.forEach((go) => go());
        await promise;
        return n;
      },
    });
    const code = `import asyncio
from paddock import tools
print(await asyncio.gather(*(tools.meet.call_async(n=n) for n in range(3))))`;
    const { shown } = await play(pool, code, { tools: [meet] });
    assertStringIncludes(shown, "[0, 1, 2]");
  });

  await t.step(
    "tools of code share the state of their episode, and are not offered to the model",
    async () => {
      const count = tool({
        name: "count",
        description: "",
        parameters: z.object({}),
        run: (_, { state }) => (state["count"] = Number(state["count"] ?? 0) + 1),
      });
      const interpreter = new PythonInterpreter({ pool, tools: [count] });
      await using env = new TransformedEnv(new ChatEnv(), [interpreter]);
      const code = "~~~python\nfrom paddock import tools\nprint('count', tools.count())\n~~~";
      for (const id of ["1", "2"]) {
        const { tools = [] } = await env.reset({ id, query: "q" });
        assertEquals(tools, []);
        await env.step(replyAction(code));
        const step = await env.step(replyAction(code));
        assertStringIncludes(String([...step.history.prompt].at(-1)?.content), "count 2");
      }
    },
  );

  await t.step("ToolTransform shares tools and their state with code, as allowedCallers says", async () => {
    const count = (name: string, allowedCallers?: Tool["allowedCallers"]) =>
      tool({
        name,
        description: "",
        parameters: z.object({}),
        allowedCallers,
        run: (_, { state }) => (state["count"] = Number(state["count"] ?? 0) + 1),
      });
    const tools = [count("both", ["model", "code"]), count("hidden", ["code"]), count("plain")];
    const transforms = [new ToolTransform({ tools }), new PythonInterpreter({ pool, tools: [add] })];
    await using env = new TransformedEnv(new ChatEnv(), transforms);
    const observation = await env.reset({ id: "1", query: "q" });
    assertEquals(observation.tools?.map(({ name }) => name), ["both", "plain"]);
    const specs = observation.info?.["codeTools"] as { name: string }[];
    assertEquals(specs.map(({ name }) => name), ["add", "both", "hidden"]);
    await env.step(replyAction("<tool>both\n{}</tool>"));
    const code =
      "from paddock import tools\nprint('count', tools.both(), tools.hidden(), tools.add(1, 2), dir(tools))";
    const [copy] = await env.fork(1);
    for (const each of [env, copy ?? env]) {
      const step = await each.step(replyAction(`~~~python\n${code}\n~~~`));
      assertStringIncludes(
        String([...step.history.prompt].at(-1)?.content),
        "count 2 3 3 ['add', 'both', 'hidden']",
      );
    }
    const last = await env.step(replyAction("<tool>both\n{}</tool>\n<tool>hidden\n{}</tool>"));
    assertEquals(last.toolResults.map(({ tool, status }) => [tool, status]), [["both", "ok"], [
      "hidden",
      "unknown_tool",
    ]]);
    await copy?.[Symbol.asyncDispose]();
  });

  await t.step("PythonInterpreter takes the tools of MCP clients when an episode starts", async () => {
    let starts = 0;
    const mcp = { tools: () => (starts++, Promise.resolve([{ ...add, name: "sums.add-two" }])) };
    await using env = new TransformedEnv(new ChatEnv(), [
      new PythonInterpreter({ pool, mcp, toolNames: "modules" }),
    ]);
    for (const id of ["1", "2"]) {
      await env.reset({ id, query: "q" });
      const step = await env.step(
        replyAction("~~~python\nfrom paddock import sums\nprint(sums.add_two(20, 22))\n~~~"),
      );
      assertStringIncludes(String([...step.history.prompt].at(-1)?.content), "42");
    }
    assertEquals(starts, 2);
  });

  await t.step(
    "a list of callers must have a known one, and the model calls no tool of the interpreter",
    () => {
      const callers = (allowedCallers: unknown) => ({ ...add, allowedCallers }) as Tool;
      for (const wrong of [[], ["me"], "code"]) {
        assertThrows(
          () => new ToolTransform({ tools: [callers(wrong)] }),
          TypeError,
          'must have "model" or "code"',
        );
      }
      const both = callers(["model", "code"]);
      assertThrows(
        () => new PythonInterpreter({ pool, tools: [both] }),
        TypeError,
        "is given to ToolTransform",
      );
    },
  );

  await t.step(
    "the text about tools is added to the system message, is replaced, or is left out",
    async () => {
      const chat = { systemPrompt: "Be brief." };
      const prompts = [undefined, () => "Tools: add", false as const].map(async (describeTools) =>
        (await play(pool, "1", { tools: [add], chat, describeTools })).prompt
      );
      const [standard, own, none] = await Promise.all(prompts);
      assertStringIncludes(standard ?? "", "Be brief.\\n\\nYour Python code can call");
      assertStringIncludes(own ?? "", '"Be brief.\\n\\nTools: add"');
      assertStringIncludes(none ?? "", '"Be brief."');
    },
  );

  await t.step("records of a block are bounded, and its calls go on", async () => {
    const long = tool({
      name: "long",
      description: "",
      parameters: z.object({}),
      run: () => "x".repeat(80_000),
    });
    const code = "from paddock import tools\nprint(sum(len(tools.long()) for _ in range(20)))";
    const { step, shown } = await play(pool, code, { tools: [long] });
    assertStringIncludes(shown, "1600000");
    const calls = step.toolResults[0]?.calls ?? [];
    assertEquals([calls.length, calls[0]?.result?.length, calls[0]?.truncated], [20, 65_536, true]);
    assertEquals(calls.at(-1), { ...calls.at(-1), truncated: true });
    assertEquals("result" in (calls.at(-1) ?? {}), false);
  });
});

Deno.test("an option that a transform does not have is a TypeError with the nearest name", async () => {
  await using pool = new SandboxPool({ profile, size: 1 });
  const options = { pool, timeoutMS: 5 } as unknown as PythonInterpreterOptions;
  assertThrows(
    () => new PythonInterpreter(options),
    TypeError,
    "found [timeoutMS]; the nearest to 'timeoutMS' is 'timeoutMs'",
  );
  const unknown = { tools: [add], timeout: 5 } as unknown as { tools: Tool[] };
  assertThrows(() => new ToolTransform(unknown), TypeError, "the nearest to 'timeout' is 'timeoutMs'");
});
