// deno-lint-ignore-file no-console -- an example shows what it does
/** Runs Python in a sandbox, with a timeout, a host tool and a file. */
import { hostTool } from "@paddock/paddock/sandbox";
import { loadProfile, SandboxPool } from "@paddock/paddock";
import { z } from "zod";

const price = hostTool({
  name: "price",
  description: "The price of a fruit, in cents",
  parameters: z.object({ fruit: z.enum(["apple", "pear"]) }),
  run: ({ fruit }) => ({ apple: 40, pear: 55 })[fruit],
});

await using pool = new SandboxPool({ profile: await loadProfile("tools"), size: 1 });
await using lease = await pool.acquire({ seed: 7 });
const { session } = lease;

const looped = await session.exec("basket = ['apple', 'pear', 'pear']\nwhile True: pass", { timeoutMs: 300 });
console.log(`an endless loop: ${looped.status} after ${Math.round(looped.durationMs)} ms`);
check(looped.status === "timeout" && looped.stateKept);

const total = await session.exec(
  "from paddock import tools\nsum(tools.price(fruit=fruit) for fruit in basket)",
  { tools: [price] },
);
console.log(`three fruits, priced by a host tool: ${total.status === "ok" && total.value} cents`);
check(total.status === "ok" && total.value === "150");

const written = await session.exec("open('receipt.txt', 'w').write('150 cents')", {
  fetchFiles: ["receipt.txt"],
});
const receipt = new TextDecoder().decode(written.files?.["receipt.txt"]);
console.log(`a file written by Python: ${receipt}`);
check(receipt === "150 cents");

const forbidden = await session.exec("open('/etc/passwd')");
console.log(`reading a host file: ${forbidden.status === "error" && forbidden.error.type}`);
check(forbidden.status === "error" && forbidden.error.type === "FileNotFoundError");

function check(holds: boolean): void {
  if (!holds) throw new Error("The example failed: unexpected result");
}
