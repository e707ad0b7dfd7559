import type { Command } from "just-bash";
import { signalOf } from "../builtins/signal_names.ts";
import { defineCommand } from "../engine.ts";
import { SHELL_ONLY } from "./engine_command.ts";

const TIMEOUT_USAGE = "Try 'timeout --help' for more information.\n";
const [TIMED_OUT_CODE, TIMEOUT_FAILED_CODE] = [124, 125];
/** Suffixes of durations are `s`, `m`, `h` and `d`. */
const DURATION = /^\+?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?[smhd]?$/i;

/** `timeout` of the engine, with the options and exit codes of GNU's. */
export function timeoutCommand(): Command {
  return defineCommand("timeout", async (args, { origCommand }) => {
    if (!origCommand) throw new Error("'timeout' is not a command of the engine");
    const complain = (message: string) => {
      return { stdout: "", stderr: `timeout: ${message}\n${TIMEOUT_USAGE}`, exitCode: TIMEOUT_FAILED_CODE };
    };
    let [signal, keepsStatus, at] = ["TERM", false, 0];
    for (; at < args.length && /^-./.test(args[at] ?? ""); at++) {
      const word = args[at] ?? "";
      if (word === "--") {
        at++;
        break;
      }
      if (word === "--help" || word === "--version") return await origCommand(args);
      const [, name = "", value] = /^(--(?:signal|kill-after)|-[sk])=?(.+)?$/.exec(word) ?? [];
      if (name !== "") {
        const text = value ?? args[++at];
        if (text === undefined) {
          return complain(`option requires an argument -- '${name.replace(/^-+/, "")}'`);
        }
        if (/^(?:-k|--kill)/.test(name) && !DURATION.test(text)) {
          return complain(`invalid time interval '${text}'`);
        }
        if (!/^-k|^--kill/.test(name)) signal = text.toUpperCase().replace(/^SIG/, "");
      } else if (word === "-p" || word === "--preserve-status") keepsStatus = true;
      else if (!/^(?:-[fv]|--foreground|--verbose)$/.test(word)) {
        return complain(`unrecognized option '${word}'`);
      }
    }
    const known = signalOf(signal);
    if (!known && signal !== "0") return complain(`'${signal}': invalid signal`);
    const [duration, ...command] = args.slice(at);
    if (duration === undefined || command.length === 0) return complain("missing operand");
    if (!DURATION.test(duration)) return complain(`invalid time interval '${duration}'`);
    if (SHELL_ONLY.has(command[0] ?? "")) {
      const stderr = `timeout: failed to run command ‘${command[0]}’: No such file or directory\n`;
      return { stdout: "", stderr, exitCode: 127 };
    }
    const result = await origCommand([duration, ...command]);
    const isKilled = keepsStatus || signal === "KILL" || signal === "9";
    if (result.exitCode !== TIMED_OUT_CODE || !isKilled || !known) return result;
    return { ...result, exitCode: 128 + known.number };
  });
}
