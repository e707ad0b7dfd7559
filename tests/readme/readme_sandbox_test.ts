import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { type CallToolResult, Client } from "@modelcontextprotocol/client";
import type { Trajectory } from "../../mod.ts";
import { ChildTransport } from "../../src/tools/mcp/child_transport.ts";
import { Serving } from "../../bench/serving.ts";
import { CURL, PYTHON } from "../examples/installed.ts";
import { PackageIndex } from "../cli/packages/package_index.ts";
import { FakeServer } from "../policy/fake_server.ts";
import { FakeVllm } from "../policy/fake_vllm.ts";
import { DENO_VERSION } from "../../src/version.ts";
import { copyPlainImage } from "../sandbox/copy_image.ts";
import { tinyTokenizer, tinyTokenizerFiles } from "../tiny_tokenizer.ts";
import { Clone } from "./clone.ts";
import { block, ROOT, SERVED, TEXTS } from "./pages.ts";

const PATH = decodeURIComponent(ROOT.pathname);
const posix = Deno.build.os !== "windows";

// The server serves several tests.
Deno.test.sanitizer({ ops: false, resources: false });
let servingClone: Promise<{ clone: Clone; serving: Serving }> | undefined;

/** Starts the server with the command of the docs on a free port. */
async function startServer(): Promise<{ clone: Clone; serving: Serving }> {
  const clone = await Clone.create();
  const command = block("A server", "sh", "paddock serve").replace("--port 8471", "--port 0");
  return { clone, serving: await Serving.over(clone.start("sh", "-c", `exec ${command}`)) };
}

/** Runs a test with the server, which is started once. `at` puts its port into a block. */
async function whileServed(
  test: (clone: Clone, at: (text: string) => string) => Promise<void>,
): Promise<void> {
  const { clone, serving } = await (servingClone ??= startServer());
  await test(clone, (text) => text.replaceAll(SERVED, new URL(serving.url).host));
}

Deno.test.afterAll(async () => {
  const { clone, serving } = await servingClone ?? {};
  assertEquals((await serving?.end("SIGTERM"))?.code ?? 0, 0);
  await clone?.[Symbol.asyncDispose]();
});

Deno.test({
  name: "README and docs/start.md: the episode and the command run in any folder",
  ignore: !posix,
  async fn() {
    await using clone = await Clone.create();
    await clone.write("episode.ts", block("An episode", "ts"));
    const run = (text: string) =>
      clone.run("sh", "-euc", text.replace(/\/path\/to\/paddock\/(\S+)/, `"${PATH}$1"`));
    assertEquals(await run(block("An episode", "sh")), "");
    assertEquals(await run(block("The command in any folder", "sh")), "42\n");
    await clone.write("fork.ts", block("TypeScript", "ts"));
    assertEquals(
      await clone.run(Deno.execPath(), "run", "-A", "--config", `${PATH}deno.json`, "fork.ts"),
      "'take'\n'take'\n",
    );
  },
});

Deno.test({
  name: "docs/start.md, Packages: a package is added from an index on loopback, and runs",
  ignore: !posix,
  async fn() {
    const decode = "import json as _json\nclass json:\n    decode = staticmethod(_json.loads)\n"; // what the block calls
    await using index = await PackageIndex.serve([
      { name: "msgspec", version: "1.0", files: { "msgspec/__init__.py": decode } },
    ]);
    await using clone = await Clone.create();
    await copyPlainImage(join(clone.path, "cache"));
    const setUp = [
      `export XDG_CONFIG_HOME="$PWD/config" PADDOCK_CACHE_DIR="$PWD/cache"`,
      `paddock() { "$DENO" run -A --quiet "$ROOT/src/cli.ts" "$@"; }`,
      "",
    ].join("\n");
    const commands = block("Packages", "sh").replace("add msgspec", `add msgspec --index ${index.url}`);
    const output = await clone.run("sh", "-euc", setUp + commands);
    assertEquals(output.split("\n").filter((line) => !line.startsWith("Profile ")), [
      "+ msgspec 1.0",
      "[1, 2]",
      "",
    ]);
  },
});

Deno.test({
  name:
    `docs/start.md, A server: curl, an episode over HTTP and the TypeScript client run as written${CURL.note}`,
  ignore: !posix || CURL.missing,
  fn: () =>
    whileServed(async (clone, at) => {
      const { results } = JSON.parse(
        await clone.run("sh", "-euc", at(block("A server", "sh", "exec:batch"))),
      );
      assertEquals(results.map(({ result }: { result: { status: string } }) => result.status), [
        "ok",
        "error",
      ]);
      const played = await clone.run("sh", "-euc", at(block("Episodes", "sh")));
      assertStringIncludes(played, '"reward":1,"terminated":true');
      const typescript = at(block("TypeScript client", "ts"));
      const file = await clone.write("client.ts", typescript);
      const config = `${PATH}deno.json`;
      assertStringIncludes(await clone.run(Deno.execPath(), "run", "-A", "--config", config, file), "2\n");
    }),
});

Deno.test({
  name:
    `README, docs/server.md and docs/trainers.md: the Python client, verl, TRL and slime (stand-ins) run as written${PYTHON.note}`,
  ignore: !posix || PYTHON.missing,
  fn: () =>
    whileServed(async (clone, at) => {
      const first = await clone.write("first.py", at(block("Python", "python", "prices")));
      assertEquals(await clone.run("python3", first), "timeout 12\n");
      const python = await clone.write("program.py", at(block("Python client", "python", "numbers")));
      assertEquals(await clone.run("python3", python), "6\n");
      const asynchronous = await clone.write(
        "asynchronous.py",
        at(block("Python client", "python", "asyncio")),
      );
      assertEquals(await clone.run("python3", asynchronous), "21\n");
      const functions = await clone.write("functions.py", at(block("Functions of the client", "python")));
      assertEquals(await clone.run("python3", functions), "7.5\n");
      assertEquals(await clone.run("sh", "-euc", at(block("verl", "sh", "sandbox_fusion"))), "rewarded\n");
      assertEquals(await clone.run("sh", "-euc", at(block("verl", "sh", "multi_turn"))), "called\n");
      await clone.write("readme_block.py", at(block("TRL", "python")));
      assertEquals(await clone.run("python3", "-m", "play_trl"), "played\n");
      await clone.write("train.py", "import play_slime");
      assertEquals(await clone.run("sh", "-euc", at(block("slime", "sh"))), "rewarded\n");
    }),
});

Deno.test({
  name: "docs/agents.md: an MCP client starts Paddock with the configuration as written",
  ignore: !posix,
  async fn() {
    await using clone = await Clone.create();
    const text = block("MCP", "json", "/path/to/paddock").replace("/path/to/paddock", PATH);
    const { mcpServers: { python: { command, args } } } = JSON.parse(text);
    const client = new Client({ name: "test", version: "1" });
    const program = join(clone.path, "bin", command);
    await client.connect(
      new ChildTransport({ program, args, env: { ...Deno.env.toObject(), ...clone.env } }, undefined),
    );
    try {
      const { tools } = await client.listTools();
      for (const { name } of tools) assertStringIncludes(TEXTS.join(""), `\`${name}\``);
      const call = { name: "run_python_code", arguments: { python_code: "6 * 7" } };
      const { content: [first] } = await client.callTool(call) as CallToolResult;
      assertStringIncludes(first?.type === "text" ? first.text : "", "<return_value>\n42\n");
    } finally {
      await client.close();
    }
  },
});

Deno.test({
  name: "docs/index.md: the commands print what the page shows, apart from times",
  ignore: !posix,
  async fn() {
    await using clone = await Clone.create();
    const run = (text: string) => clone.run("sh", "-euc", text);
    assertEquals(await run(block("Run it", "sh")), "42\n");
    const shown = block("First result", "text");
    const printed = await run(block("First result", "sh"));
    assertEquals(withoutTimes(printed).slice(0, withoutTimes(shown).length), withoutTimes(shown));
  },
});

/** Sorts the rows of a table of episodes, which end in any order, and removes their milliseconds. */
function withoutTimes(text: string): string[] {
  const lines = text.trimEnd().split("\n").map((line) => line.replace(/ +\d+(?= {2}[a-z])/, ""));
  const end = lines.indexOf("");
  return [lines[0] ?? "", ...lines.slice(1, end).sort(), ...lines.slice(end)];
}

Deno.test({
  name: "docs/profiles.md: the command and a profile with a mounted folder work as written",
  ignore: !posix,
  async fn() {
    await using clone = await Clone.create();
    assertEquals(await clone.run("sh", "-euc", block("Profiles", "sh")), "HI\n");
    await clone.write("mine.jsonc", block("Your own profile", "jsonc"));
    await clone.write("data/note.txt", "mounted");
    const command = `npx -y deno@${DENO_VERSION} task paddock exec --profile ./mine.jsonc -e`;
    const program = "print(open('/data/note.txt').read())";
    assertEquals(await clone.run("sh", "-euc", `${command} "${program}"`), "mounted\n");
  },
});

Deno.test({
  name: "README and docs/envs.md: the demo and the rollouts run as written",
  ignore: !posix,
  async fn() {
    await using clone = await Clone.create();
    const run = (text: string) => clone.run("sh", "-euc", text);
    const [answer = "", ...printed] = (await run(block("Paddock", "sh"))).split("\n");
    assertEquals(answer, "42");
    const table = printed.slice(printed.findIndex((line) => line.startsWith("task  "))).join("\n");
    const shown = withoutTimes(block("Paddock", "text"));
    assertEquals(withoutTimes(table).slice(0, shown.length), shown);
    assertStringIncludes(await run(block("Rollouts from a file", "sh", "--tasks")), "mistaken");
    const lines = (await Deno.readTextFile(join(clone.path, "runs/a.jsonl"))).trimEnd().split("\n");
    assertSolved(lines.map((line) => JSON.parse(line)));
    const [own = "", checkout = ""] = block("tau-bench", "sh").split(/(?<!\\)\n(?=.)/);
    assertStringIncludes(checkout, "--path ~/tau-bench"); // it needs a checkout and two models
    assertStringIncludes(await run(own), "mean reward");
  },
});

/** Asserts that all problems of the examples are solved, except the one that fails on purpose. */
function assertSolved(episodes: readonly Trajectory[]): void {
  const rewards = new Map(episodes.map(({ task, reward }) => [task.id, reward]));
  assertEquals(rewards.size, 12);
  assertEquals([...rewards].filter(([, reward]) => reward !== 1), [["mistaken", 0]]);
  const statuses = (id: string) =>
    episodes.find(({ task }) => task.id === id)?.toolResults.map(({ status }) => status);
  assertEquals(
    ["recovers", "forever", "hoarder", "curious", "exits", "shop"].map(statuses),
    [["error", "ok"], ["timeout", "ok"], ["memory", "ok"], ["error", "error", "error", "ok"], [
      "exited",
      "ok",
    ], ["ok", "ok", "ok"]],
  );
}

Deno.test({
  name: "docs/envs.md, Workspace: the example task is played",
  ignore: !posix,
  async fn() {
    await using clone = await Clone.create();
    const [own = "", checkout = ""] = block("Workspace", "sh").split(/(?<!\\)\n(?=.)/);
    assertStringIncludes(checkout, "--task ~/MLGym/"); // it needs a checkout and a model
    assertStringIncludes(await clone.run("sh", "-euc", own), "mean reward");
  },
});

Deno.test({
  name: "docs/rollouts.md, Trees: each task has three continuations",
  ignore: !posix,
  async fn() {
    await using clone = await Clone.create();
    const lines = (await clone.run("sh", "-euc", block("Trees", "sh"))).split("\n");
    const played = lines.map((line) => line.split("  ", 1)[0]);
    for (const name of ["paint", "paint 2@2", "paint 3@2"]) assertEquals(played.includes(name), true, name);
  },
});

Deno.test({
  name: "docs/rollouts.md, Training: the rollout writes training rows (fake model server)",
  ignore: !posix,
  async fn() {
    await using clone = await Clone.create();
    const { tokenizer: model, config } = tinyTokenizerFiles();
    await clone.write("Qwen3-8B/tokenizer.json", JSON.stringify(model));
    await clone.write("Qwen3-8B/tokenizer_config.json", JSON.stringify(config));
    await clone.write("test.jsonl", '{"query":"2+2?","answer":"4"}\n');
    const output_ids = (await tinyTokenizer()).encode("The answer is 4<|im_end|>");
    const output_token_logprobs = output_ids.map((id) => [-0.5, id, null]);
    await using server = new FakeServer(() => {
      const meta_info = { finish_reason: { type: "stop" }, output_token_logprobs };
      return Response.json({ text: "The answer is 4", output_ids, meta_info });
    });
    const command = block("Training", "sh").replace("http://127.0.0.1:30000", server.url);
    await clone.run("sh", "-euc", `${command}\nwait`);
    const lines = (await Deno.readTextFile(join(clone.path, "runs/train.jsonl"))).trimEnd().split("\n");
    assertEquals(lines.length, 8);
  },
});

Deno.test({
  name:
    `docs/rollouts.md, A stream over HTTP: curl and Python read a rollout (fake model server)${CURL.note}`,
  ignore: !posix || CURL.missing || PYTHON.missing,
  async fn() {
    await using clone = await Clone.create();
    const { tokenizer: model, config } = tinyTokenizerFiles();
    await clone.write("Qwen3-8B/tokenizer.json", JSON.stringify(model));
    await clone.write("Qwen3-8B/tokenizer_config.json", JSON.stringify(config));
    const sample = () => "<answer>42</answer><|im_end|>";
    await using server = new FakeVllm({ tokenizer: await tinyTokenizer(), sample });
    const at = (text: string) => text.replace("http://127.0.0.1:30000", server.url);
    const serve = at(block("A stream over HTTP", "sh", "paddock serve")).trimEnd();
    await using serving = await Serving.over(clone.start("sh", "-euc", `exec ${serve} --port 0`));
    const request = at(block("A stream over HTTP", "sh", "curl")).replace(SERVED, new URL(serving.url).host);
    const events = await clone.run("sh", "-euc", request);
    assertEquals([...events.matchAll(/^event: episode\ndata: \{"group":"product","row":/gm)].length, 8);
    assertStringIncludes(events, 'event: end\ndata: {"episodes":8,"stopped":false}');
    const python = await clone.write(
      "stream.py",
      [
        "from paddock import Client",
        `url, policy, batch, version = ${JSON.stringify(serving.url)}, "sglang:${server.url}", [], 1`,
        'tasks = [{"id": "product", "query": "What is 6 times 7?", "answer": "42"}]',
        "train = lambda rows: len(rows) == 8",
        block("A stream over HTTP", "python"),
        "print(len(batch), version)",
      ].join("\n"),
    );
    assertEquals(await clone.run("python3", python), "8 2\n");
  },
});

Deno.test({
  name: "docs/trainers.md, Check a server: the check passes (fake model server)",
  ignore: !posix,
  async fn() {
    await using clone = await Clone.create();
    const { tokenizer: model, config } = tinyTokenizerFiles();
    await clone.write("Qwen3-8B/tokenizer.json", JSON.stringify(model));
    await clone.write("Qwen3-8B/tokenizer_config.json", JSON.stringify(config));
    await using server = new FakeVllm({ tokenizer: await tinyTokenizer(), sample: () => "hello</s>" });
    const command = block("Check a server", "sh").replace("http://127.0.0.1:30000", server.url);
    assertStringIncludes(await clone.run("sh", "-euc", command), "can be trusted");
  },
});
