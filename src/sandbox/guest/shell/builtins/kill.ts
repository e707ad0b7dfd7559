import type { CommandOutput } from "../terminal.ts";
import { type Builtin, type BuiltinCall, complained, joined, printed } from "./builtin.ts";
import { type Signal, signalOf, signalTable } from "./signal_names.ts";

const USAGE =
  "kill: usage: kill [-s sigspec | -n signum | -sigspec] pid | jobspec ... or kill -l [sigspec]\n";
/** Exit codes of programs that a signal ended begin behind this code. */
const SIGNAL_CODES = 128;

/** Sends a signal to the shell that calls `kill`. */
export type SignalSelf = (signal: Signal, call: BuiltinCall) => Promise<CommandOutput>;

/** Processes that can get a signal. */
export interface SignalTargets {
  readonly signalSelf: SignalSelf;
  readonly jobs: {
    /** Sends a signal to a job, or asks only whether the job runs. Returns `false` if there is no such job. */
    signal(name: string, signal: Signal | undefined): boolean;
  };
}

/** Returns `kill`, for the shell itself and its jobs. */
export function killBuiltin(targets: SignalTargets): Builtin {
  return async (call) => {
    const { args } = call;
    const [first = ""] = args;
    if (first === "-l" || first === "-L") return listSignals(args.slice(1));
    const { word, targets: names } = readArguments(args);
    if (word === undefined || names.length === 0) return { stdout: "", stderr: USAGE, exitCode: 2 };
    const signal = signalOf(word);
    if (!signal && word !== "0" && word.toUpperCase() !== "EXIT") {
      return complained(`kill: ${word}: invalid signal specification`);
    }
    const results = [];
    for (const name of names) results.push(await signalProcess(name, signal, call, targets));
    return joined(results);
  };
}

function readArguments(args: readonly string[]): { word?: string; targets: readonly string[] } {
  const [first = "", second] = args;
  if (first === "-s" || first === "-n") {
    return { ...(second !== undefined && { word: second }), targets: withoutSeparator(args.slice(2)) };
  }
  if (/^-[^-]/.test(first)) return { word: first.slice(1), targets: withoutSeparator(args.slice(1)) };
  return { word: "TERM", targets: withoutSeparator(args) };
}

function withoutSeparator(words: readonly string[]): readonly string[] {
  return words[0] === "--" ? words.slice(1) : words;
}

function listSignals(words: readonly string[]): CommandOutput {
  if (words.length === 0) return printed(signalTable());
  return joined(words.map((word) => {
    const number = Number(word) > SIGNAL_CODES ? String(Number(word) - SIGNAL_CODES) : word;
    const signal = signalOf(number);
    if (!signal) return complained(`kill: ${word}: invalid signal specification`);
    return printed(`${/^\d+$/.test(word) ? signal.name : signal.number}\n`);
  }));
}

async function signalProcess(
  target: string,
  signal: Signal | undefined,
  call: BuiltinCall,
  { jobs, signalSelf }: SignalTargets,
): Promise<CommandOutput> {
  if (signal?.effect === "stop" && jobs.signal(target, undefined)) {
    return complained("kill: a job cannot be stopped in the sandbox");
  }
  if (jobs.signal(target, signal)) return printed("");
  if (target.startsWith("%")) return complained(`kill: ${target}: no such job`);
  if (!/^-?\d+$/.test(target)) return complained(`kill: ${target}: arguments must be process or job IDs`);
  const { virtualPid, bashPid } = call.state;
  const pid = Number(target);
  if (pid <= 0) return complained(`kill: (${target}) - Operation not permitted`);
  if (pid !== virtualPid && pid !== bashPid) return complained(`kill: (${target}) - No such process`);
  if (!signal) return printed("");
  if (signal.effect === "stop") return complained(`kill: a shell cannot be stopped in the sandbox`);
  if (pid !== bashPid) {
    return complained(`kill: (${target}) - a subshell cannot signal its shell in the sandbox`);
  }
  return await signalSelf(signal, call);
}
