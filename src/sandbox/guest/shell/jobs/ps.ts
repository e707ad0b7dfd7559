import {
  type CommandContext,
  type GnuCommand,
  type ProcessEntry,
  unicodeText,
  UsageError,
} from "../gnu/command.ts";
import { formatDate } from "../gnu/date.ts";
import { type Zone, zoneOf } from "../gnu/time_zone.ts";
import { USER } from "../programs/system.ts";

const UID = "0";
const DAY_MS = 86_400_000;

/** What a column prints of a process. */
interface Column {
  readonly head: string;
  readonly width: number;
  /** True if the text stands at the right. */
  readonly isNumber?: boolean;
  readonly text: (entry: ProcessEntry, moment: Moment) => string;
}

interface Moment {
  readonly nowMs: number;
  readonly zone: Zone;
}

interface Selection {
  readonly columns: readonly Column[];
  readonly hasHead: boolean;
  readonly order: readonly string[];
  readonly matches: (entry: ProcessEntry) => boolean;
}

/** Returns the name of a process: the file name of its command. */
export function nameOf({ command }: Pick<ProcessEntry, "command">): string {
  const [word = ""] = command.trim().split(/\s/);
  return word.slice(word.lastIndexOf("/") + 1);
}

/** Returns the processes of the shell, and the command itself. */
export function processesOf({ processes }: CommandContext, command: string): ProcessEntry[] {
  const entries = processes.list();
  const parentPid = entries[0]?.pid ?? 1;
  return [...entries, { pid: processes.nextPid, parentPid, command, startedMs: Date.now() }];
}

const number = (head: string, width: number, text: Column["text"]): Column => ({
  head,
  width,
  isNumber: true,
  text,
});
const text = (head: string, width: number, value: Column["text"]): Column => ({ head, width, text: value });

/** Columns of `-o`. The sandbox measures neither memory nor CPU time of a process. */
const COLUMNS: Readonly<Record<string, Column>> = {
  pid: number("PID", 5, ({ pid }) => String(pid)),
  ppid: number("PPID", 5, ({ parentPid }) => String(parentPid)),
  pgid: number("PGID", 5, ({ pid }) => String(pid)),
  user: text("USER", 8, () => USER),
  uid: number("UID", 5, () => UID),
  UID: text("UID", 8, () => USER),
  comm: text("COMMAND", 15, nameOf),
  CMD: text("CMD", 15, nameOf),
  args: text("COMMAND", 27, ({ command }) => command),
  "full CMD": text("CMD", 27, ({ command }) => command),
  pcpu: number("%CPU", 4, () => "0.0"),
  pmem: number("%MEM", 4, () => "0.0"),
  C: number("C", 2, () => "0"),
  vsz: number("VSZ", 6, () => "0"),
  rss: number("RSS", 5, () => "0"),
  tty: text("TTY", 8, () => "?"),
  TT: text("TT", 8, () => "?"),
  stat: text("STAT", 4, stateOf),
  s: text("S", 1, stateOf),
  start: text("START", 5, clockTime),
  stime: text("STIME", 5, clockTime),
  lstart: text(
    "STARTED",
    24,
    ({ startedMs }, { zone }) => formatDate("%a %b %e %H:%M:%S %Y", startedMs, zone),
  ),
  etime: number("ELAPSED", 11, (entry, moment) => elapsed(secondsOf(entry, moment))),
  etimes: number("ELAPSED", 7, (entry, moment) => String(secondsOf(entry, moment))),
  time: number("TIME", 8, () => "00:00:00"),
  "short TIME": number("TIME", 6, () => "0:00"),
  ni: number("NI", 3, () => "0"),
  pri: number("PRI", 3, () => "19"),
};
const ALIASES: Readonly<Record<string, string>> = {
  cmd: "args",
  command: "args",
  ucmd: "comm",
  ucomm: "comm",
  "%cpu": "pcpu",
  "%mem": "pmem",
  euser: "user",
  ruser: "user",
  euid: "uid",
  nice: "ni",
  state: "s",
  tt: "TT",
  tname: "tty",
  vsize: "vsz",
  rssize: "rss",
  cputime: "time",
  start_time: "start",
};
const SHORT = ["pid", "tty", "time", "CMD"];
const FULL = ["UID", "pid", "ppid", "C", "stime", "tty", "time", "full CMD"];
const USER_FORM = ["user", "pid", "pcpu", "pmem", "vsz", "rss", "tty", "stat", "start", "short TIME", "args"];
const BSD = ["pid", "tty", "stat", "short TIME", "args"];

/** `ps` of procps-ng 4.0, for the shell and its jobs. */
export const ps: GnuCommand = (args, context) => {
  const words = args.map(unicodeText);
  const { columns, hasHead, order, matches } = readArguments(words);
  const entries = processesOf(context, ["ps", ...words].join(" ")).filter(matches);
  const moment = { nowMs: Date.now(), zone: zoneOf(context) };
  sort(entries, order, moment);
  const rows = entries.map((entry) => columns.map((column) => column.text(entry, moment)));
  const head = columns.map((column) => column.head);
  context.print(table(columns, [...hasHead && head.some((word) => word !== "") ? [head] : [], ...rows]));
  return entries.length > 0 ? 0 : 1;
};

function readArguments(args: readonly string[]): Selection {
  const columns: Column[] = [];
  const tests: Selection["matches"][] = [];
  const order: string[] = [];
  let names: readonly string[] = SHORT;
  let hasHead = true;
  const rest = [...args];
  const list = (value: string) => value.split(/[,\s]+/).filter((word) => word !== "");
  const unknown = (word: string): never => {
    throw new UsageError(`the option '${word}' is not available in the sandbox`, { hasHint: false });
  };
  const select = (letter: string, value: string) => {
    const wanted = list(value);
    if (letter === "p") tests.push(({ pid }) => wanted.includes(String(pid)));
    else if (letter === "C") tests.push((entry) => wanted.includes(nameOf(entry)));
    else if (letter === "P") tests.push(({ parentPid }) => wanted.includes(String(parentPid)));
    else tests.push(() => wanted.some((user) => user === USER || user === UID));
  };
  while (rest.length > 0) {
    const word = rest.shift() ?? "";
    const [, long, value] = /^--([a-z-]+)(?:=(.*))?$/.exec(word) ?? [];
    if (long !== undefined) {
      const letter = ({ pid: "p", ppid: "P", user: "u", format: "o", sort: "k" } as const)[long];
      if (/^no-?head/.test(long)) hasHead = false;
      else if (/^(?:cols|columns|width|rows|lines)$/.test(long)) void (value ?? rest.shift());
      else if (letter === "o") columns.push(...columnsOf(value ?? rest.shift() ?? ""));
      else if (letter === "k") order.push(...list(value ?? rest.shift() ?? ""));
      else if (letter) select(letter, value ?? rest.shift() ?? "");
      else unknown(word);
      continue;
    }
    if (/^\d/.test(word)) {
      select("p", word);
      continue;
    }
    const isBsd = !word.startsWith("-");
    const letters = isBsd ? word : word.slice(1);
    for (let at = 0; at < letters.length; at++) {
      const letter = letters.charAt(at);
      const takesValue = /[opqC]/.test(letter) || (letter === "u" && !isBsd && !/^-aux?/.test(word)) ||
        (letter === "U" || letter === "k" && isBsd);
      if (takesValue) {
        const given = letters.slice(at + 1) || rest.shift() || "";
        if (letter === "o") columns.push(...columnsOf(given));
        else if (letter === "k") order.push(...list(given));
        else select(letter === "q" ? "p" : letter === "U" ? "u" : letter, given);
        break;
      }
      if (letter === "f" && !isBsd) names = FULL;
      else if (letter === "u") names = USER_FORM;
      else if (letter === "h" && isBsd) hasHead = false;
      else if (/[ax]/.test(letter) && isBsd && names === SHORT) names = BSD;
      else if (!/[aeAdwxrTfN]/.test(letter) || letter === "N") unknown(word);
    }
  }
  return {
    columns: columns.length > 0 ? columns : names.map((name) => COLUMNS[name] as Column),
    hasHead,
    order,
    matches: (entry) => tests.length === 0 || tests.some((test) => test(entry)),
  };
}

/** Reads columns of `-o`, such as `pid,comm=NAME`. A head that is given takes the rest of the text. */
function columnsOf(format: string): Column[] {
  const [, before = "", head] = /^([^=]*)(?:=(.*))?$/s.exec(format) ?? [];
  const names = before.split(/[,\s]+/).filter((name) => name !== "");
  if (head !== undefined && /^(?:,|[a-z]+=)/.test(head)) {
    return [...columnsOf(`${before}=`), ...columnsOf(head.replace(/^,/, ""))];
  }
  return names.map((name, at) => {
    const column = COLUMNS[ALIASES[name] ?? name];
    if (!column) {
      throw new UsageError(`error: unknown user-defined format specifier "${name}"`, { hasHint: false });
    }
    return at === names.length - 1 && head !== undefined ? { ...column, head } : column;
  });
}

function sort(entries: ProcessEntry[], order: readonly string[], moment: Moment): void {
  for (const key of order.toReversed()) {
    const column = COLUMNS[ALIASES[key.replace(/^[-+]/, "")] ?? key.replace(/^[-+]/, "")];
    const valueOf = (entry: ProcessEntry) => column?.text(entry, moment) ?? "";
    entries.sort((left, right) => {
      const [first, second] = [valueOf(left), valueOf(right)];
      const compared = column?.isNumber
        ? Number(first) - Number(second)
        : first < second
        ? -1
        : Number(first > second);
      return key.startsWith("-") ? -compared : compared;
    });
  }
}

function stateOf({ command }: ProcessEntry): string {
  return nameOf({ command }) === "ps" ? "R" : "S";
}

function clockTime({ startedMs }: ProcessEntry, { nowMs, zone }: Moment): string {
  return formatDate(nowMs - startedMs < DAY_MS ? "%H:%M" : "%b%d", startedMs, zone);
}

function secondsOf({ startedMs }: ProcessEntry, { nowMs }: Moment): number {
  return Math.floor((nowMs - startedMs) / 1000);
}

function elapsed(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const [minutes, hours, days] = [seconds / 60, seconds / 3600, seconds / 86_400].map(Math.floor) as [
    number,
    number,
    number,
  ];
  const short = `${two(minutes % 60)}:${two(seconds % 60)}`;
  return (days > 0 ? `${days}-` : "") + (hours > 0 ? `${two(hours % 24)}:` : "") + short;
}

function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map(({ width, head }, at) => {
    const isLast = at === columns.length - 1;
    return isLast && head === ""
      ? 0
      : Math.max(width, head.length, ...isLast ? [] : rows.map((row) => row[at]?.length ?? 0));
  });
  const lines = rows.map((row) =>
    row.map((cell, at) => {
      if (columns[at]?.isNumber) return cell.padStart(widths[at] ?? 0);
      return at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0);
    }).join(" ")
  );
  return lines.map((line) => `${line}\n`).join("");
}
