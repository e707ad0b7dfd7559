/** Names of the signals of Linux without `SIG`, by number. Numbers 0, 32 and 33 have none. */
const SIGNALS: readonly string[] = [
  "",
  ..."HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU"
    .split(" "),
  ..."URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS".split(" "),
  "",
  "",
  ...Array.from({ length: 16 }, (_, at) => at === 0 ? "RTMIN" : `RTMIN+${at}`),
  ...Array.from({ length: 15 }, (_, at) => at === 14 ? "RTMAX" : `RTMAX-${14 - at}`),
];

/** Signals that do not end a process without a trap. */
const IGNORED = new Set(["CHLD", "CONT", "URG", "WINCH"]);
/** Signals that would stop a process. */
const STOPPING = new Set(["STOP", "TSTP", "TTIN", "TTOU"]);
/** Signals that a process cannot handle. */
const UNHANDLED = new Set(["KILL", "STOP"]);

/** A signal. */
export interface Signal {
  readonly number: number;
  /** Name without `SIG`. */
  readonly name: string;
  /** What it does to a process without a trap. */
  readonly effect: "end" | "ignore" | "stop";
  readonly canBeTrapped: boolean;
}

/** Returns the signal that a word names, by name with or without `SIG`, or by number. */
export function signalOf(word: string): Signal | undefined {
  const name = word.toUpperCase().replace(/^SIG/, "");
  const number = /^\d+$/.test(word) ? Number(word) : name === "" ? -1 : SIGNALS.indexOf(name);
  const known = SIGNALS[number];
  if (known === undefined || known === "") return undefined;
  const effect = IGNORED.has(known) ? "ignore" : STOPPING.has(known) ? "stop" : "end";
  return { number, name: known, effect, canBeTrapped: !UNHANDLED.has(known) };
}

/** Returns the table of all signals, as `kill -l` and `trap -l` print it. */
export function signalTable(): string {
  const entries = SIGNALS.flatMap((name, number) =>
    name === "" ? [] : [`${String(number).padStart(2)}) SIG${name}`]
  );
  const text = entries.map((entry, at) => entry + (at % 5 === 4 ? "\n" : "\t")).join("");
  return text.endsWith("\n") ? text : `${text.slice(0, -1)}\n`;
}
