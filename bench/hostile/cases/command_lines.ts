import { fileURLToPath } from "node:url";
import { packedGigabyte } from "./bombs.ts";
import type { CommandCase, CommandResult, CommandRun, CommandSetup } from "../case.ts";

const MEGABYTE = 1_000_000;
const ANSWER = "The answer is 4";
const QUERY = "What is 2 + 2?";

/** Time that a reply of 64 blocks of 50 ms may take on a busy machine. */
const REPLY_MS = 40_000;

/** Time limit of a tool call of `rollout`. */
const TOOL_MS = 2_000;
/** Time limit of the program that calls tools; the case checks how long another session waits. */
const FLOOD_MS = 10_000;

/** Files, model servers and MCP servers that lie to the command line. */
export const COMMAND_LINES: readonly CommandCase[] = [
  modelServer(
    "model-choices",
    "S9",
    "a response of 30 MB with ten million empty choices",
    () => new Response(`{"choices":[${"{},".repeat(10 * MEGABYTE)}{}]}`),
  ),
  modelServer(
    "model-depth",
    "S9",
    "a response of 25 MB of open brackets",
    () => new Response(`{"choices":${"[".repeat(25 * MEGABYTE)}`),
  ),
  modelServer("model-endless", "S9", "a response that does not end", () => new Response(endless())),
  modelServer("model-gzip", "S9", "a compressed response that unpacks to a gigabyte", async () => {
    return new Response(await packedGigabyte(), { headers: { "content-encoding": "gzip" } });
  }),
  modelReply(
    "reply-blocks",
    "a reply with 400 blocks that print a megabyte each; `view` must read the run",
    () => block("print('a' * 1_000_000)").repeat(400),
  ),
  modelReply("reply-many-blocks", "a reply with 100,000 blocks", () => block("1").repeat(100_000)),
  modelReply(
    "reply-loops",
    "a reply with 3,000 endless loops",
    () => block("while True: pass").repeat(3_000),
  ),
  {
    name: "yaml-aliases",
    fault: "S13",
    about: "a task of 450 bytes of YAML whose aliases refer to aliases",
    async prepare({ folder, isLying }) {
      const level = (at: number) => `  - &a${at + 1} [${Array<string>(9).fill(`*a${at}`).join(", ")}]`;
      const items = Array.from({ length: isLying ? 9 : 1 }, (_, at) => level(at));
      const text = `id: x\nname: x\ndescription:\n  - &a0 [x]\n${items.join("\n")}\n`;
      await Deno.writeTextFile(`${folder}/task.yaml`, text);
      return cli(["rollout", "--env", "workspace", "--task", `${folder}/task.yaml`], expectRefusal);
    },
  },
  dataset("dataset-lists", "S13", "a compressed row of 20 million lists", () => [
    `{"query":"?","fields":{"a":[${"[],".repeat(10 * MEGABYTE)}`,
    `${"[],".repeat(10 * MEGABYTE)}[]]}}\n`,
  ]),
  dataset(
    "dataset-line",
    "S13",
    "a compressed line of 2 GB",
    () => Array<string>(100).fill("a".repeat(20 * MEGABYTE)),
  ),
  {
    name: "short-token",
    fault: "S18",
    about: "`serve` on all addresses with a token of one character",
    prepare: ({ isLying }) =>
      Promise.resolve(
        cli(["serve", "--host", "0.0.0.0", "--port", "0", ...isLying ? ["--token", "x"] : []], expectRefusal),
      ),
  },
  {
    name: "terminal-escapes",
    fault: "S19",
    about: "an unknown option that would set the title of the terminal",
    prepare({ isLying }) {
      const check = ({ stderr }: CommandResult) =>
        stderr.includes("\x1b") ? "the error has an escape sequence" : undefined;
      return Promise.resolve(cli(["exec", isLying ? "--\x1b]0;title\x07" : "--title"], check));
    },
  },
  {
    name: "shared-cache",
    fault: "S22",
    about: "a cache folder that all users may write to",
    async prepare({ folder, isLying }) {
      await Deno.mkdir(`${folder}/cache`);
      await Deno.chmod(`${folder}/cache`, isLying ? 0o777 : 0o700);
      return cli(
        ["exec", "--eval", "1", ...isLying ? ["--cache-dir", `${folder}/cache`] : []],
        isLying ? expectRefusal : undefined,
      );
    },
  },
  mcpServer("mcp-tools", "S20", "an MCP server with 200,000 tools", "tools"),
  mcpServer("mcp-requests", "S20", "an MCP server that sends 100,000 requests", "requests"),
  mcpServer("mcp-line", "S20", "an MCP server that sends an endless line", "line"),
  {
    ...mcpServer("mcp-silent", "S20", "an MCP server that answers nothing more", "silent"),
    permittedMs: TOOL_MS,
  },
  {
    name: "mcp-stdio-value",
    fault: "S11",
    about: "a list of five million zeros as the value of `paddock mcp`",
    prepare({ isLying }) {
      const call = (id: number, python_code: string) => ({
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: { name: "run_python_code", arguments: { python_code } },
      });
      const params = {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "x", version: "1" },
      };
      const messages = [
        { jsonrpc: "2.0", id: 1, method: "initialize", params },
        { jsonrpc: "2.0", method: "notifications/initialized" },
        call(2, isLying ? "[0]*5_000_000" : "[0]*5"),
      ];
      const stdin = messages.map((message) => `${JSON.stringify(message)}\n`).join("");
      return Promise.resolve({ ...cli(["mcp"]), stdin });
    },
  },
  {
    name: "tool-flood",
    fault: "S15",
    about: "calls of host tools with 350,000 lists; another session of the process waits",
    permittedMs: FLOOD_MS,
    prepare({ root, isLying }) {
      const script = fileURLToPath(new URL("../tool_flood.ts", import.meta.url));
      const args = ["--config", `${root}/deno.json`, script, root, isLying ? "flood" : "honest"];
      const check = ({ stdout }: CommandResult) =>
        Number(stdout) <= 500 ? undefined : `another session waited ${stdout.trim()} ms`;
      return Promise.resolve({ args, check });
    },
  },
];

function cli(args: readonly string[], check?: CommandRun["check"]): CommandRun {
  return { args: ["src/cli.ts", ...args], ...check && { check } };
}

function block(code: string): string {
  return `\`\`\`python\n${code}\n\`\`\`\n`;
}

function endless(): ReadableStream<Uint8Array<ArrayBuffer>> {
  const piece = new TextEncoder().encode("[0],".repeat(250_000));
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      if (sent++ > 4_000) return controller.close(); // the suite is bounded even if the client is not
      controller.enqueue(piece);
    },
  });
}

/** Serves chat completions on loopback: `answer` for the task that lies, an honest reply for the other one. */
function serveModel({ stack }: CommandSetup, answer: () => Response | Promise<Response>): string {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    return (await request.text()).includes("LIE") ? await answer() : completion(ANSWER);
  });
  const stop = new AbortController();
  stack.defer(async () => {
    stop.abort();
    await Promise.race([server.shutdown(), new Promise((resolve) => setTimeout(resolve, 500))]);
  });
  return `http://127.0.0.1:${server.addr.port}`;
}

function completion(content: string): Response {
  const message = { role: "assistant", content };
  return Response.json({ choices: [{ index: 0, message, finish_reason: "stop" }] });
}

/** Plays two episodes, of which one has the lying response. */
async function rollout(setup: CommandSetup, answer: () => Response | Promise<Response>): Promise<string[]> {
  const { folder, isLying } = setup;
  const url = serveModel(setup, answer);
  const tasks = [isLying ? `LIE ${QUERY}` : QUERY, QUERY].map((query) =>
    JSON.stringify({ query, answer: "4" })
  );
  await Deno.writeTextFile(`${folder}/tasks.jsonl`, `${tasks.join("\n")}\n`);
  const server = ["--policy", `openai:${url}`, "--model", "m", "--concurrency", "2", "--max-turns", "2"];
  return ["rollout", "--tasks", `${folder}/tasks.jsonl`, ...server, "--out", `${folder}/out.jsonl`];
}

function modelServer(
  name: string,
  fault: string,
  about: string,
  answer: () => Response | Promise<Response>,
): CommandCase {
  return {
    name,
    fault,
    about,
    prepare: async (setup) => cli(await rollout(setup, answer)),
  };
}

/** The lying episode has a costly reply. The command must end, and `view` must read what it wrote. */
function modelReply(name: string, about: string, reply: () => string): CommandCase {
  return {
    name,
    fault: "S10",
    about,
    permittedMs: REPLY_MS,
    async prepare(setup) {
      const { folder, root } = setup;
      const check = async ({ code }: CommandResult) => {
        if (code !== 0) return `the rollout exited with ${code}`;
        const view = new Deno.Command(Deno.execPath(), {
          args: ["run", "-A", "--quiet", "src/cli.ts", "view", `${folder}/out.jsonl`],
          cwd: root,
        });
        const { code: viewed } = await view.output();
        return viewed === 0 ? undefined : "view cannot read the run";
      };
      const args = await rollout(setup, () => completion(reply()));
      return cli([...args, "--timeout-ms", "50"], check);
    },
  };
}

function dataset(name: string, fault: string, about: string, pieces: () => readonly string[]): CommandCase {
  return {
    name,
    fault,
    about,
    async prepare({ folder, isLying }) {
      const path = `${folder}/tasks.jsonl.gz`;
      const lying = isLying ? new Blob([...pieces()]) : new Blob([`{"query":"?","fields":{"a":[]}}\n`]);
      const file = await Deno.open(path, { write: true, create: true });
      await lying.stream().pipeThrough(new CompressionStream("gzip")).pipeTo(file.writable);
      return cli(["rollout", "--tasks", path, "--env", "chat", "--grader", "none"]);
    },
  };
}

function mcpServer(name: string, fault: string, about: string, lie: string): CommandCase {
  return {
    name,
    fault,
    about,
    async prepare({ folder, isLying }) {
      const script = fileURLToPath(new URL("../lying_mcp_server.ts", import.meta.url));
      const command = {
        command: Deno.execPath(),
        args: ["run", "--quiet", script, isLying ? lie : "honest"],
      };
      await Deno.writeTextFile(`${folder}/mcp.json`, JSON.stringify({ mcpServers: { lying: command } }));
      const row = { query: QUERY, answer: "4", replies: ["<tool>lying_tool0\n{}</tool>", ANSWER] };
      await Deno.writeTextFile(`${folder}/tasks.jsonl`, `${JSON.stringify(row)}\n`);
      return cli([
        "rollout",
        "--tasks",
        `${folder}/tasks.jsonl`,
        "--env",
        "tools",
        "--mcp",
        `${folder}/mcp.json`,
      ]);
    },
  };
}

function expectRefusal({ code }: CommandResult): string | undefined {
  return code !== undefined && code !== 0 ? undefined : `the command exited with ${code}`;
}
