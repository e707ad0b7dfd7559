/**
 * Plays one task with agents of PyPI and npm, unmodified, by the base URL and the key of a session: the rows must have
 * the ids that the model server sampled. The packages are fetched by their lock files.
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { HttpServer } from "../../../src/server/http/http_server.ts";
import { block } from "../../readme/pages.ts";
import { HOME, installLocked } from "../../trainers/environment.ts";
import { requireExact } from "../exact_rows.ts";
import { TempFolder } from "../../temp_folder.ts";
import { type Opened, TestGateway } from "../open_gateway.ts";
import { call, type Script } from "../scripted_model.ts";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

/** Agents of `play.py`, with the number of rows that their turns become: some send back other text than was sampled. */
const AGENTS: Readonly<Record<string, number>> = {
  "openai-agents chat": 1,
  "openai-agents chat streamed": 1,
  "openai-agents responses": 1,
  "openai-agents responses streamed": 1,
  "smolagents": 3,
  "smolagents streamed": 3,
  "langgraph chat": 1,
  "langgraph chat streamed": 1,
  "langgraph responses": 1,
  "langgraph messages": 1,
  "langgraph messages streamed": 1,
  "pydantic-ai chat": 1,
  "pydantic-ai responses": 1,
  "pydantic-ai messages": 1,
  "mini-swe-agent": 1,
};

/** Forms of Vercel's AI SDK. */
const VERCEL = ["responses", "chat", "compatible", "messages"].flatMap((api) => [api, `${api} streamed`]);

/** Coding agents of npm: the folder of the program, and the arguments with which it plays a task. */
const CODING_AGENTS: Readonly<
  Record<
    string,
    { program: string; args: (opened: Opened) => string[]; env: (opened: Opened) => Record<string, string> }
  >
> = {
  "Claude Code": {
    program: "@anthropic-ai/claude-code-linux-x64/claude",
    args: () => ["-p", SHELL_TASK, "--allowedTools", "Bash"],
    env: ({ key, base_urls }) => ({
      ANTHROPIC_API_KEY: key,
      ANTHROPIC_BASE_URL: base_urls.anthropic,
      ANTHROPIC_MODEL: "m",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    }),
  },
  "Codex, whose WebSocket is refused": {
    program: "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
    args: ({ base_urls }) => [
      ...["exec", "--skip-git-repo-check", "-m", "m", "-c", `openai_base_url=${base_urls.openai}`],
      SHELL_TASK,
    ],
    env: ({ key }) => ({ CODEX_API_KEY: key }),
  },
  Codex: {
    program: "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
    args: ({ base_urls }) => [
      ...["exec", "--skip-git-repo-check", "-m", "m", "-c", "model_provider=p"],
      ...["-c", "model_providers.p.name=p", "-c", `model_providers.p.base_url=${base_urls.openai}`],
      ...["-c", "model_providers.p.env_key=GATEWAY_KEY", "-c", "model_providers.p.wire_api=responses"],
      SHELL_TASK,
    ],
    env: ({ key }) => ({ GATEWAY_KEY: key }),
  },
};
const CODING_PACKAGES = ["@anthropic-ai/claude-code@2.1.332", "@openai/codex@0.171.0"];
const SHELL_TASK = "Run echo 5 in a shell.";

/** Calls of a shell in the first turn of a coding agent, by the name of the tool. */
const SHELL_CALLS: Readonly<Record<string, string>> = {
  Bash: '{"command": "echo 5", "description": "Prints 5"}',
  exec_command: '{"cmd": "echo 5"}',
};

/** Writes two calls in two turns, with odd spaces and escapes, and then an answer, as each agent needs it. */
function sample(prompt: string): string {
  const turn = prompt.split("<|im_start|>assistant").length - 1;
  const thought = "<think>\nThe user wants a sum.\n</think>\n\n";
  for (const [name, args] of Object.entries(SHELL_CALLS)) {
    if (prompt.includes(`"name": "${name}"`)) {
      return turn === 1 ? `I run it.\n${call(name, args)}` : "It is 5.";
    }
  }
  if (prompt.includes('"name": "bash"')) {
    const command = turn === 1 ? "echo 5" : "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && echo 5";
    return `I run it.\n${call("bash", JSON.stringify({ command }))}`;
  }
  if (turn < 3) return `${thought}  Let me look.\n${call("add", `{"b": ${turn + 2},  "a":2.0}`)}`;
  return prompt.includes('"name": "final_answer"')
    ? call("final_answer", '{"answer": "5"}')
    : `${thought}It is 5. `;
}

async function withGateway(
  play: (test: TestGateway, opened: Opened) => Promise<void>,
  { script = sample, ...options }: { tokens?: readonly string[]; script?: Script } = {},
): Promise<void> {
  await using test = new TestGateway(script, options);
  await using server = await HttpServer.listen(test.fetch, {
    hostname: "127.0.0.1",
    port: 0,
    onGraceOver: () => Promise.resolve(),
  });
  const opened = await test.open();
  const openai = `http://127.0.0.1:${server.port}/v1`;
  await play(test, { ...opened, base_urls: { openai, anthropic: openai.slice(0, -3) } });
}

/** Runs a program to its end, and returns what it printed. */
async function run(program: string, args: readonly string[], options: Deno.CommandOptions): Promise<string> {
  const command = new Deno.Command(program, { cwd: FOLDER, stdin: "null", ...options, args: [...args] });
  const { code, stdout, stderr } = await command.output();
  const decoder = new TextDecoder();
  assertEquals(code, 0, decoder.decode(stderr) + decoder.decode(stdout));
  return decoder.decode(stdout);
}

function environment({ key, base_urls }: Opened): Record<string, string> {
  return {
    GATEWAY_OPENAI: base_urls.openai,
    GATEWAY_ANTHROPIC: base_urls.anthropic,
    GATEWAY_KEY: key,
    LITELLM_LOCAL_MODEL_COST_MAP: "True",
    MSWEA_SILENT_STARTUP: "1",
    MSWEA_CONFIGURED: "true",
    PYTHONDONTWRITEBYTECODE: "1",
  };
}

/** Ends a session with a reward, and checks that its rows have the sampled ids. */
async function requireRows(test: TestGateway, { id }: Opened, rowCount: number): Promise<void> {
  await test.send(`/v1/gateway/sessions/${id}/reward`, { reward: 1 });
  const rows = await test.rowsOf(id);
  requireExact(rows, test.model.sampled);
  assertEquals(rows.length, rowCount, JSON.stringify(rows.map(({ info, messages }) => [info, messages])));
}

const python = await installLocked(join(HOME, "gateway"), {
  python: "3.11",
  lock: join(FOLDER, "requirements.txt"),
});

for (const [name, rowCount] of Object.entries(AGENTS)) {
  Deno.test(`${name}: the rows have the ids that were sampled`, async () => {
    await withGateway(async (test, opened) => {
      assertStringIncludes(await run(python, ["play.py", name], { env: environment(opened) }), "5");
      await requireRows(test, opened, rowCount);
    });
  });
}

for (const name of VERCEL) {
  Deno.test(`Vercel's AI SDK, ${name}: the row has the ids that were sampled`, async () => {
    await withGateway(async (test, opened) => {
      const args = ["run", "-A", "--no-lock", "--no-check", "--no-config", "vercel.ts", name];
      assertStringIncludes(await run(Deno.execPath(), args, { env: environment(opened) }), "5");
      await requireRows(test, opened, 1);
    });
  });
}

for (const [name, { program, args, env }] of Object.entries(CODING_AGENTS)) {
  Deno.test(`${name}: the row has the ids that were sampled`, async () => {
    const folder = join(HOME, "gateway-npm");
    await Deno.mkdir(folder, { recursive: true });
    await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...CODING_PACKAGES], {
      cwd: folder,
    });
    await using home = await TempFolder.of();
    await withGateway(async (test, opened) => {
      const output = await run(join(folder, "node_modules", program), args(opened), {
        cwd: home.path,
        clearEnv: true,
        env: { PATH: Deno.env.get("PATH") ?? "", HOME: home.path, ...env(opened) },
      });
      assertStringIncludes(output, "5");
      await requireRows(test, opened, 1);
    });
  });
}

Deno.test("docs/gateway.md, Play and reward: the program plays a task and gives its reward", async () => {
  await withGateway(async (test, { base_urls }) => {
    const program = block("Play and reward", "python").replace("http://127.0.0.1:8472", base_urls.anthropic);
    await run(python, ["-c", program], {});
    assertEquals(test.rows.map(({ task_id, reward, status }) => [task_id, reward, status]), [
      ["sum", 1, "completed"],
    ]);
    requireExact(test.rows, test.model.sampled);
  }, { tokens: [] });
});

Deno.test("paddock.gateway of Python drives sessions by httpx", async () => {
  await withGateway(async (test, { base_urls }) => {
    const program = fileURLToPath(new URL("../python_client.py", import.meta.url));
    const env = { PYTHONPATH: fileURLToPath(new URL("../../../packaging/python/", import.meta.url)) };
    assertEquals(await run(python, [program, base_urls.anthropic, ""], { env }), "the client is checked\n");
    assertEquals(test.rows.length, 13);
  }, { tokens: [], script: () => "It is 5." });
});

Deno.test("examples/train_agent.py plays each task several times, with rows of the same group", async () => {
  await withGateway(async (test, { base_urls }) => {
    const program = fileURLToPath(new URL("../../../examples/train_agent.py", import.meta.url));
    const env = { PYTHONPATH: fileURLToPath(new URL("../../../packaging/python/", import.meta.url)) };
    const output = await run(python, [program, base_urls.anthropic], { env });
    assertEquals(output, "8 of 8 runs ended, mean reward 0.500\n"); // the model answers 5 in every chat
    const runs = test.rows.map(({ group, sample, reward }) => `${group} ${sample} ${reward}`).sort();
    assertEquals(
      runs,
      ["six", "two"].flatMap((id) => [1, 2, 3, 4].map((at) => `${id} ${at} ${id === "two" ? 1 : 0}`)),
    );
    requireExact(test.rows, test.model.sampled);
  }, { tokens: [] });
});
