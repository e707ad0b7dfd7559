// deno-lint-ignore-file no-console -- an example shows what it does
/** An agent uses a session of the server by the Model Context Protocol: it lists the tools and calls one twice. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { loadProfile, SandboxPool } from "@paddock/paddock/sandbox";
import { PaddockServer } from "@paddock/paddock/server";

await using pool = new SandboxPool({ profile: await loadProfile("serve"), size: 1 });
await using server = new PaddockServer({ pool, maxSessions: 1 });
await using http = Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen() {} },
  (request) => server.fetch(request),
);

const agent = new Client({ name: "agent", version: "1.0.0" });
const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${http.addr.port}/mcp`));
await agent.connect(transport);
const { tools } = await agent.listTools();
console.log("tools:", tools.map(({ name }) => name).join(", "));

// A model would choose these calls. The session keeps its variables between them.
for (const python_code of ["import statistics\nxs = [3, 1, 4, 1, 5]", "statistics.stdev(xs)"]) {
  const { content } = await agent.callTool({ name: "run_python_code", arguments: { python_code } });
  for (const part of content) if (part.type === "text") console.log(part.text);
}
await transport.terminateSession();
await agent.close();
