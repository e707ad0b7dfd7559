import { assertEquals } from "@std/assert";
import { paddockCommand } from "../../src/cli/commands.ts";
import { commandFor } from "../../src/cli/main.ts";

/** Commands that need all others: their words, or their help. */
const NEED_ALL = ["completion"];

Deno.test("commandFor() loads the named command alone, and it has the same help as among all commands", async () => {
  const all = paddockCommand();
  const names = all.commands.map((command) => command.name());
  for (const command of all.commands) {
    const { commands } = await commandFor([command.name(), "--x"]);
    const expected = NEED_ALL.includes(command.name()) ? names : [command.name()];
    assertEquals(commands.map((command) => command.name()), expected);
    const loaded = commands.find((loaded) => loaded.name() === command.name());
    assertEquals(loaded?.helpInformation(), command.helpInformation());
  }
});

Deno.test("commandFor() loads no command for --version, and all for other arguments", async () => {
  const namesFor = async (...args: string[]) =>
    (await commandFor(args)).commands.map((command) => command.name());
  const all = paddockCommand().commands.map((command) => command.name());
  assertEquals([await namesFor("--version"), await namesFor("-V")], [[], []]);
  for (const args of [[], ["--help"], ["help", "exec"], ["nope"], ["constructor"], ["--yes", "exec"]]) {
    assertEquals(await namesFor(...args), all);
  }
});
