import { assertEquals, assertRejects } from "@std/assert";
import { CommanderError } from "commander";
import { rolloutCommand } from "../../src/cli/rollout.ts";

async function usageError(...args: string[]): Promise<string> {
  let written = "";
  const command = rolloutCommand().exitOverride().configureOutput({ writeErr: (text) => written += text });
  await assertRejects(() => command.parseAsync(args, { from: "user" }), CommanderError);
  return written;
}

Deno.test("rolloutCommand() says what is wrong with its arguments", async () => {
  const cases = [
    { args: [], says: "error: required option '--tasks <file>' not specified\n" },
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
