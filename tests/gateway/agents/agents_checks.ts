/**
 * Plays one task with agents of PyPI and npm, unmodified, by the base URL and the key of a session: the rows must have
 * the ids that the model server sampled. The packages are fetched by their lock files.
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { HttpServer } from "../../../src/server/http/http_server.ts";
import { block } from "../../readme/pages.ts";
import { HOME, installLocked } from "../../trainers/environment.ts";
import { requireExact } from "../exact_rows.ts";
import { type Opened, TestGateway } from "../open_gateway.ts";
import { call } from "../scripted_model.ts";

const FOLDER = new URL(".", import.meta.url).pathname;

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

/** Writes two calls in two turns, with odd spaces and escapes, and then an answer, as each agent needs it. */
function sample(prompt: string): string {
  const turn = prompt.split("<|im_start|>assistant").length - 1;
  const thought = "<think>\nThe user wants a sum.\n</think>\n\n";
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
  options: { tokens?: readonly string[] } = {},
): Promise<void> {
  await using test = new TestGateway(sample, options);
  await using server = await HttpServer.listen(test.fetch, {
    hostname: "127.0.0.1",
    port: 0,
    onGraceOver: () => Promise.resolve(),
  });
  const opened = await test.open();
  const openai = `http://127.0.0.1:${server.port}/v1`;
  await play(test, { ...opened, base_urls: { openai, anthropic: openai.slice(0, -3) } });
}

async function run(program: string, args: readonly string[], { key, base_urls }: Opened): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    cwd: FOLDER,
    env: {
      GATEWAY_OPENAI: base_urls.openai,
      GATEWAY_ANTHROPIC: base_urls.anthropic,
      GATEWAY_KEY: key,
      LITELLM_LOCAL_MODEL_COST_MAP: "True",
      MSWEA_SILENT_STARTUP: "1",
      MSWEA_CONFIGURED: "true",
      PYTHONDONTWRITEBYTECODE: "1",
    },
  }).output();
  const decoder = new TextDecoder();
  assertEquals(code, 0, decoder.decode(stderr) + decoder.decode(stdout));
  return decoder.decode(stdout);
}

const python = await installLocked(join(HOME, "gateway"), {
  python: "3.11",
  lock: join(FOLDER, "requirements.txt"),
});

for (const [name, rowCount] of Object.entries(AGENTS)) {
  Deno.test(`${name}: the rows have the ids that were sampled`, async () => {
    await withGateway(async (test, opened) => {
      assertStringIncludes(await run(python, ["play.py", name], opened), "5");
      await test.send(`/v1/gateway/sessions/${opened.id}/reward`, { reward: 1 });
      const rows = await test.rowsOf(opened.id);
      requireExact(rows, test.model.sampled);
      assertEquals(rows.length, rowCount, JSON.stringify(rows.map(({ info, messages }) => [info, messages])));
    });
  });
}

Deno.test("docs/gateway.md, Play and reward: the program plays a task and gives its reward", async () => {
  await withGateway(async (test, { base_urls }) => {
    const program = block("Play and reward", "python").replace("http://127.0.0.1:8472", base_urls.anthropic);
    const { code, stderr } = await new Deno.Command(python, { args: ["-c", program] }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    assertEquals(test.rows.map(({ task_id, reward, status }) => [task_id, reward, status]), [
      ["sum", 1, "completed"],
    ]);
    requireExact(test.rows, test.model.sampled);
  }, { tokens: [] });
});
