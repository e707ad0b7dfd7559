/**
 * Prints the longest wait, in milliseconds, of a session beside one whose program calls a host tool with large
 * arguments. Arguments: the root of the tree to test, and `flood` or `honest`.
 */
import { z } from "zod";
import type * as Sandbox from "../../mod/sandbox.ts";

const CALLS = 4;
const EXECS = 30;
const [root = ".", mode = "honest"] = Deno.args;
const { loadProfile, SandboxPool }: typeof Sandbox = await import(`${root}/mod.ts`);
const take: Sandbox.HostTool = {
  name: "take",
  description: "Takes anything.",
  parameters: z.looseObject({}),
  run: () => "taken",
};
const FLOOD = `
from paddock import tools
for _ in range(${CALLS}):
    for value in ([[]] * 350_000, {str(at): 0 for at in range(500_000)}):
        try: tools.take(x=value)
        except Exception: pass`;
const HONEST = "from paddock import tools\ntools.take(x=1)";

await using pool = new SandboxPool({ profile: await loadProfile("tools"), size: 2 });
await using busy = await pool.acquire();
await using other = await pool.acquire();
await other.session.exec("1");
let isRunning = true;
const flood = busy.session.exec(mode === "flood" ? FLOOD : HONEST, { tools: [take], timeoutMs: 10_000 })
  .finally(() => isRunning = false);
let longestMs = 0;
for (let count = 0; isRunning || count < EXECS; count++) {
  const startedAt = performance.now();
  await other.session.exec("1 + 1");
  longestMs = Math.max(longestMs, performance.now() - startedAt);
  await new Promise((resolve) => setTimeout(resolve, 10));
}
await flood;
await Deno.stdout.write(new TextEncoder().encode(`${Math.round(longestMs)}\n`));
