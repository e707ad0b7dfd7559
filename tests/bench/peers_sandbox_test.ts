import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { countLoops, findPython, PersistentPython, timeChildren } from "../../bench/peers.ts";

Deno.test("findPython() finds the interpreter behind a script that starts it", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const shim = `${folder}/python3`;
    await Deno.writeTextFile(shim, "#!/bin/sh\necho /opt/python/bin/python3\necho 3.12.4\n", { mode: 0o755 });
    assertEquals(await findPython(shim), { executable: "/opt/python/bin/python3", version: "3.12.4" });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("findPython() returns undefined when the command does not exist", async () => {
  assertEquals(await findPython("/no/such/python3"), undefined);
});

Deno.test("findPython() returns undefined when the command fails", async () => {
  assertEquals(await findPython("false"), undefined);
});

Deno.test("PersistentPython keeps globals, and returns output, tracebacks with source lines, and values", async () => {
  const python = await findPython();
  if (!python) return;
  await using peer = new PersistentPython(python.executable);
  assertEquals(await peer.exec("x = 6\nprint(x)"), ["6\n", null]);
  assertEquals(await peer.exec("x * 7"), ["", "42"]);
  const [traceback] = await peer.exec("def f():\n    return 1 / 0\nf()");
  assertStringIncludes(traceback, "    return 1 / 0\n");
  assertStringIncludes(traceback, "ZeroDivisionError: division by zero\n");
});

Deno.test("countLoops() and timeChildren() measure native interpreters", async () => {
  const python = await findPython();
  if (!python) return;
  const rate = await countLoops(python.executable, { code: "sum(range(10))", processes: 2, seconds: 0.1 });
  assert(rate > 0, `${rate}`);
  assert(await timeChildren(python.executable, { code: "print(1)", runs: 3 }) > 0);
});
