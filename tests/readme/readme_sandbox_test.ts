import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { type CallToolResult, Client } from "@modelcontextprotocol/client";
import { ChildTransport } from "../../src/tools/mcp/child_transport.ts";
import { Serving } from "../../bench/serving.ts";
import { CURL, PYTHON } from "../examples/installed.ts";
import { FakeServer } from "../policy/fake_server.ts";
import { tinyTokenizer, tinyTokenizerFiles } from "../tiny_tokenizer.ts";
import { Clone } from "./clone.ts";
import { readmeBlocks } from "./readme_blocks.ts";

const ROOT = new URL("../../", import.meta.url);
const PATH = decodeURIComponent(ROOT.pathname);
const README = await Deno.readTextFile(new URL("README.md", ROOT));
/** The READMEs whose blocks are run here; those of `examples` have tests of their own. */
const FOLDERS = ["src/", "src/rollout/", "src/envs/", "src/server/", "src/cli/", "bench/"];
const DEEPER = await Promise.all(
  FOLDERS.map((folder) => Deno.readTextFile(new URL(`${folder}README.md`, ROOT))),
);
/** Their blocks that are no TypeScript which `deno test --doc` runs, and which is not run here as well. */
const BLOCKS = [README, ...DEEPER].flatMap(readmeBlocks).filter(({ language, section }) =>
  language !== "ts" || section === "Serve" || section === "An episode"
);
const SERVED = "127.0.0.1:8471";
const posix = Deno.build.os !== "windows";

/** The only block of a section in a language, or the one of them that holds a text. */
function block(section: string, language: string, holds = ""): string {
  const found = BLOCKS.filter((block) =>
    block.section === section && block.language === language && block.text.includes(holds)
  );
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new Error(`Cannot find one block of ${language} in '${section}': there are ${found.length}`);
  }
  return only.text;
}

/** Starts the server as the README says, on a port that is free, and gives the README's blocks with that port. */
async function whileServed(
  test: (clone: Clone, at: (text: string) => string) => Promise<void>,
): Promise<void> {
  await using clone = await Clone.create();
  const command = block("Serve", "sh", "paddock serve").replace("--port 8471", "--port 0");
  const serving = await Serving.over(clone.start("sh", "-c", `exec ${command}`));
  try {
    await test(clone, (text) => text.replaceAll(SERVED, new URL(serving.url).host));
  } finally {
    assertEquals((await serving.end("SIGTERM")).code, 0);
  }
}

Deno.test("no README has a block that no test runs", () => {
  assertEquals(BLOCKS.map(({ section, language }) => `${section}: ${language}`), [
    "Paddock: sh",
    "An episode: ts",
    "An episode: sh",
    "Tasks in, rewards out: sh",
    "Command line: sh",
    "Serve: sh",
    "Serve: sh",
    "Serve: ts",
    "Serve: python",
    ...["verl: sh", "TRL: python", "slime: python", "MCP: json"].map((name) =>
      `Plug in your trainer: ${name.split(": ")[1]}`
    ),
    "Graders at the edge: sh", // tests/server/edge runs it
    "Training: sh",
    "tau-bench: sh",
    "Workspace: sh",
    "Episodes: sh",
  ]);
});

Deno.test("a link of a README leads somewhere", async () => {
  const pages = [["", README] as const, ...FOLDERS.map((folder, at) => [folder, DEEPER[at] ?? ""] as const)];
  for (const [folder, text] of pages) {
    for (const [, link = ""] of text.matchAll(/\]\((?!https?:)([^)#]*(?:#[^)]*)?)\)/g)) {
      const [path = "", anchor] = link.split("#");
      const target = new URL(path || "README.md", new URL(folder, ROOT));
      const { isFile } = await Deno.stat(target);
      if (!isFile || anchor === undefined) continue;
      const headings = (await Deno.readTextFile(target)).matchAll(/^#+ (.+)$/gm);
      const anchors = [...headings].map(([, title = ""]) =>
        title.toLowerCase().replace(/[^\w\- ]/g, "").replaceAll(" ", "-")
      );
      assertEquals(anchors.includes(anchor), true, `${folder}README.md: ${link}`);
    }
  }
});

Deno.test({
  name: "README, An episode and Command line: they run in any folder that is told where the clone is",
  ignore: !posix,
  async fn() {
    await using clone = await Clone.create();
    await clone.write("episode.ts", block("An episode", "ts"));
    const run = (section: string) =>
      clone.run("sh", "-euc", block(section, "sh").replace(/\/path\/to\/paddock\/(\S+)/, `"${PATH}$1"`));
    assertEquals(await run("An episode"), "");
    assertEquals(await run("Command line"), "42\n");
  },
});

Deno.test({
  name: `README, Serve: the server answers curl${CURL.note}`,
  ignore: !posix || CURL.missing,
  fn: () =>
    whileServed(async (clone, at) => {
      const { results } = JSON.parse(await clone.run("sh", "-euc", at(block("Serve", "sh", "exec:batch"))));
      assertEquals(results.map(({ result }: { result: { status: string } }) => result.status), [
        "ok",
        "error",
      ]);
      const played = await clone.run("sh", "-euc", at(block("Episodes", "sh")));
      assertStringIncludes(played, '"reward":1,"terminated":true');
      const typescript = at(block("Serve", "ts")).replace("@paddock/paddock", new URL("mod.ts", ROOT).href);
      const file = await clone.write("client.ts", typescript);
      const config = `${PATH}deno.json`;
      assertStringIncludes(await clone.run(Deno.execPath(), "run", "-A", "--config", config, file), "2\n");
    }),
});

Deno.test({
  name: `README, Serve and Plug in your trainer: Python, and stand-ins for verl, TRL and slime${PYTHON.note}`,
  ignore: !posix || PYTHON.missing,
  fn: () =>
    whileServed(async (clone, at) => {
      const python = await clone.write("program.py", at(block("Serve", "python")));
      assertEquals(await clone.run("python3", python), "6\n");
      const trainer = "Plug in your trainer";
      assertEquals(await clone.run("sh", "-euc", at(block(trainer, "sh", "verl"))), "rewarded\n");
      await clone.write("readme_block.py", at(block(trainer, "python", "openenv")));
      assertEquals(await clone.run("python3", "-m", "play_trl"), "played\n");
      await clone.write("readme_block.py", at(block(trainer, "python", "paddock_client")));
      assertEquals(await clone.run("python3", "-m", "play_slime"), "rewarded\n");
    }),
});

Deno.test({
  name:
    "README, Plug in your trainer: a client of the Model Context Protocol starts what its configuration says",
  ignore: !posix,
  async fn() {
    await using clone = await Clone.create();
    const text = block("Plug in your trainer", "json").replace(
      "/path/to/paddock",
      PATH,
    );
    const { mcpServers: { python: { command, args } } } = JSON.parse(text);
    const client = new Client({ name: "test", version: "1" });
    const program = join(clone.path, "bin", command);
    await client.connect(
      new ChildTransport({ program, args, env: { ...Deno.env.toObject(), ...clone.env } }, undefined),
    );
    try {
      const { tools } = await client.listTools();
      for (const { name } of tools) assertStringIncludes(README, `\`${name}\``);
      const call = { name: "run_python_code", arguments: { python_code: "6 * 7" } };
      const { content: [first] } = await client.callTool(call) as CallToolResult;
      assertStringIncludes(first?.type === "text" ? first.text : "", "<return_value>\n42\n");
    } finally {
      await client.close();
    }
  },
});

Deno.test({
  name: "README: the demo, and the rollouts of a file of tasks and of tau-bench's layout",
  ignore: !posix,
  async fn() {
    await using clone = await Clone.create();
    const run = (text: string) => clone.run("sh", "-euc", text);
    assertStringIncludes(await run(block("Paddock", "sh")), "mean reward");
    assertStringIncludes(await run(block("Tasks in, rewards out", "sh")), "mistaken");
    assertEquals((await Deno.stat(join(clone.path, "runs/a.jsonl"))).isFile, true);
    const [own = "", checkout = ""] = block("tau-bench", "sh").split(/(?<!\\)\n(?=.)/);
    assertStringIncludes(checkout, "--path ~/tau-bench"); // it needs a checkout and two models
    assertStringIncludes(await run(own), "mean reward");
  },
});

Deno.test({
  name: "README, Workspace: a task of ours is played",
  ignore: !posix,
  async fn() {
    await using clone = await Clone.create();
    const [own = "", checkout = ""] = block("Workspace", "sh").split(/(?<!\\)\n(?=.)/);
    assertStringIncludes(checkout, "--task ~/MLGym/"); // it needs a checkout and a model
    assertStringIncludes(await clone.run("sh", "-euc", own), "mean reward");
  },
});

Deno.test({
  name: "README, Training: rollouts of a model's server, with a fake one in its place",
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
