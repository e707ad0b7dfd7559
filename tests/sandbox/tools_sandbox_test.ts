import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { z } from "zod";
import { hostTool } from "../../mod/sandbox.ts";
import { withSession } from "./shared_session.ts";
import { limited, traceback, value } from "./started.ts";

const profile = await limited("tools", { hostToolCalls: 100 });

const add = hostTool({
  name: "add",
  description: "Adds two numbers.",
  parameters: z.object({ a: z.number(), b: z.number().default(1) }),
  run: ({ a, b }) => a + b,
});
const echo = hostTool({
  name: "echo",
  description: "",
  parameters: z.object({ it: z.unknown() }),
  run: ({ it }) => it,
});
const fail = hostTool({
  name: "fail",
  description: "",
  parameters: z.object({}),
  run: () => {
    throw new Error("the disk is on fire");
  },
});

Deno.test("paddock.tools calls the host", async (t) => {
  await withSession(async (session) => {
    const exec = (code: string, tools = [add, echo, fail]) =>
      session.exec(`from paddock import tools\n${code}`, { tools });
    await t.step(
      "and waits for the result",
      async () => assertEquals(value(await exec("tools.add(a=1, b=2)")), "3"),
    );
    await t.step(
      "with arguments by place",
      async () => assertEquals(value(await exec("tools.add(1, 2) + tools.add(5)")), "9"),
    );
    await t.step(
      "and awaits",
      async () => assertEquals(value(await exec("await tools.add.call_async(a=1, b=2)")), "3"),
    );
    await t.step("when the program has replaced a function that json uses", async () => {
      const code =
        "import builtins; length = len; builtins.len = lambda value: length(value) + 1\ntools.add(1, 2)";
      assertEquals(value(await exec(code)), "3");
      assertEquals(value(await exec("builtins.len = length\ntools.add(2, 2)")), "4");
    });
    await t.step("with concurrent calls", async () => {
      const code =
        "import asyncio\nawait asyncio.gather(*(tools.add.call_async(i, i) for i in range(50))) == [2 * i for i in range(50)]";
      assertEquals(value(await exec(code)), "True");
    });
    await t.step("with any JSON value", async () => {
      const code =
        `it = {'a': [1, 2.5, None, True, 'ż\\ud800'], '': {}, 'constructor': 1}\ntools.echo(it=it) == it`;
      assertEquals(value(await exec(code)), "True");
    });
    await t.step(
      "with a list of 90,000 numbers",
      async () =>
        assertEquals(
          value(await exec("tools.echo(it=list(range(90_000))) == list(range(90_000))")),
          "True",
        ),
    );
    await t.step(
      "with a text of a megabyte",
      async () => assertEquals(value(await exec("len(tools.echo(it='x' * 1_000_000))")), "1000000"),
    );
    await t.step("and raises the error of the tool", async () => {
      const text = traceback(await exec("tools.fail()"));
      assert(text.endsWith("ToolError: the disk is on fire\n"), text);
      assertEquals(
        value(
          await exec(
            "from paddock import ToolError\ntry:\n    tools.fail()\nexcept ToolError as e:\n    said = str(e)\nsaid",
          ),
        ),
        "'the disk is on fire'",
      );
    });
    await t.step("and raises an error for invalid arguments", async () => {
      assertStringIncludes(
        traceback(await exec("tools.add(a='x')")),
        "ToolError: wrong arguments for 'add': a: ",
      );
      assertStringIncludes(
        traceback(await exec("tools.add(1, 2, 3)")),
        "TypeError: add() takes 2 arguments but 3 were given",
      );
      assertStringIncludes(
        traceback(await exec("tools.echo(it={1, 2})")),
        "TypeError: Object of type set is not JSON serializable",
      );
    });
    await t.step("with the tools of this exec only", async () => {
      const text = traceback(await exec("tools.add(1)", [echo]));
      assert(
        text.endsWith("AttributeError: no host tool 'add' is granted to this block (granted: echo)\n"),
        text,
      );
      await exec("kept = tools.add");
      assertStringIncludes(
        traceback(await session.exec("kept(1)")),
        "no host tool 'add' is granted to this block",
      );
      assertEquals(value(await exec("dir(tools)", [])), "[]");
    });
    await t.step(
      "and tells what each tool is",
      async () =>
        assertEquals(
          value(await exec("tools.add, tools.add.__doc__")),
          "(<host tool add(a, b)>, 'Adds two numbers.')",
        ),
    );
  }, { profile });
});

Deno.test("Session.exec() enforces the budget of host tool calls", async () => {
  await withSession(async (session) => {
    const code = "from paddock import tools\nn = 0\nwhile True:\n    tools.add(1)\n    n += 1";
    const result = await session.exec(code, { tools: [add] });
    assertStringIncludes(
      traceback(result),
      "ToolError: the budget of 100 host tool calls in one block is used up",
    );
    assertEquals(value(await session.exec("n, tools.add(1)", { tools: [add] })), "(100, 2)");
  }, { profile });
});

Deno.test("Session.exec() interrupts a program that waits for a tool, and aborts the tool", async () => {
  const aborted = Promise.withResolvers<void>();
  const slow = hostTool({
    name: "slow",
    description: "",
    parameters: z.object({}),
    run: (_, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          aborted.resolve();
          reject(signal.reason);
        });
      }),
  });
  await withSession(async (session) => {
    for (const call of ["tools.slow()", "await tools.slow.call_async()"]) {
      const result = await session.exec(`kept = 1\nfrom paddock import tools\n${call}`, {
        tools: [slow],
        timeoutMs: 1_000, // the call must have been made by then
      });
      assertEquals([result.status, result.stateKept], ["timeout", true]);
      await aborted.promise;
      assertEquals(value(await session.exec("kept")), "1");
    }
  }, { profile });
});

Deno.test("Session.exec() refuses tools with duplicate names", async () => {
  await withSession(async (session) => {
    await assertRejects(
      () => session.exec("1", { tools: [add, add] }),
      TypeError,
      "Cannot grant host tools as their names must be unique: 'add' occurs more than once",
    );
  }, { profile });
});

Deno.test("Session.exec() reports a tool error that cannot be converted to a string", () =>
  withSession(async (session) => {
    const odd = hostTool({
      name: "odd",
      description: "",
      parameters: z.object({}),
      run: () => {
        throw Object.create(null);
      },
    });
    const result = await session.exec("from paddock import tools\ntools.odd()", { tools: [odd] });
    assert(result.status === "error" && result.error.type === "ToolError");
  }, { profile }));

Deno.test("Session.exec() raises an exception in Python for arguments that a tool cannot have", () =>
  withSession(async (session) => {
    const take = hostTool({
      name: "take",
      description: "",
      parameters: z.object({ x: z.any() }),
      run: () => 1,
    });
    const call = (x: string) =>
      session.exec(`from paddock import tools\n${x}\ntools.take(x=x)`, { tools: [take] });
    const nan = await call("x = float('nan')");
    assert(nan.status === "error" && nan.error.type === "ValueError" && nan.stateKept);
    for (const depth of [200, 5_000, 15_000]) {
      const deep = await call(`x = []\nfor _ in range(${depth}): x = [x]`);
      assert(deep.status === "error" && deep.stateKept, `${depth}: ${deep.status}`);
      assertStringIncludes(deep.error.message, "nested too deep");
    }
    for (const [x, fault] of [["x = [0] * 100_000", "too many values"], ["x = 'x' * 2**24", "bytes"]]) {
      const large = await call(x as string);
      assert(large.status === "error" && large.stateKept, `${x}: ${large.status}`);
      assertStringIncludes(large.error.message, fault as string);
    }
  }, { profile }));

Deno.test("Session.exec() raises an exception in Python for a tool result that is too large", () =>
  withSession(async (session) => {
    const repeat = hostTool({
      name: "repeat",
      description: "",
      parameters: z.object({ self: z.int() }),
      run: ({ self }) => "x".repeat(self),
    });
    const call = (n: number) =>
      session.exec(`from paddock import tools\nlen(tools.repeat(self=${n}))`, { tools: [repeat] });
    const large = await call(70_000_000);
    assert(large.status === "error" && large.stateKept && large.error.type === "ToolError");
    assertStringIncludes(large.error.message, "must have at most");
    const fitting = await call(1_000_000);
    assert(fitting.status === "ok" && fitting.value === "1000000");
  }, { profile }));
