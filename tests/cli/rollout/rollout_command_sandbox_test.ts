import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { CommanderError } from "commander";
import { rolloutCommand } from "../../../src/cli/rollout/rollout_command.ts";
import { CALL_STYLES } from "../../../src/tools/parsers/call_styles.ts";
import { runPaddock } from "../run_paddock.ts";

async function usageError(...args: string[]): Promise<string> {
  let written = "";
  const command = rolloutCommand().exitOverride().configureOutput({ writeErr: (text) => written += text });
  await assertRejects(() => command.parseAsync(args, { from: "user" }), CommanderError);
  return written;
}

Deno.test("rolloutCommand() names the invalid argument", async () => {
  const cases = [
    {
      args: ["--tasks", "x", "--limit", "0"],
      says: "error: option '--limit <n>' argument '0' is invalid. It must be a whole number >= 1.\n",
    },
    {
      args: ["--tasks", "x", "--json", "--show"],
      says: "error: option '--json' cannot be used with option '--show'\n",
    },
    { args: ["--tasks", "x", "--nope"], says: "error: unknown option '--nope'\n" },
  ];
  for (const { args, says } of cases) assertEquals(await usageError(...args), says);
});

Deno.test("paddock rollout --env tools runs a tool file without permissions, and names missing options", async () => {
  const words = decodeURIComponent(new URL("../../../examples/tools/words.ts", import.meta.url).pathname);
  const tasks = await Deno.makeTempFile({ suffix: ".jsonl" });
  try {
    const replies = ['<tool>words\n{"text": "sand in a box"}</tool>', "The answer is 4"];
    await Deno.writeTextFile(tasks, JSON.stringify({ id: "w", query: "How many?", answer: 4, replies }));
    const common = ["rollout", "--env", "tools", "--tasks", tasks, "--json"];
    const { code, stdout } = await runPaddock([...common, "--tool", words]);
    const { reward, toolResults } = JSON.parse(stdout);
    assertEquals([code, reward, toolResults.map(({ status }: { status: string }) => status)], [0, 1, ["ok"]]);
    const nothing = await runPaddock(["rollout"]);
    assertEquals([nothing.code, nothing.stdout], [2, ""]);
    assertEquals(nothing.stderr, "error: Cannot play env 'python' as it needs tasks: give --tasks FILE\n");
    const without = await runPaddock(common);
    assertEquals(without.code, 2);
    assertStringIncludes(without.stderr, "give --tool FILE or --mcp FILE");
    const twice = await runPaddock([...common, "--tool", words, "--tool", words]);
    assertEquals([twice.code, twice.stdout], [2, ""]);
    assertStringIncludes(twice.stderr, "as each name must be unique: 'words' occurs twice");
    const missing = await runPaddock([...common, "--tool", "no/such.ts"]);
    assertEquals(missing.code, 2);
    const odd = await runPaddock([...common, "--tool", words, "--calls", "smoke"]);
    assertStringIncludes(odd.stderr, `available are ${Object.keys(CALL_STYLES).join(", ")}\n`);
    const untold = await runPaddock([...common, "--tool", words, "--tokenizer", "no/such"]);
    assertEquals(untold.code, 2);
  } finally {
    await Deno.remove(tasks);
  }
});

Deno.test("paddock rollout --tool-callers code lets Python blocks call the tools", async () => {
  const words = decodeURIComponent(new URL("../../../examples/tools/words.ts", import.meta.url).pathname);
  const folder = await Deno.makeTempDir();
  try {
    const [tasks, out] = [`${folder}/tasks.jsonl`, `${folder}/out.jsonl`];
    const code = "from paddock import tools\nprint(tools.words(text='sand in a box')['words'])";
    const replies = [`~~~python\n${code}\n~~~`, "The answer is 4"];
    await Deno.writeTextFile(tasks, JSON.stringify({ id: "w", query: "How many?", answer: 4, replies }));
    const common = ["rollout", "--tasks", tasks, "--tool", words, "--tool-callers", "code"];
    const { code: exit, stderr } = await runPaddock([...common, "--profile", "tools", "--out", out]);
    assertEquals(exit, 0, stderr);
    const { reward, messages, toolResults } = JSON.parse(await Deno.readTextFile(out));
    assertStringIncludes(messages[0].content, "def words(text: str) -> Any:");
    const [{ tool, caller, arguments: args, result }] = toolResults[0].calls;
    assertEquals([reward, tool, caller, args, result], [
      1,
      "words",
      "code",
      { text: "sand in a box" },
      '{"words":4}',
    ]);
    const again = await runPaddock([
      ...["replay", out, "--tool", words, "--tool-callers", "code", "--profile", "tools"],
    ]);
    assertEquals(again.code, 0, again.stdout + again.stderr);
    const plain = await runPaddock(common);
    assertEquals(plain.code, 2);
    assertStringIncludes(plain.stderr, "give --profile tools");
    const odd = await runPaddock(["rollout", "--tasks", tasks, "--tool", words, "--tool-callers", "me"]);
    assertEquals(odd.code, 2);
    assertStringIncludes(odd.stderr, "each of --tool-callers must be model or code: found 'me'");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("paddock rollout --mcp reports a server that does not start before it plays", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const server = decodeURIComponent(new URL("../../tools/mcp/fake_server.js", import.meta.url).pathname);
    const [tasks, mcp, out] = [`${folder}/tasks.jsonl`, `${folder}/mcp.jsonc`, `${folder}/out.jsonl`];
    await Deno.writeTextFile(tasks, '{"query":"q","replies":["1"]}\n'.repeat(3));
    await Deno.writeTextFile(
      mcp,
      JSON.stringify({ mcpServers: { shop: { module: server, args: ["dies"] } } }),
    );
    const args = ["rollout", "--tasks", tasks, "--env", "tools", "--mcp", mcp, "--out", out, "--force"];
    await Deno.writeTextFile(out, "kept");
    const { code, stdout, stderr } = await runPaddock(args);
    assertEquals([code, stdout, await Deno.readTextFile(out)], [2, "", "kept"]);
    assertMatch(stderr, /^error: MCP server 'shop' not connected: .*no licence found\n$/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("paddock rollout --grader hidden_tests finds the program of an episode whose blocks were run", async () => {
  const tasks = await Deno.makeTempFile({ suffix: ".jsonl" });
  try {
    const test = "def check(candidate):\n    assert candidate(1, 2) == 3\n";
    const replies = ["```python\ndef add(a, b): return a + b\n```", "done"];
    const row = { id: "add", query: "Write add(a, b)", fields: { entry_point: "add", test }, replies };
    await Deno.writeTextFile(tasks, JSON.stringify(row));
    const { code, stdout } = await runPaddock([
      "rollout",
      "--tasks",
      tasks,
      "--grader",
      "hidden_tests",
      "--json",
      "--concurrency",
      "1",
    ]);
    assertEquals([code, JSON.parse(stdout).reward], [0, 1]);
  } finally {
    await Deno.remove(tasks);
  }
});

Deno.test("paddock rollout --run-unlabeled --run-thoughts runs such blocks, and replay with them is the same", async () => {
  const folder = await Deno.makeTempDir();
  const [tasks, out, config] = ["tasks.jsonl", "out.jsonl", "paddock.jsonc"].map((name) =>
    `${folder}/${name}`
  );
  if (tasks === undefined || out === undefined || config === undefined) {
    throw new Error("There are three files");
  }
  const draft = "<think>\n```python\nprint(20)\n```\n</think>\n```\nprint(22)\n```\n```bash\nls\n```";
  try {
    const replies = [draft, "The answer is 42"];
    await Deno.writeTextFile(tasks, JSON.stringify({ id: "w", query: "How many?", answer: 42, replies }));
    await Deno.writeTextFile(config, JSON.stringify({ rollout: { runUnlabeled: true, runThoughts: true } }));
    const common = ["rollout", "--tasks", tasks];
    const plain = await runPaddock(common);
    assertEquals(plain.code, 0);
    assertStringIncludes(
      plain.stdout,
      "\nnot run       3 (1 in a thought, 1 no language, 1 bash) code blocks, in 1 reply\n",
    );
    const run = await runPaddock([...common, "--out", out, "--config", config]);
    assertEquals(run.code, 0);
    assertStringIncludes(run.stdout, "\nnot run       1 (1 bash) code blocks, in 1 reply\n");
    const { messages, steps } = JSON.parse(await Deno.readTextFile(out));
    assertEquals(messages.slice(2, 4).map(({ content }: { content: string }) => content), [
      "Code block 1 executed successfully:\n20\n",
      "Code block 2 executed successfully:\n22\n",
    ]);
    assertEquals(steps[0].blocksNotRun, [{ reason: "language", tag: "bash", count: 1 }]);
    assertEquals((await runPaddock(["replay", out, "--run-unlabeled", "--run-thoughts"])).code, 0);
    assertEquals((await runPaddock(["replay", out])).code, 1);
    const chat = await runPaddock([...common, "--env", "chat", "--run-thoughts"]);
    assertEquals(chat.code, 2);
    assertStringIncludes(chat.stderr, "--run-thoughts as it is for env 'python'");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
