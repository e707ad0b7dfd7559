import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { delay } from "@std/async";
import { Budgets } from "../../../../src/server/admission/budget.ts";
import { ok } from "../../../fake_pool.ts";
import { type Served, served } from "../../served.ts";
import { withPython } from "../../with_python.ts";

// deno-lint-ignore no-explicit-any
async function execute({ send }: Served, body: object): Promise<any[]> {
  const response = await send("POST", "/execute", body);
  assertEquals(response.headers.get("content-type"), "application/x-ndjson");
  // deno-lint-ignore no-explicit-any
  const lines: any[] = [];
  for (const text of response.body.trimEnd().split("\n")) {
    const { timestamp, ...line } = JSON.parse(text);
    const last = lines.at(-1);
    if (timestamp !== undefined) assertMatch(timestamp, /^\d{4}-\d\d-\d\dT/);
    // the output of a stream may arrive in several pieces
    if (timestamp !== undefined && last?.type === line.type) last.text += line.text;
    else lines.push(line);
  }
  assertEquals(lines.pop(), { type: "end_of_execution" });
  return lines;
}

Deno.test("/execute sends outputs, results and errors as lines, as E2B does", async () => {
  await withPython(async (server) => {
    assertEquals(
      await execute(server, { code: "import sys\nprint('out')\nprint('err', file=sys.stderr)\nx = 41" }),
      [
        { type: "number_of_executions", execution_count: 1 },
        { type: "stdout", text: "out\n" },
        { type: "stderr", text: "err\n" },
      ],
    );
    assertEquals(await execute(server, { code: "x + 1", language: "python" }), [
      { type: "number_of_executions", execution_count: 2 },
      { type: "result", text: "42", is_main_result: true },
    ]);
    const [, error] = await execute(server, { code: "raise ValueError('no')" });
    assertEquals([error.type, error.name, error.value], ["error", "ValueError", "no"]);
    assertStringIncludes(error.traceback, "Traceback (most recent call last):");
    const environ = "import os; os.environ.get('PADDOCK_A')";
    const env_vars = { PADDOCK_A: 'it\'s "α" 😀' };
    assertEquals((await execute(server, { code: environ, env_vars })).at(-1).text, `it\\'s "α" 😀`);
    assertEquals((await execute(server, { code: environ })).length, 1);
    const wrong = await execute(server, { code: "1", env_vars: { "A=B\0": "c" } });
    assertEquals([wrong.length, wrong.at(-1).name], [2, "ValueError"]);
    assertEquals((await execute(server, { code: "raise SystemExit(3)" })).at(-1).name, "SystemExit");
  });
});

Deno.test("/execute joins adjacent output in one line", async () => {
  await using server = served({
    python: (_code, _globals, { onOutput }) => {
      for (const text of ["0", " a\n", "1 a\n"]) onOutput?.("stdout", text);
      return ok("0 a\n1 a\n", { value: "2" });
    },
  });
  const { body } = await server.send("POST", "/execute", { code: "" });
  const lines = body.trimEnd().split("\n").map((line: string) => JSON.parse(line));
  assertEquals(lines.map(({ type, text }: { type: string; text?: string }) => [type, text]), [
    ["number_of_executions", undefined],
    ["stdout", "0 a\n1 a\n"],
    ["result", "2"],
    ["end_of_execution", undefined],
  ]);
});

Deno.test("/execute runs indented cells", async () => {
  await withPython(async (server) => {
    const code = "\n        for n in range(3):\n            print(n, 'a')\n        n\n        ";
    assertEquals(await execute(server, { code }), [
      { type: "number_of_executions", execution_count: 1 },
      { type: "stdout", text: "0 a\n1 a\n2 a\n" },
      { type: "result", text: "2", is_main_result: true },
    ]);
  });
});

Deno.test("/contexts are separate sessions that can be restarted and ended", async () => {
  await withPython(async (server) => {
    const { send } = server;
    const { body: context } = await send("POST", "/contexts", { cwd: "/home/pyodide/work" });
    assertEquals(context, { id: context.id, language: "python", cwd: "/home/pyodide/work" });
    const here = { code: "import os; os.getcwd()", context_id: context.id };
    assertEquals((await execute(server, here)).at(-1).text, "/home/pyodide/work");
    await execute(server, { code: "x = 1", context_id: context.id });
    assertEquals((await execute(server, { code: "x" })).at(-1).name, "NameError");
    assertEquals((await send("GET", "/contexts")).body.length, 2);
    assertEquals((await send("POST", `/contexts/${context.id}/restart`)).body, null);
    assertEquals((await execute(server, { code: "x", context_id: context.id })).at(-1).name, "NameError");
    assertEquals((await execute(server, here)).at(-1).text, "/home/pyodide/work");
    const ended = await send("DELETE", `/contexts/${context.id}`);
    assertEquals([ended.status, ended.body], [200, null]);
    const missing = await send("DELETE", `/contexts/${context.id}`);
    assertEquals([missing.status, missing.body], [404, `Context ${context.id} not found`]);
    assertEquals((await send("POST", "/execute", here)).status, 404);
  });
});

Deno.test("/execute refuses a context with a language, other languages and requests without code", async () => {
  await withPython(async ({ send }) => {
    const both = await send("POST", "/execute", { code: "1", context_id: "a", language: "python" });
    assertEquals(both.status, 400);
    assertEquals(both.body, "Only one of context_id or language can be provided");
    assertEquals((await send("POST", "/execute", { code: "1", language: "r" })).status, 400);
    assertEquals((await send("POST", "/execute", {})).body.detail[0].loc, ["body", "code"]);
    assertEquals((await send("POST", "/contexts", { cwd: "/dev/null/a" })).status, 400);
  });
});

Deno.test("environment variables of concurrent requests are separate", async () => {
  await withPython(async (server) => {
    const one = (value: string) =>
      execute(server, {
        code: "import os, time; time.sleep(0.05); os.environ['PADDOCK_A']",
        env_vars: { PADDOCK_A: value },
      });
    const values = (await Promise.all(["1", "2", "3"].map(one))).map((lines) => lines.at(-1).text);
    assertEquals(values, ["1", "2", "3"]);
  });
});

Deno.test("/execute and streams of /v1 hold a program back whose client does not read, and free its output", async () => {
  const budgets = new Budgets();
  await withPython(async (server) => {
    const { body: { id } } = await server.send("POST", "/v1/sessions", {});
    for (const path of ["/execute", `/v1/sessions/${id}/stream`]) {
      const code = "import sys\nfor _ in range(200_000): print('x' * 9); print('y' * 9, file=sys.stderr)";
      const response = await server.app.request(path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ code }),
      });
      const reader = response.body?.getReader();
      await reader?.read(); // the program has started
      while (budgets.waiting.used() <= 256 * 1024) await delay(5);
      await delay(200); // without backpressure the program would print on
      const used = budgets.waiting.used();
      assert(used < 8 * 1024 * 1024, `${path}: ${used}`);
      await reader?.cancel();
      assertEquals(budgets.waiting.used(), 0);
    }
    const { body } = await server.send("POST", `/v1/sessions/${id}/exec`, { code: "6 * 7" });
    assertEquals([body.status, body.value], ["ok", "42"]);
  }, { budgets });
});
