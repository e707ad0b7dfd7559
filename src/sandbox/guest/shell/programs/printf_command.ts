import type { Command } from "just-bash";
import { defineCommand } from "../engine.ts";
import type { ShellFiles } from "../files.ts";
import { byteText, unicodeText } from "../gnu/command.ts";
import type { formatPrintf } from "../gnu/printf.ts";

/** A module that formats. */
interface PrintfModule {
  readonly formatPrintf: typeof formatPrintf;
}

/** `printf` as the builtin of bash is. The engine only sets the variable of `-v`. `load` is called when it first prints. */
export function printfCommand(files: ShellFiles, load: () => Promise<PrintfModule>): Command {
  return defineCommand("printf", async (args, { exportedEnv = {}, origCommand }) => {
    const [first = "", second] = args;
    const isSet = first.startsWith("-v");
    const variable = first === "-v" ? second : first.slice(2);
    let rest = isSet ? args.slice(first === "-v" ? 2 : 1) : args;
    const isUnknown = !isSet && /^-[^-]/.test(first);
    if (rest[0] === "--") rest = rest.slice(1);
    const [format, ...words] = rest.map(byteText);
    if (format === undefined || isUnknown) {
      const unknown = isUnknown ? `bash: printf: ${first.slice(0, 2)}: invalid option\n` : "";
      return {
        stdout: "",
        stderr: `${unknown}printf: usage: printf [-v var] format [arguments]\n`,
        exitCode: 2,
      };
    }
    const context = { files: files.forCommands, variables: exportedEnv };
    const { formatPrintf } = await load();
    const { text, errors, exitCode } = formatPrintf(format, words, context);
    const stderr = errors.map((error) => `bash: printf: ${error}\n`).join("");
    if (!isSet) return { stdout: text, stdoutKind: "bytes", stderr, exitCode };
    if (!origCommand) throw new Error("'printf' is not a command of the engine");
    const result = await origCommand(["-v", variable ?? "", "%s", unicodeText(text)]);
    return { ...result, stderr: result.stderr + stderr, exitCode: result.exitCode || exitCode };
  });
}
