import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { CommanderError } from "commander";
import { paddockCommand } from "../../src/cli.ts";
import { runPaddock } from "./run_paddock.ts";

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
  assertStringIncludes((await runPaddock(["--help"])).stdout, "npx -y deno@2.9.6 task paddock");
  assertEquals(/\n{3}/.test(rollout.stdout + grade.stdout), false);
  assertEquals(/number_match.*default/.test(grade.stdout), false);
});

Deno.test("paddock --version and --help print to stdout", async () => {
  const [version, help] = await Promise.all([runPaddock(["--version"]), runPaddock(["exec", "--help"])]);
  assertMatch(version.stdout, /^\d+\.\d+\.\d+\n$/);
  assertStringIncludes(help.stdout, "Exit codes: 0 ok, 1 an exception");
  assertEquals([version.code, help.code], [0, 0]);
});
