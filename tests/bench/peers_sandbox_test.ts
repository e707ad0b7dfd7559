import { assertEquals } from "@std/assert";
import { findPython } from "../../bench/peers.ts";

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
