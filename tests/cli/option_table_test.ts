import { assertEquals, assertThrows } from "@std/assert";
import { Command, Option } from "commander";
import { commandWords } from "../../src/cli/completion/tree.ts";
import { configKeys } from "../../src/cli/config/config_keys.ts";
import { addOptions, flagOf } from "../../src/cli/option_table.ts";
import { parseWholeNumber } from "../../src/cli/options.ts";
import { checkEnvOptions, ROLLOUT_OPTIONS } from "../../src/cli/rollout/options.ts";
import { UsageError } from "../../src/cli/cli_errors.ts";

const TABLE = {
  maxTurns: { group: "Play", value: "n", number: parseWholeNumber(1), default: 8, about: "replies" },
  grader: { group: "Reward", value: "name", names: ["gsm8k", "none"], about: "grader" },
  tool: { group: "Reward", value: "file", repeats: true, about: "a tool; repeatable" },
  reset: { group: "Reward", value: "mode", choices: ["rewind", "fresh"], about: "mode" },
  show: { group: "Output", about: "print", conflicts: ["json"] },
  json: { group: "Output", about: "one line each" },
  other: { group: "Output", about: "of another table", make: () => new Option("-o, --other <x>", "x") },
};

function parse(...args: string[]): Record<string, unknown> {
  const command = addOptions(new Command("c"), TABLE).exitOverride().configureOutput({ writeErr: () => {} });
  return command.parse(args, { from: "user" }).opts();
}

Deno.test("addOptions() parses values, repeated values and switches by the rows of a table", () => {
  assertEquals(parse(), { maxTurns: 8 });
  assertEquals(parse("--max-turns", "3", "--tool", "a.ts", "--tool", "b.ts", "--show", "-o", "y"), {
    maxTurns: 3,
    tool: ["a.ts", "b.ts"],
    show: true,
    other: "y",
  });
  for (const args of [["--max-turns", "0"], ["--reset", "no"], ["--show", "--json"]]) {
    assertThrows(() => parse(...args));
  }
});

Deno.test("addOptions() gives help, completion and configuration the rows of a table", () => {
  const command = addOptions(new Command("c"), TABLE);
  const help = command.helpInformation();
  assertEquals(
    [...help.matchAll(/^(\w+):$/gm)].map(([, group]) => group),
    ["Play", "Reward", "Output", "Options"],
  );
  const [words] = commandWords(command);
  assertEquals(words?.valuesOf.get("--grader")?.names, ["gsm8k", "none"]);
  assertEquals(words?.valuesOf.get("--tool")?.kind, "file");
  const keys = [...configKeys(command).values()].map(({ name, type, isList }) => [name, type.kind, isList]);
  assertEquals(keys, [
    ["maxTurns", "number", false],
    ["grader", "string", false],
    ["tool", "string", true],
    ["reset", "choice", false],
    ["show", "boolean", false],
    ["json", "boolean", false],
    ["other", "string", false],
  ]);
});

Deno.test("flagOf() writes a name as on the command line", () => {
  assertEquals(["env", "maxTurns", "requestTimeoutMs"].map(flagOf), [
    "--env",
    "--max-turns",
    "--request-timeout-ms",
  ]);
});

Deno.test("checkEnvOptions() refuses an option that the env ignores", () => {
  checkEnvOptions(
    Object.keys(ROLLOUT_OPTIONS).filter((name) => !("envs" in Object(ROLLOUT_OPTIONS)[name])),
    "python",
  );
  const cases = [
    [["domain"], "python", "with --domain as it is for env 'tau-bench': add --env tau-bench"],
    [
      ["transform"],
      "tau-bench",
      "with --transform as it is for envs python, tools, chat, reasoning-gym: remove --transform",
    ],
    [["seed", "system"], "workspace", "with --system as its task and agent files set it: remove --system"],
  ] as const;
  for (const [given, env, says] of cases) {
    assertThrows(() => checkEnvOptions(given, env), UsageError, says);
  }
});
