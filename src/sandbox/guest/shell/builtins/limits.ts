import { type Builtin, complained, printed } from "./builtin.ts";

/** Resources by option of `ulimit`: name, unit, and the value that the sandbox has, or `unlimited`. */
const RESOURCES: Readonly<Record<string, readonly [name: string, unit: string, value: string]>> = {
  R: ["real-time non-blocking time ", "microseconds, ", "unlimited"],
  c: ["core file size              ", "blocks, ", "0"],
  d: ["data seg size               ", "kbytes, ", "unlimited"],
  e: ["scheduling priority                 ", "", "0"],
  f: ["file size                   ", "blocks, ", "unlimited"],
  i: ["pending signals                     ", "", "0"],
  l: ["max locked memory           ", "kbytes, ", "0"],
  m: ["max memory size             ", "kbytes, ", "unlimited"],
  n: ["open files                          ", "", "1024"],
  p: ["pipe size                ", "512 bytes, ", "8"],
  q: ["POSIX message queues         ", "bytes, ", "0"],
  r: ["real-time priority                  ", "", "0"],
  s: ["stack size                  ", "kbytes, ", "8192"],
  t: ["cpu time                   ", "seconds, ", "unlimited"],
  u: ["max user processes                  ", "", "unlimited"],
  v: ["virtual memory              ", "kbytes, ", "unlimited"],
  x: ["file locks                          ", "", "unlimited"],
};
const USAGE = "ulimit: usage: ulimit [-SHabcdefiklmnpqrstuvxPRT] [limit]\n";

/**
 * `ulimit`. It prints limits, and accepts a value that changes nothing. The operator of the sandbox sets its limits, so
 * that any other value is refused.
 */
export const ulimit: Builtin = ({ args }) => {
  const letters = args.filter((word) => /^-./.test(word)).join("").replaceAll("-", "");
  const [value] = args.filter((word) => !/^-./.test(word));
  const unknown = [...letters].find((letter) => !"SHa".includes(letter) && !(letter in RESOURCES));
  if (unknown !== undefined) {
    return { stdout: "", stderr: `bash: ulimit: -${unknown}: invalid option\n${USAGE}`, exitCode: 2 };
  }
  if (letters.includes("a")) {
    const lines = Object.entries(RESOURCES).map(([letter, [name, unit, limit]]) => {
      return `${name}(${unit}-${letter}) ${limit}\n`;
    });
    return printed(lines.join(""));
  }
  const [letter = "f"] = letters.replaceAll(/[SH]/g, "");
  const [name = "", , limit = ""] = RESOURCES[letter] ?? [];
  if (value === undefined) return printed(`${limit}\n`);
  if (value === limit || value === "hard" || value === "soft") return printed("");
  const isNumber = /^(?:\d+|unlimited)$/.test(value);
  return complained(
    isNumber
      ? `ulimit: ${name.trim()}: cannot modify limit: the sandbox has fixed limits`
      : `ulimit: ${value}: invalid number`,
  );
};

/**
 * `times`. A shell and its commands share a thread, whose CPU time the sandbox does not measure: the time that has
 * passed counts as the shell's, and the commands have none.
 */
export const times: Builtin = ({ state }) => {
  const seconds = (Date.now() - state.startTime) / 1000;
  const passed = `${Math.floor(seconds / 60)}m${(seconds % 60).toFixed(3)}s`;
  return printed(`${passed} 0m0.000s\n0m0.000s 0m0.000s\n`);
};
