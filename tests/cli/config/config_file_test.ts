import { assertEquals, assertRejects } from "@std/assert";
import { Command } from "commander";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { paddockCommand } from "../../../src/cli/commands.ts";
import { applyConfig } from "../../../src/cli/config/config_file.ts";
import { configSchema } from "../../../src/cli/config/config_schema.ts";
import { UsageError } from "../../../src/cli/cli_errors.ts";
import { flagsOf } from "../../../src/cli/sandbox_options.ts";
import { type TokenFlags, withTokenFiles } from "../../../src/cli/serve/token_files.ts";
import { TempFolder } from "../../temp_folder.ts";
import { runPaddock } from "../run_paddock.ts";

/** Returns the options of a command line whose `--config` is a file with this text. */
async function flagsWith(
  text: string,
  { args = [], name = "rollout" }: { args?: string[]; name?: string } = {},
) {
  await using folder = await TempFolder.of({ "paddock.jsonc": text });
  const command = paddockCommand().commands.find((command) => command.name() === name) ?? new Command();
  let flags: Record<string, unknown> = {};
  command.action(async (_: unknown, command: Command) => {
    await applyConfig(command);
    flags = flagsOf(command);
  });
  const root = command.parent ?? command;
  await root.parseAsync([name, "--config", join(folder.path, "paddock.jsonc"), ...args], { from: "user" });
  return { flags, folder: folder.path };
}

Deno.test("--config sets options, with paths relative to the folder of the file", async () => {
  const text = `{
    // comments and trailing commas are fine
    "$schema": "../paddock.schema.json",
    "serve": { "port": 1 },
    "rollout": {
      "tasks": "data/tasks.jsonl", "policy": "scripted:replies.jsonl", "profile": "./mine.jsonc",
      "grader": "gsm8k", "samples": 4, "temperature": 0.5, "reset": "fresh", "json": true,
      "tool": ["a.ts", "/b.ts"], "cacheDir": "cache", "yes": true,
    },
  }`;
  const { flags, folder } = await flagsWith(text);
  const { tasks, policy, profile, grader, samples, temperature, reset, json, tool, cacheDir, yes } = flags;
  assertEquals([tasks, policy, profile], [
    join(folder, "data/tasks.jsonl"),
    `scripted:${join(folder, "replies.jsonl")}`,
    join(folder, "mine.jsonc"),
  ]);
  assertEquals([grader, samples, temperature, reset, json, yes], [["gsm8k"], 4, 0.5, "fresh", true, true]);
  assertEquals([tool, cacheDir], [[join(folder, "a.ts"), "/b.ts"], join(folder, "cache")]);
  const plain = { tasks: "-", policy: "openai:http://localhost:8000/v1", profile: "python", tool: "t.ts" };
  const { flags: other, folder: place } = await flagsWith(JSON.stringify({ rollout: plain }));
  assertEquals([other.tasks, other.policy, other.profile], [plain.tasks, plain.policy, plain.profile]);
  assertEquals(other.tool, [join(place, "t.ts")]);
});

Deno.test("an option of the command line wins over --config, also over a key that conflicts with it", async () => {
  const text = `{ "rollout": { "samples": 4, "tool": ["a.ts"], "json": true, "seed": 7 } }`;
  const { flags } = await flagsWith(text, { args: ["--samples", "2", "--tool", "b.ts", "--show"] });
  assertEquals([flags.samples, flags.tool, flags.seed], [2, ["b.ts"], 7]);
  assertEquals([flags.show, flags.json], [true, undefined]);
  const serve = `{ "serve": { "port": 9000, "token": "abc", "metricsTokenFile": "m" }, "rollout": {} }`;
  const options = { name: "serve", args: ["--metrics-token", "cli", "--host", "::1"] };
  const { flags: { port, token, host, metricsToken, metricsTokenFile } } = await flagsWith(serve, options);
  assertEquals([port, token, host, metricsToken, metricsTokenFile], [9000, ["abc"], "::1", "cli", undefined]);
});

Deno.test("examples/paddock.jsonc has valid sections", async () => {
  const path = fileURLToPath(new URL("../../../examples/paddock.jsonc", import.meta.url));
  for (const name of ["serve", "rollout"]) {
    const { flags } = await flagsWith(await Deno.readTextFile(path), { name });
    assertEquals(flags[name === "serve" ? "maxSessions" : "samples"], name === "serve" ? 4 : 2);
  }
});

const FAULTS: Readonly<Record<string, string>> = {
  '{\n "rollout": {\n  "sampels": 2 } }':
    "line 3, column 3 as 'sampels' is not an option of 'rollout': the nearest is 'samples'",
  '{ "rollout": { "max-turns": 2 } }': "'max-turns' is not an option of 'rollout': the nearest is 'maxTurns'",
  '{ "rolout": {} }': "column 3 as 'rolout' is not one of serve, gateway, rollout: the nearest is 'rollout'",
  '{ "samples": 2 }': "column 3 as 'samples' is not one of serve, gateway, rollout: put it into 'rollout'",
  '{ "rollout": { "samples": "2" } }': "column 27 as 'samples' must be a whole number >= 1: found \"2\"",
  '{ "rollout": { "samples": 1.5 } }': "'samples' must be a whole number >= 1: found 1.5",
  '{ "rollout": { "samples": null } }': "'samples' must be a whole number >= 1: found null",
  '{ "rollout": { "temperature": -1 } }': "'temperature' must be a number >= 0: found -1",
  '{ "rollout": { "json": "yes" } }': "'json' must be true or false: found \"yes\"",
  '{ "rollout": { "reset": "never" } }': "'reset' must be one of rewind, fresh: found \"never\"",
  '{ "rollout": { "tasks": ["a", "b"] } }': "'tasks' must be a string that is not empty: found an array",
  '{ "rollout": { "tasks": "" } }': "'tasks' must be a string that is not empty: found \"\"",
  '{ "rollout": { "tool": ["a", 1] } }':
    "column 30 as 'tool' must be a string that is not empty, or a list of these: found 1",
  '{ "rollout": { "json": true, "show": true } }':
    "column 24 as 'json' cannot be used with 'show': remove one of them",
  '{ "rollout": { "seed": 1, "seed": 2 } }': "column 27 as 'seed' is there twice",
  '{ "rollout": { "config": "b.jsonc" } }': "'config' is not an option of 'rollout'",
  '{ "rollout": { "__proto__": {} } }': "column 16 as '__proto__' is an unknown key",
  '{ "rollout": { "constructor": {} } }': "column 16 as 'constructor' is not an option of 'rollout'",
  '{ "prototype": {} }': "column 3 as 'prototype' is not one of serve, gateway, rollout",
  '{ "serve": {}, "serve": {} }': "column 16 as 'serve' is there twice",
  '{ "serve": { "port": 1,\n"p\\u006frt": 2 } }': "line 2, column 1 as 'port' is there twice",
  '{ "rollout": [] }': "column 14 as 'rollout' must be an object: found an array",
  '{ "$schema": 1 }': "as '$schema' must be a string: found 1",
  "[]": "line 1, column 1 as it must be an object",
  "": "line 1, column 1 as it must be JSON with comments",
  '{ "rollout": { "seed": } }': "column 24 as it must be JSON with comments: found no value",
  ["[".repeat(100_000)]: "as it is nested too deeply",
};

Deno.test("--config names the place of an unknown key and of a wrong value", async () => {
  for (const [text, message] of Object.entries(FAULTS)) {
    await assertRejects(() => flagsWith(text), UsageError, message);
  }
  await assertRejects(
    () => flagsWith(`{"rollout":{"system":"${"x".repeat(2 ** 20)}"}}`),
    UsageError,
    "at most",
  );
});

Deno.test("paddock rollout and serve read --config, and wrong ones are wrong usage in one line", async () => {
  await using folder = await TempFolder.of({
    "a.jsonc": `{ "rollout": { "tasks": "none.jsonl", "samples": 0 } }`,
    "b.jsonc": `{ "rollout": { "tasks": "none.jsonl", "domain": "retail" } }`,
    "c.jsonc": `{ "rollout": { "tasks": "none.jsonl" } }`,
    "d.jsonc": `{ "serve": { "port": 70000 } }`,
    "e.jsonc": `{ "serve": { "tokenFile": "d.txt" } }`,
    "d.txt": "\n  \n",
  });
  const run = async (command: string, file: string) => {
    const { code, stderr, stdout } = await runPaddock([command, "--config", join(folder.path, file)]);
    assertEquals([code, stdout, stderr.split("\n").length], [2, "", 2], stderr);
    return stderr.replaceAll(folder.path, "");
  };
  assertEquals(
    await run("rollout", "a.jsonc"),
    "error: Cannot read '/a.jsonc' at line 1, column 50 as 'samples' must be a whole number >= 1: found 0\n",
  );
  assertEquals(
    await run("rollout", "b.jsonc"),
    "error: Cannot play env 'python' with --domain as it is for env 'tau-bench': add --env tau-bench\n",
  );
  assertEquals(await run("rollout", "c.jsonc"), "error: Cannot read '/none.jsonl': there is no such file\n");
  assertEquals(
    await run("serve", "d.jsonc"),
    "error: Cannot serve as 'port' must be at most 65535: current value is 70000\n",
  );
  assertEquals(
    await run("serve", "e.jsonc"),
    "error: Cannot read tokens of '/d.txt' as it must have at least one: found none\n",
  );
  assertEquals(await run("serve", "none.jsonc"), "error: Cannot read '/none.jsonc': there is no such file\n");
});

Deno.test("--token-file adds a token per line, and --metrics-token-file has one", async () => {
  await using folder = await TempFolder.of({ "two.txt": " abc \n\ndef\n", "one.txt": "xyz\n" });
  const [two, one] = [join(folder.path, "two.txt"), join(folder.path, "one.txt")];
  const flags = await withTokenFiles<TokenFlags>({ token: ["first"], tokenFile: two, metricsTokenFile: one });
  assertEquals([flags.token, flags.metricsToken], [["first", "abc", "def"], "xyz"]);
  assertEquals(await withTokenFiles({}), {});
  await assertRejects(() => withTokenFiles({ metricsTokenFile: two }), UsageError, "must have one token");
});

Deno.test("docs/paddock.schema.json is the schema of the options, as 'deno task config-schema' writes it", async () => {
  const file = new URL("../../../docs/paddock.schema.json", import.meta.url);
  const schema = JSON.parse(await Deno.readTextFile(file));
  assertEquals(schema, JSON.parse(JSON.stringify(configSchema(paddockCommand()))));
  const { maxTurns, temperature, reset, tool } = schema.properties.rollout.properties;
  assertEquals([maxTurns.type, maxTurns.minimum, temperature.type], ["integer", 1, "number"]);
  assertEquals([reset.enum, tool.oneOf[1].type], [["rewind", "fresh"], "array"]);
  assertEquals(schema.properties.serve.properties.port.default, 8471);
});
