import { type GnuCommand, UsageError } from "./command.ts";

/** `nohup`, which runs a command. No terminal hangs up in the sandbox, so that the output stays where it goes. */
export const nohup: GnuCommand = async (args, { run }) => {
  const words = args[0] === "--" ? args.slice(1) : args;
  const [first] = words;
  if (first === undefined) throw new UsageError("missing operand", { exitCode: 125 });
  if (first.startsWith("-")) throw new UsageError(`unrecognized option '${first}'`, { exitCode: 125 });
  return (await run(words)).exitCode;
};
