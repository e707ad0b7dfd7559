import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import * as z from "zod";
import { loadProfile, SandboxPool } from "../../../mod.ts";
import { type Tool, tool, ToolParts } from "../../../mod/tools.ts";
import { play } from "./play.ts";

const profile = await loadProfile("tools");

/** A tool that returns its argument. */
const echo = tool({
  name: "echo",
  description: "",
  parameters: { type: "object", properties: { it: {} }, required: ["it"] },
  run: ({ it }) => it,
});

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Makes a tool without parameters. */
function returning(name: string, run: Tool["run"]): Tool {
  return tool({ name, description: "", parameters: { type: "object" }, run });
}

Deno.test("calls from code keep the values of Python and of the tool", async (t) => {
  await using pool = new SandboxPool({ profile, size: 1, resetMode: "rewind" });

  await t.step(
    "integers beyond 2^53 keep their digits in both directions, and are text in the record",
    async () => {
      const received: unknown[] = [];
      const keep = tool({
        name: "keep",
        description: "",
        parameters: { type: "object", properties: { n: { type: "integer" }, list: { type: "array" } } },
        run: (
          { n, list },
        ) => (received.push(n, list), { next: BigInt(Number(n) === 0 ? 0 : String(n)) + 1n, list }),
      });
      const code = "from paddock import tools\nprint(tools.keep(2**53 + 1, [-2**64, 10**17, 5]))";
      const { step, shown } = await play(pool, code, { tools: [keep] });
      assertStringIncludes(
        shown,
        "{'next': 9007199254740994, 'list': [-18446744073709551616, 100000000000000000, 5]}",
      );
      assertEquals(received, [9007199254740993n, [-(2 ** 64), 1e17, 5]]);
      const [call] = step.toolResults[0]?.calls ?? [];
      assertEquals(call?.arguments, { n: "9007199254740993", list: [String(-(2n ** 64n)), 1e17, 5] });
      JSON.stringify(step.toolResults);
    },
  );

  await t.step(
    "a tool gets its arguments as code wrote them, if JavaScript would change a number",
    async () => {
      const texts: unknown[] = [];
      const note = tool({
        name: "note",
        description: "",
        parameters: { type: "object", properties: { n: {} } },
        run: (_, { argumentsText }) => (texts.push(argumentsText), null),
      });
      await play(pool, "from paddock import tools\nfor n in (50.0, 2**53 + 1, 5): tools.note([n, 'a'])", {
        tools: [note],
      });
      assertEquals(texts, ['{"n":[50.0,"a"]}', '{"n":[9007199254740993,"a"]}', undefined]);
    },
  );

  await t.step("a number that cannot hold an integer is refused, not rounded", async () => {
    const half = tool({
      name: "half",
      description: "",
      parameters: z.object({ n: z.number() }),
      run: ({ n }) => n / 2,
    });
    const code =
      "from paddock import tools, ToolError\nprint(tools.half(10**17))\ntry: tools.half(2**53 + 1)\nexcept ToolError as e: print(e)";
    const { shown } = await play(pool, code, { tools: [half] });
    assertMatch(
      shown,
      /50000000000000000\nwrong arguments for 'half': n: must be a number: found 9007199254740993/,
    );
  });

  await t.step("bytes are base64 where the schema says so, and bytes again in Python", async () => {
    const flip = tool({
      name: "flip",
      description: "",
      parameters: z.object({ data: z.base64() }),
      run: ({ data }) => ({ first: Uint8Array.fromBase64(data).reverse(), size: 3 }),
    });
    const code = "from paddock import tools\nprint(tools.flip(b'\\x00ab'), tools.flip(data='AGFi')['first'])";
    const { step, prompt, shown } = await play(pool, code, { tools: [flip] });
    assertStringIncludes(prompt, "def flip(data: bytes) -> Any:");
    assertStringIncludes(shown, "{'first': b'ba\\x00', 'size': 3} b'ba\\x00'");
    assertEquals(step.toolResults[0]?.calls?.[0]?.media, [[["first"], null]]);
    const wrong = await play(pool, "from paddock import tools\ntools.echo(b'x')", { tools: [echo] });
    assertStringIncludes(wrong.shown, "TypeError: Object of type bytes is not JSON serializable");
  });

  await t.step("an image of a tool is data that display() shows", async () => {
    const plot = returning(
      "plot",
      () => new ToolParts([{ type: "image", mime_type: "image/png", data: PNG }]),
    );
    const code =
      "from paddock import tools\nimage = tools.plot()\nprint(image, image.data[:4])\ndisplay(image)";
    const { step, shown } = await play(pool, code, { tools: [plot] });
    assertStringIncludes(shown, "<media image/png, 70 bytes> b'\\x89PNG'");
    assertEquals(step.toolResults[0]?.exec?.display?.[0]?.["image/png"], PNG);
  });
});

Deno.test("wrong calls from code fail in the sandbox", async (t) => {
  await using pool = new SandboxPool({ profile, size: 1, resetMode: "rewind" });

  await t.step(
    "arguments that do not fit raise with the path of the bad value, and no call leaves the sandbox",
    async () => {
      const book = tool({
        name: "book",
        description: "",
        parameters: z.object({
          seats: z.array(z.object({ row: z.int().min(1), side: z.enum(["left", "right"]) })).max(2),
          note: z.string().optional(),
        }),
        run: () => "booked",
      });
      const seat = "{'row': 1, 'side': 'left'}";
      const code = `from paddock import ToolArgumentError, ToolError, tools
for args, more in (
    ([[${seat}, {'row': 0, 'side': 'left'}]], {}),
    ([[{'row': 1, 'side': 'up'}]], {}),
    ([[{'row': 1.5, 'side': 'left'}]], {}),
    ([[{'side': 'left'}]], {}),
    ([[${seat}] * 3], {}),
    ([], {'note': 'x'}),
    ([[${seat}], 5], {}),
):
    try: tools.book(*args, **more)
    except ToolArgumentError as error: print(isinstance(error, ToolError), error)
print(tools.book([${seat}]))`;
      const { step, shown } = await play(pool, code, { tools: [book] });
      for (
        const reason of [
          "seats.1.row: must be at least 1: found 0",
          "seats.0.side: must be one of 'left', 'right': found 'up'",
          "seats.0.row: must be a whole number: found 1.5",
          "seats.0.row: it is missing",
          "seats: must have at most 2 items: it has 3",
          "seats: it is missing",
          "note: must be a string: found 5",
        ]
      ) assertStringIncludes(shown, `True wrong arguments for 'book': ${reason}\n`);
      assertStringIncludes(shown, "booked");
      assertEquals(step.toolResults[0]?.calls?.length, 1);
    },
  );

  await t.step("an unknown tool is an AttributeError with the nearest name", async () => {
    const code = "from paddock import tools\ntools.ecko(1)";
    const { shown } = await play(pool, code, { tools: [echo] });
    assertStringIncludes(
      shown,
      "AttributeError: no host tool 'ecko' is granted to this block (granted: echo): did you mean 'echo'?",
    );
  });

  await t.step("tools are global functions, or functions of a module for each server", async () => {
    const tools = ["shop.get-item", "shop.buy", "open"].map((name) => returning(name, () => name));
    const functions = await play(pool, "print(open_(), shop_buy())", { tools, toolNames: "functions" });
    assertStringIncludes(functions.shown, "open shop.buy");
    assertStringIncludes(functions.prompt, "as in `shop_get_item(...)`");
    const code =
      "from paddock import shop, tools\nprint(shop.get_item(), shop.buy(), tools.open())\nshop.bye()";
    const modules = await play(pool, code, { tools, toolNames: "modules" });
    assertStringIncludes(modules.shown, "shop.get-item shop.buy open");
    assertStringIncludes(
      modules.shown,
      "AttributeError: no tool of shop 'bye' is granted to this block (granted: buy, get_item): did you mean 'buy'?",
    );
    const without = await play(pool, "from paddock import shop", { tools: [echo] });
    assertStringIncludes(without.shown, "ImportError: cannot import name 'shop'");
  });

  await t.step("threads call tools at the same time", async () => {
    const waiting: (() => void)[] = [];
    const meet = returning("meet", async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      if (waiting.push(resolve) === 3) waiting.forEach((go) => go());
      await promise;
      return "met";
    });
    const code = `from concurrent.futures import ThreadPoolExecutor
from paddock import tools
with ThreadPoolExecutor(3) as pool:
    print(list(pool.map(lambda _: tools.meet(), range(3))))`;
    const { shown } = await play(pool, code, { tools: [meet] });
    assertStringIncludes(shown, "['met', 'met', 'met']");
  });
});

Deno.test("limits of calls from code", async (t) => {
  await using pool = new SandboxPool({ profile, size: 1, resetMode: "rewind" });
  const caught = (call: string, times: number) =>
    `from paddock import ToolError, tools\nfor n in range(${times}):\n    try: print(len(${call}))\n    except ToolError as e: print(e)`;

  await t.step("maxCalls refuses further calls of a block", async () => {
    const { step, shown } = await play(pool, caught("tools.echo('x')", 3), {
      tools: [echo],
      toolLimits: { maxCalls: 2 },
    });
    assertMatch(shown, /1\n1\n'echo' was not run: a block may make 2 calls/);
    assertEquals(step.toolResults[0]?.calls?.map(({ status }) => status), ["ok", "ok", "refused"]);
  });

  await t.step("maxConcurrentCalls lets further calls wait", async () => {
    let running = 0;
    let most = 0;
    const count = returning("count", async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
      return "";
    });
    const code =
      "import asyncio\nfrom paddock import tools\nprint(len(await asyncio.gather(*(tools.count.call_async() for _ in range(20)))))";
    const { shown } = await play(pool, code, { tools: [count], toolLimits: { maxConcurrentCalls: 3 } });
    assertStringIncludes(shown, "20");
    assert(most <= 3, `${most} calls at the same time`);
  });

  await t.step("maxResultBytes refuses larger results, counted in UTF-8", async () => {
    const toolLimits = { maxResultBytes: 32 };
    const { shown } = await play(pool, caught("tools.echo(('x' if n < 1 else 'ä') * 30)", 2), {
      tools: [echo],
      toolLimits,
    });
    assertMatch(shown, /30\nthe result of 'echo' must have at most 32 bytes as JSON: it has 62 or more/);
  });

  await t.step("maxTotalMs ends calls when all together have run for too long", async () => {
    const never = returning(
      "never",
      (_, { signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    );
    const toolLimits = { maxTotalMs: 50 };
    const { step, shown } = await play(pool, caught("tools.never()", 2), { tools: [never], toolLimits });
    assertMatch(
      shown,
      /the calls of a block may run for 50 ms together\n'never' was not run: the calls of a block may run for 50 ms/,
    );
    assertEquals(step.toolResults[0]?.calls?.map(({ status }) => status), ["timeout", "refused"]);
  });
});

Deno.test("hostile tools and programs end in a stated status", async (t) => {
  const limits = { ...profile.limits, hostToolCalls: 100 };
  await using pool = new SandboxPool({ profile: { ...profile, limits }, size: 1, resetMode: "rewind" });
  const statusOf = async (code: string, tools: Tool[], options: { timeoutMs?: number } = {}) => {
    const { step, shown } = await play(pool, `from paddock import ToolError, tools\n${code}`, {
      tools,
      ...options,
    });
    const [result] = step.toolResults;
    return { shown, block: result?.status, calls: result?.calls?.map(({ status }) => status) };
  };

  await t.step("a tool that never answers is interrupted with its block", async () => {
    const never = returning("never", () => new Promise(() => {}));
    const { block, calls } = await statusOf("tools.never()", [never], { timeoutMs: 1_500 });
    assertEquals([block, calls], ["timeout", ["interrupted"]]);
    const pending =
      "import asyncio\ncall = asyncio.ensure_future(tools.never.call_async())\nawait asyncio.sleep(0)";
    const left = await statusOf(pending, [never]);
    assertEquals([left.block, left.calls], ["ok", ["interrupted"]]);
  });

  await t.step("a result of 20 MB is an error, as text and as bytes", async () => {
    const text = returning("text", () => "x".repeat(20_000_000));
    const bytes = returning("bytes", () => new Uint8Array(20_000_000));
    const code =
      "for call in (tools.text, tools.bytes):\n    try: call()\n    except ToolError as e: print(e)";
    const { shown, block, calls } = await statusOf(code, [text, bytes]);
    assertEquals([block, calls], ["ok", ["error", "error"]]);
    assertEquals(shown.match(/must have at most 4194304 bytes as JSON: it has 2\d{7} or more/g)?.length, 2);
  });

  await t.step("what a tool throws need not be an Error", async () => {
    const thrown: unknown[] = [undefined, null, "no seat", { reason: 5 }, Symbol("s"), 10n];
    const odd = returning("odd", () => {
      throw thrown.shift();
    });
    const code = "for _ in range(6):\n    try: tools.odd()\n    except ToolError as e: print(repr(str(e)))";
    const { shown, block, calls } = await statusOf(code, [odd]);
    assertEquals([block, calls], ["ok", Array(6).fill("error")]);
    assertStringIncludes(shown, "no seat");
  });

  await t.step("results that are no JSON are errors", async () => {
    const circle: unknown[] = [];
    circle.push(circle);
    const values: unknown[] = [circle, () => {}, new Map()];
    const odd = returning("odd", () => values.shift());
    const code =
      "for _ in range(3):\n    try: print(tools.odd())\n    except ToolError as e: print('failed')";
    const { shown, calls } = await statusOf(code, [odd]);
    assertMatch(shown, /failed\nNone\n\{\}/);
    assertEquals(calls, ["error", "ok", "ok"]);
  });

  await t.step("a loop of calls ends at the budget of the profile", async () => {
    const code =
      "n = 0\nfor _ in range(50_000):\n    try: n += len(tools.echo('x'))\n    except ToolError as e: reason = e\nprint(n, reason)";
    const { shown, block, calls } = await statusOf(code, [echo]);
    assertEquals([block, calls?.length], ["ok", 100]);
    assertStringIncludes(shown, "100 the budget of 100 host tool calls in one block is used up");
  });
});
