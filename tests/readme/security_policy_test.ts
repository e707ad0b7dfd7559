import { assertStringIncludes } from "@std/assert";
import * as z from "zod";
import { ROOT } from "./pages.ts";

const lockSchema = z.object({ npm: z.record(z.string(), z.object({ integrity: z.string() })) });

Deno.test("SECURITY.md names the version and the hash of deno-std", async () => {
  const lock = lockSchema.parse(JSON.parse(await Deno.readTextFile(new URL("deno.lock", ROOT))));
  const policy = await Deno.readTextFile(new URL("SECURITY.md", ROOT));
  for (const [name, { integrity }] of Object.entries(lock.npm)) {
    if (!name.startsWith("deno-std@")) continue;
    assertStringIncludes(policy, `\`deno-std\` ${name.slice(name.indexOf("@") + 1)}`);
    assertStringIncludes(policy, integrity);
  }
});
