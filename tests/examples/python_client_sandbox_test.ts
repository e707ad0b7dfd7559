import { assertEquals } from "@std/assert";
import { Serving } from "../../bench/serving.ts";
import { completion, FakeServer } from "../policy/fake_server.ts";
import { PYTHON } from "./installed.ts";

const CLI = decodeURIComponent(new URL("../../src/cli.ts", import.meta.url).pathname);
const CLIENT = decodeURIComponent(new URL("../../packaging/python/", import.meta.url).pathname);
/** Programs, with the last line of their output. */
const CHECKS = [
  ["client_checks.py", "a response must be an object\n"],
  ["client_tools_checks.py", "tools are checked\n"],
  ["checkpoint_checks.py", "checkpoints are checked\n"],
  ["async_client_checks.py", "the asynchronous client is checked\n"],
] as const;

/** Runs a file of checks, which prints a last line if all have passed. */
async function runChecks(file: string, last: string, env: Record<string, string>) {
  const { success, stdout, stderr } = await new Deno.Command("python3", {
    args: ["-B", "-W", "error", decodeURIComponent(new URL(file, import.meta.url).pathname)],
    env: { PYTHONPATH: CLIENT, ...env },
  }).output();
  const decoder = new TextDecoder();
  return { file, success, isComplete: decoder.decode(stdout).endsWith(last), stderr: decoder.decode(stderr) };
}

function passed(file: string) {
  return { file, success: true, isComplete: true, stderr: "" };
}

Deno.test({
  name: `paddock.Client and AsyncClient of Python drive a real server${PYTHON.note}`,
  ignore: PYTHON.missing,
  async fn() {
    const token = crypto.randomUUID();
    const serving = await Serving.start("--max-sessions", "3", "--queue", "0", "--token", token);
    const env = { PADDOCK_URL: serving.url, PADDOCK_TOKEN: token };
    const ends = [];
    for (const [file, last] of CHECKS) ends.push(await runChecks(file, last, env));
    const { log } = await serving.end("SIGTERM");
    assertEquals(ends, CHECKS.map(([file]) => passed(file)));
    assertEquals(log, "");
  },
});

Deno.test({
  name: `paddock.Client.rollout() of Python reads rollouts of a real server${PYTHON.note}`,
  ignore: PYTHON.missing,
  async fn() {
    await using model = new FakeServer(({ body: { messages: [{ role, content }] } }) => {
      const count = /^count: (.*)$/.exec(content)?.[1];
      const code = "```python\nFINAL(sum(int(llm_query(f'count: {part}')) for part in context))\n```";
      const reply = content.includes("first") ? "1" : "2";
      return completion({
        content: count === undefined ? role === "system" ? code : reply : `${count.length}`,
      });
    });
    const policy = `openai:${model.url}`;
    await using serving = await Serving.start("--rollout-policy", policy, "--rollout-env", "chat", "rlm");
    const env = { PADDOCK_URL: serving.url, POLICY: policy };
    assertEquals(
      await runChecks("rollout_checks.py", "rollouts are checked\n", env),
      passed("rollout_checks.py"),
    );
  },
});

Deno.test({
  name: `paddock.rollout() of Python calls functions of its process${PYTHON.note}`,
  ignore: PYTHON.missing,
  async fn() {
    await using model = new FakeServer(({ body: { messages } }) => {
      const thing = messages.map(({ content }: { content: string }) => /What is (\w+)\?/.exec(content)?.[1])
        .findLast((found: string | undefined) => found !== undefined);
      const { role, content } = messages.at(-1);
      const price = role === "user" && content.startsWith("What") ? undefined : /\d{3}/.exec(content)?.[0];
      return completion({ content: price ?? `<tool>price\n{"thing": "${thing}"}</tool>` });
    });
    const policy = `openai:${model.url}`;
    await using serving = await Serving.start("--rollout-policy", policy, "--rollout-env", "tools", "chat");
    const command = JSON.stringify([Deno.execPath(), "run", "-A", "--quiet", CLI]);
    const env = { PADDOCK_URL: serving.url, POLICY: policy, PADDOCK_COMMAND: command };
    assertEquals(
      await runChecks("rollout_functions_checks.py", "functions of rollouts are checked\n", env),
      passed("rollout_functions_checks.py"),
    );
  },
});

Deno.test({
  name: `paddock.serve() of Python starts a server that ends with its block or its process${PYTHON.note}`,
  ignore: PYTHON.missing,
  async fn() {
    const env = { PADDOCK_COMMAND: JSON.stringify([Deno.execPath(), "run", "-A", "--quiet", CLI]) };
    assertEquals(
      await runChecks("serve_checks.py", "serve() is checked\n", env),
      passed("serve_checks.py"),
    );
  },
});
