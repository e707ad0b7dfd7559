import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { CommanderError } from "commander";
import { fileURLToPath } from "node:url";
import { paddockCommand } from "../../src/cli/commands.ts";
import { sha256 } from "../../src/hash.ts";
import { TempFolder } from "../temp_folder.ts";
import { DENO_VERSION } from "../../src/version.ts";
import { runPaddock, spawnPaddock } from "./run_paddock.ts";

async function complaint(...args: string[]): Promise<string> {
  let written = "";
  const paddock = paddockCommand();
  for (const command of [paddock, ...paddock.commands]) {
    command.configureOutput({ writeErr: (text) => written += text, writeOut: () => {} });
  }
  await assertRejects(() => paddock.parseAsync(args, { from: "user" }), CommanderError);
  return written;
}

Deno.test("paddockCommand() prints one line for each kind of wrong usage", async () => {
  const least = "It must be a whole number >= 1.";
  const cases: [string[], string][] = [
    [["nope"], "error: unknown command 'nope'\n"],
    [["exec", "--nope"], "error: unknown option '--nope'\n"],
    [["exec", "-e"], "error: option '-e, --eval <code>' argument missing\n"],
    ...["0", "NaN", "abc", "1e3", "-5", "1.5"].map((value): [string[], string] => [
      ["exec", "--timeout-ms", value, "-e", "1"],
      `error: option '--timeout-ms <n>' argument '${value}' is invalid. ${least}\n`,
    ]),
    [
      ["session", "--seed", "x"],
      "error: option '--seed <n>' argument 'x' is invalid. It must be a whole number >= 0.\n",
    ],
  ];
  for (const [args, expected] of cases) assertEquals(await complaint(...args), expected);
});

Deno.test("paddock exits with 2 when no valid command is given", async () => {
  const none = await runPaddock([]);
  assertEquals([none.code, none.stdout], [2, ""]);
  assertStringIncludes(none.stderr, "Usage: paddock");
  const wrong = await runPaddock(["exec", "--timeout-ms", "abc", "-e", "1"]);
  assertEquals([wrong.code, wrong.stdout], [2, ""]);
  assertEquals(wrong.stderr.split("\n").length, 2);
});

Deno.test("paddock's help separates its parts by one line, and marks defaults", async () => {
  const [rollout, grade] = await Promise.all([
    runPaddock(["rollout", "--help"]),
    runPaddock(["grade", "--help"]),
  ]);
  assertStringIncludes((await runPaddock(["--help"])).stdout, `npx -y deno@${DENO_VERSION} task paddock`);
  assertEquals(/\n{3}/.test(rollout.stdout + grade.stdout), false);
  assertEquals(/number_match.*default/.test(grade.stdout), false);
});

Deno.test("paddock --version and --help print to stdout", async () => {
  const [version, help] = await Promise.all([runPaddock(["--version"]), runPaddock(["exec", "--help"])]);
  assertMatch(version.stdout, /^\d+\.\d+\.\d+\n$/);
  assertStringIncludes(help.stdout, "Exit codes: 0 ok, 1 an exception");
  assertEquals([version.code, help.code], [0, 0]);
});

Deno.test("paddock as a task of the clone finds paths in the caller's folder", async () => {
  await using folder = await TempFolder.of();
  await Deno.writeTextFile(`${folder.path}/empty.jsonl`, "");
  const tasks = ["rollout", "--env", "chat", "--grader", "none", "--tasks", "empty.jsonl"];
  const { INIT_CWD: _, ...env } = Deno.env.toObject(); // set where the tests run as a task
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    clearEnv: true,
    env,
    args: [
      "task",
      "--quiet",
      "--config",
      fileURLToPath(new URL("../../deno.json", import.meta.url)),
      "paddock",
      ...tasks,
    ],
    cwd: folder.path,
  }).output();
  assertEquals(code, 2);
  assertStringIncludes(new TextDecoder().decode(stderr), "'empty.jsonl' as it must have at least one task");
});

Deno.test("paddock rollout exits with 2 for a pipe without tasks", async () => {
  const run = await spawnPaddock(["rollout", "--env", "chat", "--grader", "none", "--tasks", "-"]);
  assertEquals([run.code, run.stdout], [2, ""]);
  assertStringIncludes(run.stderr, "as it must have at least one task: it has none");
});

Deno.test("paddock rollout --force keeps the earlier file when there are no tasks", async () => {
  await using folder = await TempFolder.of();
  const [tasks, out] = [`${folder.path}/empty.jsonl`, `${folder.path}/out.jsonl`];
  await Deno.writeTextFile(tasks, "");
  await Deno.writeTextFile(out, "kept");
  const { code } = await runPaddock(["rollout", "--env", "chat", "--tasks", tasks, "--out", out, "--force"]);
  assertEquals([code, await Deno.readTextFile(out)], [2, "kept"]);
});

Deno.test("paddock exits with 2 for a package that is damaged, has another hash or is for another platform", async () => {
  await using folder = await TempFolder.of();
  const wheel = "x-1.0-py3-none-any.whl";
  await Deno.writeTextFile(`${folder.path}/${wheel}`, "no zip");
  await Deno.copyFile(
    `${folder.path}/${wheel}`,
    `${folder.path}/x-1.0-cp314-cp314-manylinux_2_28_x86_64.whl`,
  );
  const digest = await sha256("no zip");
  const cases: [string, string, string][] = [
    [wheel, digest, "it is not a wheel"],
    [wheel, "0".repeat(64), `its sha256 must be ${"0".repeat(64)}: current value is ${digest}`],
    ["x-1.0-cp314-cp314-manylinux_2_28_x86_64.whl", digest, "it must be for any platform"],
  ];
  for (const [file, hash, message] of cases) {
    const profile = { description: "x", packages: { x: { wheel: file, sha256: hash } } };
    await Deno.writeTextFile(`${folder.path}/p.jsonc`, JSON.stringify(profile));
    const run = await runPaddock(["exec", "-p", `${folder.path}/p.jsonc`, "-e", "1"]);
    assertEquals([run.code, run.stdout], [2, ""]);
    assertStringIncludes(run.stderr, `error: Cannot install package 'x' as ${message}`);
  }
});

Deno.test("paddock exec runs a program from a pipe without '-'", async () => {
  const run = await runPaddock(["exec"], "import sys\nprint(6 * 7, sys.argv)\n");
  assertEquals(run, { code: 0, stdout: "42 ['-']\n", stderr: "" });
  const conflict = await runPaddock(["exec", "--stdin", "-"], "print(1)");
  assertEquals(conflict.code, 2);
  assertStringIncludes(conflict.stderr, "Cannot read both the program and its input from stdin");
});

Deno.test("paddock exec runs with the permissions that docs/security.md names", async () => {
  const cache = Deno.env.get("PADDOCK_CACHE_DIR") ?? "";
  await using folder = await TempFolder.of();
  const cacheDir = cache === "" ? `${folder.path}/cache` : cache;
  const permissions = ["read", "env", "sys", "run", `write=${cacheDir}`].map((name) => `--allow-${name}`);
  const cli = fileURLToPath(new URL("../../src/cli.ts", import.meta.url));
  const command = [cli, "--cache-dir", cacheDir, "exec", "-e", "print(6 * 7)"];
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", ...permissions, "--no-prompt", "--no-check", ...command],
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  assertEquals([code, decoder.decode(stdout)], [0, "42\n"], decoder.decode(stderr));
});
