import { type CommandContext, type GnuCommand, type ProcessEntry, UsageError } from "../gnu/command.ts";
import { formatDate } from "../gnu/date.ts";
import { zoneOf } from "../gnu/time_zone.ts";
import { USER } from "../programs/system.ts";
import { nameOf, processesOf } from "./ps.ts";

const HEAD = "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND";
/** Rounds of a run, each of which prints the same processes. */
const MAX_ROUNDS = 1000;

/** `top -b` of procps-ng 4.0. The sandbox measures neither memory nor CPU time of a process. */
export const top: GnuCommand = (args, context) => {
  const { isBatch, rounds, pids } = readArguments(args);
  if (!isBatch) {
    context.printError("top: failed tty get\n");
    return 1;
  }
  if (rounds === undefined) {
    throw new UsageError("an endless output is not available in the sandbox: use -n", { hasHint: false });
  }
  const entries = processesOf(context, ["top", ...args].join(" "))
    .filter(({ pid }) => pids.length === 0 || pids.includes(String(pid)));
  const text = roundOf(entries, context);
  context.print(Array.from({ length: Math.min(rounds, MAX_ROUNDS) }, () => text).join("\n"));
  return 0;
};

function readArguments(args: readonly string[]) {
  let isBatch = false;
  let rounds: number | undefined;
  const pids: string[] = [];
  const rest = args.flatMap((word) => /^-[a-zA-Z]{2,}/.test(word) ? split(word) : [word]);
  while (rest.length > 0) {
    const word = rest.shift() ?? "";
    const letter = word.slice(1, 2);
    if (!word.startsWith("-") || !/^[bcdHinopSu1wE]$/.test(letter)) {
      throw new UsageError(`the option '${word}' is not available in the sandbox`, { hasHint: false });
    }
    if (letter === "b") isBatch = true;
    if (!/[dnpouwE]/.test(letter)) continue;
    const value = word.slice(2) || rest.shift() || "";
    if (letter === "n") rounds = countOf(value);
    if (letter === "p") pids.push(...value.split(","));
  }
  return { isBatch, rounds, pids };
}

/** Splits joined options such as `-bn1`. */
function split(word: string): string[] {
  const [, flags = "", rest = ""] = /^-([bcHiS1]*)(.*)$/.exec(word) ?? [];
  return [...[...flags].map((letter) => `-${letter}`), ...rest === "" ? [] : [`-${rest}`]];
}

function countOf(value: string): number {
  if (/^[1-9]\d*$/.test(value)) return Number(value);
  throw new UsageError(`bad iterations argument '${value}'`, { hasHint: false });
}

function roundOf(entries: readonly ProcessEntry[], context: CommandContext): string {
  const nowMs = Date.now();
  const minutes = Math.floor((nowMs - (entries[0]?.startedMs ?? nowMs)) / 60_000);
  const up = minutes < 60
    ? `${minutes} min`
    : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}`;
  const count = (value: number) => String(value).padStart(3);
  const memory = [0, 0, 0].map((value) => value.toFixed(1).padStart(8));
  const lines = entries.map((entry) => {
    const state = nameOf(entry) === "top" ? "R" : "S";
    const pid = String(entry.pid).padStart(7);
    return `${pid} ${USER.padEnd(8)}  20   0       0      0      0 ${state}   0.0   0.0   0:00.00 ${
      nameOf(entry)
    }`;
  });
  return [
    `top - ${
      formatDate("%H:%M:%S", nowMs, zoneOf(context))
    } up ${up},  0 user,  load average: 0.00, 0.00, 0.00`,
    `Tasks: ${count(entries.length)} total, ${count(1)} running, ${count(entries.length - 1)} sleeping, ` +
    `${count(0)} stopped, ${count(0)} zombie`,
    "%Cpu(s):  0.0 us,  0.0 sy,  0.0 ni,100.0 id,  0.0 wa,  0.0 hi,  0.0 si,  0.0 st ",
    `MiB Mem : ${memory[0]} total, ${memory[1]} free, ${memory[2]} used, ${memory[0]} buff/cache     `,
    `MiB Swap: ${memory[0]} total, ${memory[1]} free, ${memory[2]} used. ${memory[0]} avail Mem `,
    "",
    HEAD,
    ...lines,
    "",
  ].join("\n");
}
