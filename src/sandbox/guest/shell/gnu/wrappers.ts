import { type CommandContext, type GnuCommand, unicodeText, UsageError } from "./command.ts";
import { parseOptions } from "./options.ts";

const FAILED = 125;

/** `nohup`, which runs a command. No terminal hangs up in the sandbox, so that the output stays where it goes. */
export const nohup: GnuCommand = async (args, { run }) => {
  const words = args[0] === "--" ? args.slice(1) : args;
  const [first] = words;
  if (first === undefined) throw new UsageError("missing operand", { exitCode: FAILED });
  if (first.startsWith("-")) throw new UsageError(`unrecognized option '${first}'`, { exitCode: FAILED });
  return (await run(words)).exitCode;
};

/** `nice`, which runs a command: the sandbox has one priority, 0. */
export const nice: GnuCommand = async (args, context) => {
  const expanded = args.map((word, at) => {
    const isOption = args.slice(0, at).every((other) => other.startsWith("-"));
    return isOption && /^-[-+]?\d+$/.test(word) ? `-n${word.slice(1)}` : word;
  });
  const options = parseOptions(expanded, "n,adjustment=", { exitCode: FAILED, stopsAtOperand: true });
  const adjustment = options.value("n");
  if (adjustment !== undefined && !/^[-+]?\d+$/.test(adjustment)) {
    throw new UsageError(`invalid adjustment '${unicodeText(adjustment)}'`, {
      exitCode: FAILED,
      hasHint: false,
    });
  }
  if (options.operands.length > 0) return await runCommand(options.operands, context);
  if (adjustment !== undefined) {
    throw new UsageError("a command must be given with an adjustment", { exitCode: FAILED });
  }
  context.print("0\n");
  return 0;
};

/** `stdbuf`, which runs a command: the output of a command is one piece here. */
export const stdbuf: GnuCommand = async (args, context) => {
  const options = parseOptions(args, "i,input=:o,output=:e,error=", {
    exitCode: FAILED,
    stopsAtOperand: true,
  });
  for (const { name, value } of options.given) {
    if (!/^(?:L|\d+(?:[kKMG]B?)?)$/.test(value) || (name === "i" && value === "L")) {
      const message = value === "L"
        ? "line buffering stdin is meaningless"
        : `invalid mode '${unicodeText(value)}'`;
      throw new UsageError(message, { exitCode: FAILED, hasHint: value === "L" });
    }
  }
  if (options.operands.length === 0) throw new UsageError("missing operand", { exitCode: FAILED });
  if (options.given.length === 0) {
    throw new UsageError("you must specify a buffering mode option", { exitCode: FAILED });
  }
  return await runCommand(options.operands, context);
};

/** `setsid`, which runs a command: the sandbox has no sessions of terminals. */
export const setsid: GnuCommand = async (args, context) => {
  const options = parseOptions(args, "c,ctty:f,fork:w,wait", { stopsAtOperand: true });
  if (options.operands.length === 0) throw new UsageError("no command specified");
  return await runCommand(options.operands, context);
};

async function runCommand(words: readonly string[], context: CommandContext): Promise<number> {
  return (await context.run(words, { stdin: context.stdin })).exitCode;
}

/** `tty`: the sandbox has no terminal. */
export const tty: GnuCommand = (args, { print }) => {
  const options = parseOptions(args, "s,silent,quiet", { exitCode: 2 });
  if (options.operands.length > 0) {
    throw new UsageError(`extra operand '${unicodeText(options.operands[0] ?? "")}'`, { exitCode: 2 });
  }
  if (!options.has("s")) print("not a tty\n");
  return 1;
};

/** `arch`, which names the machine. */
export const arch: GnuCommand = (args, { print }) => {
  const { operands } = parseOptions(args, "");
  if (operands.length > 0) throw new UsageError(`extra operand '${unicodeText(operands[0] ?? "")}'`);
  print("x86_64\n");
  return 0;
};
