import { Command } from "commander";
import { abortable } from "../async/abort.ts";
import { EXIT, runCommand } from "./run_command.ts";
import { type Line, readLines } from "../read_lines.ts";
import {
  clockOption,
  flagsOf,
  profileOption,
  resolveProfile,
  type SandboxFlags,
  startSandbox,
} from "./sandbox_options.ts";
import { SessionBranches } from "./session/session_branches.ts";
import { respondToLine } from "./session/session_protocol.ts";
import { printHint, writeText } from "./output.ts";
import { parseCheckpointEvery, parseWholeNumber } from "./options.ts";
import type { CheckpointEvery } from "../sandbox/contract/checkpoint.ts";
import { currentIo } from "./io.ts";
import { escapeJsonControls } from "../terminal_text.ts";

interface SessionFlags extends SandboxFlags {
  seed?: number;
  checkpointEvery?: CheckpointEvery;
}

/** Maximum length of a request line, in bytes. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

const PROTOCOL = `
Each line on stdin is a request, each line on stdout its response, in the same order:
  {"id":1,"code":"x = 2\\nx + 1","timeoutMs":1000,"stdin":"…"}   only "code" is required
  {"id":6,"code":"n + len(raw)","inputs":{"n":1},"binaryInputs":{"raw":{"type":"bytes","base64":"aGk="}}}
                                                                set globals to JSON, to bytes, and to arrays of
      numbers: the type is int8, int16, uint16, …, uint64, float32 or float64
  {"id":5,"shell":"ls | wc -l","timeoutMs":1000,"stdin":"…"}     needs a profile with a shell: -p workspace;
      "silenceMs" limits the time without output
  {"id":13,"code":"from paddock import tools\\ntools.ask(q='age?')","tools":[{"name":"ask","description":"…",
      "parameters":{…}}]}                                       wait at each call of a tool, with a JSON Schema of its
      arguments: "status":"waiting" with the "call". It needs a profile with tools: -p tools
  {"id":14,"resume":{"value":7},"callId":"call_1"}              answer the call, or {"error":{"message":"…"}}; "callId" is
      optional. After a restore, also "tools": a checkpoint of a session that waits has only their names
  {"id":2,"reset":"rewind","seed":7}                            or "fresh"; "seed" is optional
  {"id":3,"put":{"data.txt":"aGk="}}                            write files, in base64
  {"id":4,"get":["data.txt"]}                                   read files; missing files are omitted
  {"id":7,"checkpoint":true}                                    keep the state; the response has its id as "checkpoint";
      with "memory": false, the files alone
  {"id":8,"restore":"9f86…"}                                    return to a checkpoint, whose id this is
  {"id":9,"fork":2,"seed":7}                                    make copies; the response has their ids as "sessions"
  {"id":10,"session":"s1","code":"x"}                           every request can name a copy; without, the first session
  {"id":11,"session":"s1","end":true}                           end a copy
  {"id":12,"forget":"9f86…"}                                    delete a checkpoint
A response has the "id" of its request (null if it has none) and a "status": that of the program, "ok",
"invalid" for an invalid request, or "failed" if the sandbox failed. The command ends after the last line. A lost
interpreter is replaced by a fresh one ("restarted": true in the next response), or with --checkpoint-every exec, or
a number of seconds, by one in the state of the last checkpoint ("restoredFrom").

Example:
  printf '%s\\n' '{"id":1,"code":"x = 20"}' '{"id":2,"code":"x + 1"}' | paddock session

Exit codes: 0 every request has a response, 2 wrong usage, 125 the sandbox could not be started, 130 interrupted.`;

/** Returns the command `session`: an interpreter that another program drives with lines of JSON. */
export function sessionCommand(): Command {
  return new Command("session")
    .description("Run a Python session that reads requests and writes responses as lines of JSON")
    .addOption(profileOption())
    .addOption(clockOption())
    .option("--seed <n>", "make random, secrets and uuid4 reproducible", parseWholeNumber(0))
    .option(
      "--checkpoint-every <when>",
      "return to the state after the last exec, or of so many seconds ago, if the interpreter is lost",
      parseCheckpointEvery,
    )
    .addHelpText("after", PROTOCOL)
    .action(async (_: object, command: Command) => {
      await runCommand((signal) => runSession(flagsOf(command), signal));
    });
}

async function runSession(flags: SessionFlags, signal: AbortSignal): Promise<number> {
  const profile = await resolveProfile(flags, signal);
  await using sandbox = await startSandbox(profile, { cacheDir: flags.cacheDir, signal });
  const session = await sandbox.openSession({
    seed: flags.seed,
    checkpointEvery: flags.checkpointEvery,
    signal,
  });
  await using branches = new SessionBranches(session);
  await printHint('Waiting for requests on stdin, such as {"code": "6 * 7"}; press Ctrl-D to end');
  const lines = readLines(currentIo().stdin.readable, { maxBytes: MAX_LINE_BYTES });
  const { stdout } = currentIo();
  for (;;) {
    const { done, value } = await abortable(lines.next(), signal);
    if (done) return EXIT.ok;
    if (isBlank(value)) continue;
    await writeText(stdout, `${escapeJsonControls(await respondToLine(branches, value, signal))}\n`);
  }
}

function isBlank(line: Line): boolean {
  return "text" in line && line.text.trim() === "";
}
