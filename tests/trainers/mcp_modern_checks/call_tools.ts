/** Calls tools of a Python server with Paddock's client: `call_tools.ts PYTHON SERVER CALLS`. Prints texts as JSON. */
import { McpClients } from "../../../mod/tools.ts";

const [command = "", server = "", calls = "[]"] = Deno.args;
await using clients = new McpClients({ servers: { odd: { command, args: [server] } } });
const listed = await clients.tools();
const texts: string[] = [];
for (const [name, args] of JSON.parse(calls) as [string, Record<string, unknown>][]) {
  const context = { signal: AbortSignal.timeout(60_000), callId: name, state: {} };
  const run = async () => String(await clients.find(`odd.${name}`).run(args, context));
  texts.push(await run().catch((error) => `${error.name}: ${error.message}`));
}
const text = JSON.stringify({ names: listed.map(({ name }) => name), texts });
await Deno.stdout.write(new TextEncoder().encode(text));
