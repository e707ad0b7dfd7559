import { assertEquals, assertStringIncludes } from "@std/assert";
import { type Served, withPython } from "../served.ts";

function execute({ ask }: Served, body: object, id?: string): ReturnType<Served["ask"]> {
  return ask("POST", "/execute", body, id === undefined ? {} : { "x-session-id": id });
}

Deno.test("/execute keeps the session that X-Session-ID names, as NeMo-Skills does", async () => {
  await withPython(async (server) => {
    const run = async (generated_code: string, more: object = {}) =>
      (await execute(server, { generated_code, language: "ipython", timeout: 10, ...more }, "one")).body;
    assertEquals(await run("x = 20; print('hi')"), {
      ...{ process_status: "completed", stdout: "hi\n", stderr: "", new_session_created: true },
    });
    assertEquals(await run("x + 1"), {
      ...{ process_status: "completed", stdout: "21\n", stderr: "", new_session_created: false },
    });
    const raised = await run("1 / 0");
    assertEquals([raised.process_status, raised.stdout], ["error", ""]);
    assertStringIncludes(raised.stderr, "ZeroDivisionError: division by zero\n");
    assertEquals(
      (await run("1 / 0", { traceback_verbosity: "Minimal" })).stderr,
      "ZeroDivisionError: division by zero\n",
    );
    assertEquals((await run("print('abc')", { max_output_characters: 2 })).stdout, "ab<output cut>");
    const late = await run("while True: pass", { timeout: 0.3 });
    assertEquals([late.process_status, late.stderr], ["timeout", "Timed out\n"]);
    assertEquals((await run("import os; os._exit(1)")).process_status, "error");
    const after = await run("x");
    assertEquals([after.process_status, after.new_session_created], ["error", true]);
    const { body } = await server.ask("GET", "/sessions");
    assertEquals([Object.keys(body.sessions), body.backend], [["one"], "ipython"]);
    assertEquals((await server.ask("DELETE", "/sessions/one")).body, {
      message: "IPython session one deleted successfully",
    });
    const gone = await server.ask("DELETE", "/sessions/one");
    assertEquals([gone.status, gone.body], [404, { error: "IPython session one not found" }]);
    assertEquals((await run("x")).new_session_created, true);
  });
});

Deno.test("/execute runs python by itself, and says what it cannot run", async () => {
  await withPython(async (server) => {
    const python = { generated_code: "print(input())", std_input: "hi", language: "python", timeout: 5 };
    assertEquals((await execute(server, python)).body, {
      ...{ process_status: "completed", stdout: "hi\n", stderr: "", new_session_created: false },
    });
    const shell = await execute(server, { generated_code: "ls", language: "shell", timeout: 5 });
    assertEquals(shell.body.process_status, "error");
    const nameless = await execute(server, { generated_code: "1", timeout: 5 });
    assertEquals([nameless.status, nameless.body], [400, {
      error: "X-Session-ID header required for ipython sessions",
    }]);
    assertEquals((await execute(server, { generated_code: 1 }, "one")).status, 400);
    assertEquals((await server.ask("GET", "/health")).body.status, "healthy");
  });
});
