import { Command } from "commander";
import { abortable } from "../async/abort.ts";
import { EXIT, runCommand } from "./command.ts";
import { type Line, readLines } from "../read_lines.ts";
import {
  flagsOf,
  profileOption,
  resolveProfile,
  type SandboxFlags,
  startSandbox,
} from "./sandbox_options.ts";
import { respondToLine } from "./session_protocol.ts";
import { printHint, writeText } from "./output.ts";
import { parseWholeNumber } from "./options.ts";
import { currentIo } from "./io.ts";

interface SessionFlags extends SandboxFlags {
  seed?: number;
}

/** A longer line is no request. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

const PROTOCOL = `
Each line on stdin is a request, each line on stdout the answer to one, in the same order:
  {"id":1,"code":"x = 2\\nx + 1","timeoutMs":1000,"stdin":"…"}   all but "code" may be left out
  {"id":5,"shell":"ls | wc -l","timeoutMs":1000,"stdin":"…"}     with a profile that has a shell: -p workspace;
      it may have "silenceMs", how long the command may write nothing
  {"id":2,"reset":"rewind","seed":7}                            or "fresh"; "seed" may be left out
  {"id":3,"put":{"data.txt":"aGk="}}                            files into the session, in base64
  {"id":4,"get":["data.txt"]}                                   files out of it; missing ones are left out
An answer has the "id" of its request, null where there was none, and a "status": that of the program, "ok",
"invalid" for a line that is no request, "failed" when the sandbox failed. After the last line the command
ends.

Example:
  printf '%s\\n' '{"id":1,"code":"x = 20"}' '{"id":2,"code":"x + 1"}' | paddock session

Exit codes: 0 all lines were answered, 2 wrong usage, 125 the sandbox could not be started, 130 interrupted.`;

/** The command `session`: one interpreter that another program drives by lines of JSON. */
export function sessionCommand(): Command {
  return new Command("session")
    .description("Answer lines of JSON on stdin from one Python session")
    .addOption(profileOption())
    .option("--seed <n>", "make random, secrets and uuid4 reproducible", parseWholeNumber(0))
    .addHelpText("after", PROTOCOL)
    .action(async (_: object, command: Command) => {
      await runCommand((signal) => runSession(flagsOf(command), signal));
    });
}

async function runSession(flags: SessionFlags, signal: AbortSignal): Promise<number> {
  const profile = await resolveProfile(flags);
  await using sandbox = await startSandbox(profile, { cacheDir: flags.cacheDir, signal });
  const session = await sandbox.openSession({ seed: flags.seed, signal });
  await printHint('Waiting for lines such as {"code": "6 * 7"}; Ctrl-D ends');
  const lines = readLines(currentIo().stdin.readable, { maxBytes: MAX_LINE_BYTES });
  for (;;) {
    const { done, value } = await abortable(lines.next(), signal);
    if (done) return EXIT.ok;
    if (isBlank(value)) continue;
    await writeText(currentIo().stdout, `${await respondToLine(session, value, signal)}\n`);
  }
}

function isBlank(line: Line): boolean {
  return "text" in line && line.text.trim() === "";
}
