import { assertEquals, assertStringIncludes } from "@std/assert";
import { withPython } from "../with_python.ts";

Deno.test("/execute_batch runs each script in its own interpreter and returns results in order, as open-r1's router does", async () => {
  await withPython(async ({ send, sessions }) => {
    const scripts = ["print('on')\nx = 1\nx / 2", "x", "while True: pass", "puts 1"];
    const languages = ["python", "python", "python", "ruby"];
    const { body } = await send("POST", "/execute_batch", {
      scripts,
      languages,
      timeout: 1,
      request_timeout: 2,
    });
    const [right, wrong, late, foreign] = body;
    assertEquals(right, {
      execution: {
        results: [{ text: "0.5", is_main_result: true }],
        logs: { stdout: ["on\n"], stderr: [] },
        error: null,
        execution_count: 1,
      },
      exception_str: null,
    });
    assertEquals([wrong.execution.error.name, wrong.execution.results], ["NameError", []]);
    assertEquals(typeof late.execution.error.name, "string");
    assertEquals(foreign, { execution: null, exception_str: "language 'ruby' is not available here" });
    const { status, body: { detail } } = await send("POST", "/execute_batch", { scripts, languages: [] });
    assertEquals(status, 422);
    assertStringIncludes(detail, "4 are required, one per script");
    assertEquals(sessions.directory.list(""), []);
  });
});
