import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { isHangupIgnored } from "../../../src/cli/process/hangup.ts";
import { completion, FakeServer } from "../../policy/fake_server.ts";
import { runPaddock, spawnPaddock, startPaddock } from "../run_paddock.ts";

/** A folder with tasks; removed on dispose. */
class Folder implements AsyncDisposable {
  readonly path = Deno.makeTempDirSync();
  readonly tasks = `${this.path}/tasks.jsonl`;
  readonly out = `${this.path}/runs/x.jsonl`;

  constructor(count: number) {
    const rows = Array.from(
      { length: count },
      (_, at) => ({ id: `t${at}`, query: `${at} + 1?`, answer: `${at + 1}` }),
    );
    Deno.writeTextFileSync(this.tasks, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  }

  async episodes(): Promise<
    { task: { id: string }; sample: number; reward: number; error?: { fault?: string; message: string } }[]
  > {
    const lines = (await Deno.readTextFile(this.out)).split("\n");
    assertEquals(lines.pop(), "", "the file ends with a whole line");
    return lines.map((line) => JSON.parse(line));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.path, { recursive: true });
  }
}

function chat({ tasks, out }: Folder, url: string, ...more: string[]): string[] {
  return [
    "rollout",
    "--env",
    "chat",
    "--tasks",
    tasks,
    "--policy",
    `openai:${url}`,
    "--model",
    "m",
    "--out",
    out,
    ...more,
  ];
}

/** Answers `3 + 1?` with 4. */
function sumServer(): FakeServer {
  return new FakeServer(({ body }) =>
    completion({ content: `It is ${Number.parseInt(body.messages.at(-1).content) + 1}` })
  );
}

Deno.test("paddock rollout calls a server, groups and grades; grade and view read its file", async () => {
  await using folder = new Folder(5);
  await using server = sumServer();
  const { code, stdout, stderr } = await runPaddock(
    chat(folder, server.url, "--samples", "3", "--concurrency", "4"),
  );
  assertEquals({ code, stderr }, { code: 0, stderr: "" });
  assertMatch(stdout, /\n\nepisodes +15\nmean reward +1\.0000\n[^]*pass@3 +5 of 5\n/);
  const episodes = await folder.episodes();
  const names = episodes.map(({ task, sample }) => `${task.id} ${sample}`);
  assertEquals(names.toSorted(), [0, 1, 2, 3, 4].flatMap((at) => [1, 2, 3].map((of) => `t${at} ${of}`)));

  const graded = `${folder.path}/graded.jsonl`;
  const grade = await runPaddock(["grade", folder.out, "--grader", "number_match", "--out", graded]);
  assertEquals(grade.code, 0);
  assertStringIncludes(grade.stdout, "right         15\n");
  assertEquals((await Deno.readTextFile(graded)).split("\n").length, 16);

  const both = ["--grader", "number_match=0.75", "--grader", "exact_match=0.25"];
  const weighted = await runPaddock(["grade", folder.out, ...both]);
  assertMatch(weighted.stdout, /mean reward +0\.7500\n/);
  const nothing = await runPaddock(["grade", folder.out, "--grader", "none"]);
  assertEquals([nothing.code, nothing.stderr], [2, "error: Cannot grade with 'none': give --grader NAME\n"]);

  const other = await runPaddock([...chat(folder, server.url, "--resume"), "--model", "n"]);
  assertEquals(other.code, 2);
  assertStringIncludes(other.stderr, "its episodes must have the same settings: --model was 'm' and is 'n'.");

  const scored = await runPaddock([...chat(folder, server.url, "--resume"), "--grader", "exact_match"]);
  assertEquals(scored.code, 2);
  assertStringIncludes(scored.stderr, "--grader was 'number_match' and is 'exact_match'.");
  await Deno.writeTextFile(folder.tasks, '{"id":"t3","query":"other","answer":"1"}\n');
  const edited = await runPaddock(chat(folder, server.url, "--resume"));
  assertEquals(edited.code, 2);
  assertStringIncludes(edited.stderr, "Cannot resume as task 't3' must be equal to the played one");

  const view = await runPaddock(["view", graded, "--id", "t3"]);
  assertEquals(view.code, 0);
  assertMatch(
    view.stdout,
    /^── t3(?:, sample \d)? ──\nuser:\n {2}3 \+ 1\?\nassistant:\n {2}It is 4\nended after 1 turn, reward 1, /,
  );
  const none = await runPaddock(["view", graded, "--wrong"]);
  assertEquals([none.code, none.stdout, none.stderr], [1, "", "No episode matches\n"]);
});

Deno.test("paddock rollout records a server that is down on each episode, and continues when it is up", async () => {
  await using folder = new Folder(40);
  const { addr: { port } } = (() => {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    return listener;
  })();
  const down = await runPaddock(chat(folder, `http://127.0.0.1:${port}`));
  assertEquals(down.code, 1);
  assertStringIncludes(
    down.stdout,
    `first error   policy: Cannot get reply as http://127.0.0.1:${port}/v1/chat/`,
  );
  assertMatch(down.stderr, /^warning: the first 8 episodes all failed: Cannot get reply as /);
  const episodes = await folder.episodes();
  assertEquals(episodes.map(({ error }) => error?.fault), Array(40).fill("unreachable"));
  const retried = episodes.filter(({ error }) => error?.message.includes("attempts"));
  assert(retried.length <= 8, "only those that were running when it was found out have waited");

  await using server = sumServer();
  const up = await runPaddock(chat(folder, server.url, "--resume"));
  assertEquals([up.code, up.stderr], [0, ""]);
  assertEquals(
    (await folder.episodes()).map(({ task }) => task.id).toSorted(),
    episodes.map(({ task }) => task.id).toSorted(),
  );
});

Deno.test("paddock rollout ends cleanly at Ctrl-C, and --resume plays the rest", async () => {
  await using folder = new Folder(6);
  const stuck = Promise.withResolvers<Response>();
  const requested = Promise.withResolvers<void>();
  await using server = new FakeServer(({ body }, count) => {
    if (count === 5) requested.resolve();
    return count > 3
      ? stuck.promise
      : completion({ content: `It is ${Number.parseInt(body.messages.at(-1).content) + 1}` });
  });
  const child = startPaddock(...chat(folder, server.url, "--concurrency", "2"));
  await child.stdin.close();
  await requested.promise;
  child.kill("SIGINT");
  const { code, stdout, stderr } = await child.output();
  stuck.resolve(new Response());
  assertEquals(code, 130);
  const text = new TextDecoder();
  assertMatch(text.decode(stdout), /\n\nepisodes +3\n/);
  assertStringIncludes(text.decode(stderr), "Interrupted: ending the running episodes (2)");
  assertEquals((await folder.episodes()).length, 3);

  await using back = sumServer();
  const rest = await runPaddock(chat(folder, back.url, "--resume"));
  assertEquals([rest.code, back.seen.length, (await folder.episodes()).length], [0, 3, 6]);
});

for (const name of ["SIGTERM", "SIGHUP"] as const) {
  const ignore = name === "SIGHUP" && isHangupIgnored(); // the children of these tests then ignore it too
  Deno.test(`paddock rollout saves each episode that had finished at ${name}`, { ignore }, async () => {
    await using folder = new Folder(2);
    const stuck = Promise.withResolvers<Response>();
    await using server = new FakeServer((_, count) =>
      count > 3 ? stuck.promise : completion({ content: "It is 1" })
    );
    const child = startPaddock(...chat(folder, server.url, "--samples", "4", "--concurrency", "3"));
    await child.stdin.close();
    while (await countEpisodes(folder.out) < 3) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill(name);
    const { code, stdout, stderr } = await child.output();
    stuck.resolve(new Response());
    const text = new TextDecoder();
    assertEquals([code, (await folder.episodes()).length], [130, 3], text.decode(stderr));
    assertMatch(text.decode(stdout), /\n\nepisodes +3\n/);
  });
}

Deno.test({
  name: "paddock rollout continues under nohup when its terminal closes",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using folder = new Folder(1);
    const hungUp = Promise.withResolvers<void>();
    await using server = new FakeServer(async () => {
      await hungUp.promise;
      return completion({ content: "It is 1" });
    });
    const cli = decodeURIComponent(new URL("../../../src/cli.ts", import.meta.url).pathname);
    const child = new Deno.Command("nohup", {
      args: [Deno.execPath(), "run", "-A", cli, ...chat(folder, server.url)],
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    while (server.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill("SIGHUP");
    hungUp.resolve();
    const { code } = await child.output();
    assertEquals([code, (await folder.episodes()).length], [0, 1]);
  },
});

/** Returns the number of complete lines of a file. */
async function countEpisodes(path: string): Promise<number> {
  return (await Deno.readTextFile(path).catch(() => "")).split("\n").length - 1;
}

Deno.test("paddock rollout, grade and view exit with 2 and one line for invalid arguments", async () => {
  await using folder = new Folder(1);
  const { tasks, out, path } = folder;
  const rollout = ["rollout", "--tasks", tasks];
  await Deno.writeTextFile(`${path}/notes`, "notes\n");
  await Deno.mkdir(`${path}/empty`);
  const mcp = decodeURIComponent(new URL("../../../examples/mcp.jsonc", import.meta.url).pathname);
  const cases: [string[], string][] = [
    [[...rollout, "--grader", "nope"], "Cannot find grader 'nope': available are number_match"],
    [[...rollout, "--env", "nope"], "Cannot find env 'nope': available are python, tools, chat"],
    [[...rollout, "--policy", "nope:x"], "Cannot find policy 'nope': available are scripted"],
    [
      [...rollout, "--samples", "0"],
      "option '--samples <n>' argument '0' is invalid. It must be a whole number >= 1.",
    ],
    [[...rollout, "--temperature", "-1"], "It must be a number >= 0."],
    [[...rollout, "--calls", "nope"], "Cannot find call style 'nope': available are tag"],
    [[...rollout, "--env", "chat", "--mcp", mcp], "Cannot play env 'chat' with tools as it calls none"],
    [[...rollout, "--policy", "calculator:x"], "'calculator' as it takes no text after a colon: found 'x'"],
    [[...rollout, "--resume"], "give --out FILE"],
    [["--cache-dir", `${path}/notes/x`, ...rollout], `Cannot cache base images in '${path}/notes/x': `],
    [[...rollout, "--resume", "--force", "--out", out], "cannot be used with"],
    [[...rollout, "--out", `${tasks}/x`], `Cannot write '${tasks}/x': `],
    [[...rollout, "--out", `${path}/notes`], "as it is not empty"],
    [[...rollout, "--out", tasks, "--force"], "must not be the file that is read"],
    [["rollout", "--tasks", `${path}/none`, "--out", `${path}/notes`, "--force"], "there is no such file"],
    [[...rollout, "--out", `${path}/notes`, "--resume"], "notes:1 must be an episode: "],
    [["rollout", "--tasks", `${path}/none`], "none"],
    [["rollout", "--tasks", `${path}/empty`], "must contain a JSON lines, CSV or Parquet file"],
    [["grade", `${path}/none`, "--grader", "number_match"], "there is no such file"],
    [["grade", path, "--grader", "number_match"], "it is a directory"],
    [["grade", `${path}/notes`, "--grader", "number_match"], "Cannot read episode at "],
    [
      ["grade", tasks, "--grader", "number_match", "--out", tasks, "--force"],
      "must not be the file that is read",
    ],
    [["grade", tasks, "--grader", "math", "--out", `${path}/notes`], "give --force to discard its contents"],
    [["grade", tasks, "--grader", "judge", "--judge", "openai:http://x"], "give --judge-model NAME"],
    [["grade", tasks, "--grader", "judge", "--out", `${path}/notes`, "--force"], "give --judge POLICY"],
    [["grade", tasks, "--grader", "judge", "--judge", "sglang"], "give --judge sglang:URL"],
    [["view", `${path}/notes`], "Cannot read episode at "],
  ];
  for (const [args, says] of cases) {
    const { code, stdout, stderr } = await runPaddock(args);
    assertEquals({ args, code, stdout }, { args, code: 2, stdout: "" });
    assertStringIncludes(stderr, says);
    assertEquals(stderr.split("\n").length, 2, stderr);
  }
  assertEquals(await Deno.readTextFile(`${path}/notes`), "notes\n");
});

Deno.test("paddock rollout --force keeps the earlier file if the tasks cannot be read", async () => {
  await using folder = new Folder(1);
  const out = `${folder.path}/rows.jsonl`;
  await Deno.writeTextFile(out, "earlier\n");
  const damaged = `${folder.path}/tasks.jsonl.gz`;
  await Deno.writeTextFile(damaged, "no gzip");
  const { code, stderr } = await runPaddock(
    ["rollout", "--tasks", damaged, "--env", "chat", "--out", out, "--force"],
  );
  assertEquals([code, await Deno.readTextFile(out)], [2, "earlier\n"]);
  assertStringIncludes(stderr, "must be gzip");
});

Deno.test("paddock rollout, grade and view read the standard input", async () => {
  const row = JSON.stringify({ id: "a", query: "q", answer: "1", replies: ["It is 1"] });
  const rollout = ["rollout", "--tasks", "-", "--env", "chat", "--json", "--grader", "none"];
  const played = await spawnPaddock(rollout, `${row}\n`);
  assertEquals([played.code, JSON.parse(played.stdout).reward], [0, null]);
  const graded = await spawnPaddock(["grade", "-", "--grader", "number_match", "--json"], played.stdout);
  assertEquals([graded.code, JSON.parse(graded.stdout).reward], [0, 1]);
  const viewed = await spawnPaddock(["view", "-"], graded.stdout);
  assertMatch(viewed.stdout, /^── a ──\n[^]*reward 1, /);
  await using folder = new Folder(1);
  for (const more of [[], ["--resume"]]) {
    const { code, stderr } = await spawnPaddock([...rollout, "--out", folder.out, ...more], `${row}\n`);
    assertEquals([code, stderr.includes("error:")], [0, false], stderr);
  }
  assertEquals((await folder.episodes()).length, 1);
});

Deno.test("paddock rollout plays a split of a folder, and names its files", async () => {
  await using folder = new Folder(1);
  for (const [name, id] of [["train.jsonl", "a"], ["test.csv", "b"]] as const) {
    const row = name.endsWith("csv")
      ? `id,question,answer\n${id},q,#### 1\n`
      : `{"id":"${id}","query":"q"}\n`;
    await Deno.mkdir(`${folder.path}/set`, { recursive: true });
    await Deno.writeTextFile(`${folder.path}/set/${name}`, row);
  }
  const rollout = ["rollout", "--tasks", `${folder.path}/set`, "--env", "chat", "--json"];
  const cases = [[[], "train.jsonl", "a"], [["--split", "test"], "test.csv", "b"]] as const;
  for (const [more, file, id] of cases) {
    const { stdout, stderr } = await runPaddock([...rollout, ...more]);
    assertEquals(JSON.parse(stdout).task.id, id);
    assertMatch(stderr, new RegExp(`^Playing ${folder.path}/set/${file}\n`));
  }
  const none = await runPaddock([...rollout, "--split", "dev"]);
  assertEquals([none.code, none.stdout], [2, ""]);
  assertStringIncludes(none.stderr, "must have a split 'dev'");
});

Deno.test("paddock rollout and grade write all of --out when their stdout is closed", async () => {
  await using folder = new Folder(12);
  const { tasks, out, path } = folder;
  const rollout = ["rollout", "--env", "chat", "--tasks", tasks, "--policy", `scripted:${path}/replies`];
  await Deno.writeTextFile(`${path}/replies`, '["It is 1"]\n'.repeat(12));
  for (const shown of ["--show", "--json"]) {
    assertEquals(await unread(...rollout, shown, "--out", out, "--force"), { code: 0, failure: undefined });
    assertEquals((await folder.episodes()).length, 12);
  }
  const graded = `${path}/graded.jsonl`;
  const grade = ["grade", out, "--grader", "exact_match", "--json", "--out", graded];
  assertEquals(await unread(...grade), { code: 0, failure: undefined });
  assertEquals(await countEpisodes(graded), 12);
});

/** Runs the command line with a stdout that is closed before anything is written. */
async function unread(...args: string[]): Promise<{ code: number; failure: string | undefined }> {
  const child = startPaddock(...args);
  await Promise.all([child.stdin.close(), child.stdout.cancel()]);
  const [{ code }, stderr] = await Promise.all([child.status, new Response(child.stderr).text()]);
  return { code, failure: /^error: .*/m.exec(stderr)?.[0] };
}

Deno.test("paddock view ends without an error when its stdout is closed", async () => {
  await using folder = new Folder(1);
  const file = `${folder.path}/many.jsonl`;
  const line = JSON.stringify({
    task: { id: "a", query: "q" },
    messages: [{ role: "user", content: "x".repeat(9_000) }],
  });
  await Deno.writeTextFile(file, `${line}\n`.repeat(500));
  const child = startPaddock("view", file);
  await child.stdin.close();
  const reader = child.stdout.getReader();
  await reader.read();
  await reader.cancel();
  const [{ code }, stderr] = await Promise.all([child.status, new Response(child.stderr).text()]);
  assertEquals({ code, stderr }, { code: 0, stderr: "" });
});

Deno.test("paddock rollout tells a model of the Python interpreter, but not with a system message of its own or --no-system", async () => {
  await using folder = new Folder(1);
  await using server = new FakeServer(() => completion({ content: "It is 1" }));
  const systemOf = async (...more: string[]) => {
    const args = chat(folder, server.url, "--force").filter((word) => word !== "--env" && word !== "chat");
    assertEquals((await runPaddock([...args, ...more])).code, 0);
    const [first] = server.seen.at(-1)?.body.messages ?? [];
    return first.role === "system" ? first.content : undefined;
  };
  const rollouts = await Deno.readTextFile(new URL("../../../docs/rollouts.md", import.meta.url));
  const [, documented = ""] = /^## The system message\n[^]*?\n((?: {4}.*\n)+)/m.exec(rollouts) ?? [];
  assertEquals(await systemOf(), documented.trim().replace(/\s+/g, " "));
  assertEquals(await systemOf("--system", "Be brief."), "Be brief.");
  assertEquals(await systemOf("--no-system"), undefined);
  assertEquals(await systemOf("--env", "chat"), undefined);
  const query = [{ role: "system", content: "own" }, { role: "user", content: "q" }];
  await Deno.writeTextFile(folder.tasks, JSON.stringify({ query, answer: "1" }));
  assertEquals(await systemOf(), "own");
  await Deno.writeTextFile(`${folder.path}/c.jsonc`, '{ "rollout": { "noSystem": true } }');
  await Deno.writeTextFile(folder.tasks, '{"query":"q","answer":"1"}');
  assertEquals(await systemOf("--config", `${folder.path}/c.jsonc`), undefined);
  assertEquals(await systemOf("--config", `${folder.path}/c.jsonc`, "--system", "x"), "x");
});
