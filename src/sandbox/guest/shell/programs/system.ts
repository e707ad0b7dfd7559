import type { Command } from "just-bash";
import { defineCommand } from "../engine.ts";

/** Name of the guest's user. Its ID is the result of Python's `os.getuid`. */
export const USER = "pyodide";
const UID = 0;

/** Commands that print facts about the system. */
export function systemCommands(): Command[] {
  const uname = defineCommand("uname", (args) => {
    return printLine(args.includes("-a") ? "Linux localhost 5.15.0 x86_64 GNU/Linux" : "Linux");
  });
  const id = defineCommand("id", (args) => {
    const flags = args.join("").replaceAll("-", "");
    if (flags === "") return printLine(`uid=${UID}(${USER}) gid=${UID}(${USER}) groups=${UID}(${USER})`);
    return printLine(flags.includes("n") ? USER : String(UID));
  });
  const whoami = defineCommand("whoami", () => printLine(USER));
  return [uname, id, whoami];
}

/** Commands that print the exported variables. The engine's print all variables. */
export function environmentCommands(): Command[] {
  return ["printenv"].map((name) =>
    defineCommand(name, async (args, { exportedEnv = {}, origCommand }) => {
      if (args.length > 0 && origCommand) return await origCommand(args);
      const stdout = Object.entries(exportedEnv).map(([variable, value]) => `${variable}=${value}\n`).join(
        "",
      );
      return { stdout, stderr: "", exitCode: 0 };
    })
  );
}

export function printLine(line: string): ReturnType<Command["execute"]> {
  return Promise.resolve({ stdout: `${line}\n`, stderr: "", exitCode: 0 });
}
