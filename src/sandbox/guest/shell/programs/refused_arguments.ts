import type { Command } from "just-bash";
import { defineCommand } from "../engine.ts";

/** Arguments for which the engine's command would print something else without an error. */
const WRONG_ARGUMENTS: Readonly<Record<string, RegExp>> = {
  jq: /@csv/,
};

/** Refuses arguments that a command of the engine gets wrong. */
export function refusingCommands(): Command[] {
  return Object.entries(WRONG_ARGUMENTS).map(([name, pattern]) =>
    defineCommand(name, async (args, { origCommand }) => {
      if (!origCommand) throw new Error(`'${name}' is not a command of the engine`);
      const word = args.find((text) => pattern.test(text));
      if (word !== undefined) {
        return { stdout: "", stderr: `${name}: '${word}' is not available in the sandbox\n`, exitCode: 2 };
      }
      return await origCommand(args);
    })
  );
}
