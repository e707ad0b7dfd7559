import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { fileURLToPath } from "node:url";
import { childrenOf, isAlive } from "../../../bench/processes.ts";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import { isPluginPath, parseGrants } from "../../../src/cli/rollout/plugins.ts";
import { resolveText } from "../../../src/cli/config/config_file.ts";
import { emptyTrajectory } from "../../../src/rollout/trajectory.ts";
import { TempFolder } from "../../temp_folder.ts";
import { runPaddock, startPaddock } from "../run_paddock.ts";

Deno.test("isPluginPath() distinguishes files from names and URLs", () => {
  const files = ["./g.ts", "../g", "/srv/g.mts", "g.ts", "graders/g.js", "G.TS"];
  const names = [
    "gsm8k",
    "none",
    "openai:http://host/v1",
    "scripted:replies.ts",
    "",
    "scripted:./a.ts",
    "a.tsx",
  ];
  assertEquals(files.filter(isPluginPath), files);
  assertEquals(names.filter(isPluginPath), []);
});

Deno.test("parseGrants() adds up the permissions of a flag", () => {
  const parse = (...allow: string[]) => parseGrants({ allow, allowFlag: "--grader-allow" });
  assertEquals(parse(), {});
  assertEquals(parse("net=a:1,b", "net=c", "read", "env=KEY"), {
    net: ["a:1", "b", "c"],
    read: true,
    env: ["KEY"],
  });
  assertEquals(parse("net=a", "net"), { net: true });
  const wrong: Readonly<Record<string, string>> = {
    run: "Cannot grant 'run' as a program that it starts is outside of its permissions",
    "ffi=x": "Cannot grant 'ffi'",
    web: "Cannot grant 'web' as it must be one of read, write, net, env, sys, import",
    "": "Cannot grant ''",
    "net=": "must have no comma and not be empty",
    env: "Cannot grant 'env' as its variables must be named: give --grader-allow env=NAME",
  };
  for (const [value, message] of Object.entries(wrong)) assertThrows(() => parse(value), UsageError, message);
});

Deno.test("--config resolves files of graders and the paths of their permissions", () => {
  assertEquals(resolveText("./g.ts", "source", "/srv"), "/srv/g.ts");
  assertEquals(resolveText("gsm8k", "source", "/srv"), "gsm8k");
  assertEquals(resolveText("read=a,/b", "grant", "/srv"), "read=/srv/a,/b");
  assertEquals(resolveText("net=a/b", "grant", "/srv"), "net=a/b");
  assertEquals(resolveText("read", "grant", "/srv"), "read");
});

Deno.test("a wrong file of a grader is wrong usage in one line", async () => {
  await using folder = await TempFolder.of({
    "a.jsonl": "",
    "t.jsonl": `{"query":"q"}\n`,
    "g.ts": "export const x = 1;",
  });
  const { path } = folder;
  const cases: readonly (readonly [args: string[], message: string])[] = [
    [
      ["grade", `${path}/a.jsonl`, "--grader", `${path}/none.ts`],
      "Cannot read '/none.ts': there is no such file",
    ],
    [["grade", `${path}/a.jsonl`, "--grader", path], "Cannot read '': it is a directory"],
    [
      ["grade", `${path}/a.jsonl`, "--grader", `${path}/g.ts`],
      "Cannot start grader file '/g.ts': the file must have a default export, as in " +
      "'export default defineGrader({ … })': found none",
    ],
    [
      ["grade", `${path}/a.jsonl`, "--grader", `${path}/g.ts`, "--grader-allow", "run"],
      "Cannot grant 'run' as a program that it starts is outside of its permissions",
    ],
    [
      ["grade", `${path}/a.jsonl`, "--grader", "gsm8k", "--grader-allow", "net"],
      "Cannot grant permissions as --grader-allow needs a file: give --grader FILE.ts",
    ],
    [
      ["rollout", "--tasks", `${path}/t.jsonl`, "--policy", `${path}/none.ts`],
      "Cannot read '/none.ts': there is no such file",
    ],
    [
      ["rollout", "--tasks", `${path}/t.jsonl`, "--policy", `${path}/g.ts`],
      "Cannot start policy file '/g.ts': the file must have a default export, as in " +
      "'export default definePolicy({ … })': found none",
    ],
    [
      ["rollout", "--tasks", `${path}/t.jsonl`, "--policy-allow", "net"],
      "Cannot grant permissions as --policy-allow needs a file: give --policy FILE.ts",
    ],
    [
      ["rollout", "--tasks", `${path}/t.jsonl`, "--transform", `${path}/g.ts`],
      "Cannot start transform file '/g.ts': the file must have a default export, as in " +
      "'export default defineTransform({ … })': found none",
    ],
    [
      ["rollout", "--tasks", `${path}/t.jsonl`, "--transform-allow", "net"],
      "Cannot grant permissions as --transform-allow needs a file: give --transform FILE.ts",
    ],
    [
      ["rollout", "--env", "workspace", "--transform", `${path}/g.ts`],
      "Cannot play env 'workspace' with --transform as it is for envs python, tools, chat, reasoning-gym: remove --transform",
    ],
    [
      ["rollout", "--tasks", `${path}/t.jsonl`, "--grader", `${path}/none.ts`],
      "Cannot read '/none.ts': there is no such file",
    ],
  ];
  for (const [args, message] of cases) {
    const { code, stderr, stdout } = await runPaddock(args);
    assertEquals([code, stdout, stderr.replaceAll(path, "")], [2, "", `error: ${message}\n`]);
  }
});

const MESSAGES = [{ role: "user", content: "q" }, { role: "assistant", content: "It is 42." }];
const EPISODE = `${
  JSON.stringify({ ...emptyTrajectory({ id: "1", query: "q", answer: "42" }), messages: MESSAGES })
}\n`;

Deno.test("paddock grade scores episodes with a file of --grader", async () => {
  await using folder = await TempFolder.of({ "a.jsonl": EPISODE, "g.ts": GRADER_THAT_READS });
  const file = `${folder.path}/a.jsonl`;
  const example = fileURLToPath(new URL("../../../examples/plugins/grader.ts", import.meta.url));
  const { code, stdout } = await runPaddock(["grade", file, "--grader", example, "--json"]);
  const { reward, rewardParts } = JSON.parse(stdout);
  assertEquals([code, reward, rewardParts], [0, 1, { brief: 1, right: 1, extra: 0 }]);
  const args = ["grade", file, "--grader", `${folder.path}/g.ts`, "--json"];
  const denied = await runPaddock(args);
  assertEquals(denied.code, 1);
  const { error } = JSON.parse(denied.stdout);
  assertEquals(error.boundary, "grader");
  assertStringIncludes(error.message, `of grader '${folder.path}/g.ts': Requires read access`);
  const granted = await runPaddock(
    [...args, "--grader-allow", `read=${file}`, "--grader-allow", "env=WORD"],
    "",
    {
      env: { WORD: "x" },
    },
  );
  assertEquals([granted.code, JSON.parse(granted.stdout).rewardParts], [0, { g: 1, bytes: EPISODE.length }]);
});

const GRADER_THAT_READS = `export default { async grade() {
  const bytes = (await Deno.readTextFile(import.meta.dirname + "/a.jsonl")).length;
  return { score: Deno.env.get("WORD") === "x" ? 1 : 0, parts: { bytes } };
} };`;

const POLICY = fileURLToPath(new URL("../../../examples/plugins/policy.ts", import.meta.url));

Deno.test("paddock rollout plays with the files of --policy and --grader", async () => {
  const row = { id: "sum", query: "What are 40 and 2 together?", answer: "42" };
  await using folder = await TempFolder.of({
    "t.jsonl": `${JSON.stringify(row)}\n`,
    "p.ts": `export default { name: "down", reply() { throw new Error("no model"); } };`,
  });
  const grader = fileURLToPath(new URL("../../../examples/plugins/grader.ts", import.meta.url));
  const args = ["rollout", "--tasks", `${folder.path}/t.jsonl`, "--json"];
  const { code, stdout, stderr } = await runPaddock([...args, "--policy", POLICY, "--grader", grader]);
  assertEquals(code, 0, stderr);
  const { reward, rewardParts, steps, messages, versions } = JSON.parse(stdout);
  assertEquals([reward, rewardParts.brief, steps.length], [1, 1, 2]);
  assertEquals(messages.at(-1).content, "The answer is 42");
  assertEquals(versions.policy, "adder");
  const down = await runPaddock([...args, "--policy", `${folder.path}/p.ts`, "--env", "chat"]);
  const { error } = JSON.parse(down.stdout);
  assertEquals([down.code, error.boundary, error.fault], [1, "policy", "unavailable"]);
  assertStringIncludes(error.message, `of policy '${folder.path}/p.ts': no model`);
});

Deno.test("paddock rollout changes episodes with the files of --transform, in their order", async () => {
  const row = { id: "sum", query: "What are 40 and 2 together?", answer: "42" };
  await using folder = await TempFolder.of({
    "t.jsonl": `${JSON.stringify(row)}\n`,
    "double.ts": "export default { reward: ({ reward }) => 2 * reward };",
    "minus.ts": "export default { reward: ({ reward }) => reward - 0.5, step: ({ results }) => " +
      "({ results: results.map(({ text }) => text.replace('42', '43')) }) };",
  });
  const { path } = folder;
  const args = ["rollout", "--tasks", `${path}/t.jsonl`, "--json", "--policy", POLICY];
  const transforms = ["--transform", `${path}/double.ts`, "--transform", `${path}/minus.ts`];
  const { code, stdout, stderr } = await runPaddock([...args, ...transforms]);
  assertEquals(code, 0, stderr);
  const { reward, rewardParts, messages } = JSON.parse(stdout);
  assertEquals([reward, rewardParts], [-0.5, { number_match: 0, double: 0, minus: -0.5 }]);
  assertEquals(messages.at(-1).content, "The answer is 43");
});

Deno.test("what files print goes to stderr in whole lines with their names", async () => {
  await using folder = await TempFolder.of({
    "t.jsonl": JSON.stringify({ query: "q", answer: "3", replies: ['<tool>t\n{"a": 1}</tool>', "3"] }),
    "g.ts": `console.log("up");
      export default { grade: ({ completion }) => (console.log("got", completion, "\\n\\x1b[31mred"), 1) };`,
    "t.ts": `export const parameters = { type: "object" };
      export function run() { console.error("ran"); Deno.stdout.writeSync(new TextEncoder().encode("no end")); }`,
    "bad.ts": 'console.log("before"); throw new Error("no");',
  });
  const at = (name: string) => `${folder.path}/${name}`;
  const run = ["rollout", "--tasks", at("t.jsonl"), "--json"];
  const played = await runPaddock([...run, "--env", "tools", "--grader", at("g.ts"), "--tool", at("t.ts")]);
  const lines = played.stderr.split("\n").filter((line) => /^[gt]\.ts: /.test(line)).sort();
  assertEquals(lines, ["g.ts: \\x1b[31mred", "g.ts: got 3 ", "g.ts: up", "t.ts: no end", "t.ts: ran"]);
  assertEquals([JSON.parse(played.stdout).reward, played.code], [1, 0]);
  const failed = await runPaddock([...run, "--grader", at("bad.ts")]);
  assertEquals([failed.code, failed.stderr.split("\n").length], [2, 2], failed.stderr);
});

Deno.test("Ctrl-C ends the process of a grader that hangs", async () => {
  await using folder = await TempFolder.of({
    "a.jsonl": EPISODE,
    "g.ts": "console.log('up'); export default { grade() { while (true); } };",
  });
  await using child = startPaddock("grade", `${folder.path}/a.jsonl`, "--grader", `${folder.path}/g.ts`);
  await child.stdin.close();
  let graders: number[] = [];
  while (graders.length === 0) {
    graders = await childrenOf(child.pid, "g.ts");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await new Promise((resolve) => setTimeout(resolve, 300)); // it starts to grade
  child.kill("SIGINT");
  const { code } = await child.output();
  assertEquals(code, 130);
  for (const pid of graders) assertEquals(await isAlive(pid), false);
});
