import { UsageError } from "./command.ts";

/**
 * The options of a command, as a text such as `n,lines=:v,verbose`, in the manner of getopt. `n,lines=` takes a value,
 * `color?` an optional value that only `--color=value` can give.
 */
export interface ParsedOptions {
  /** Options in the order in which they were given, by their first names. */
  readonly given: readonly { readonly name: string; readonly value: string }[];
  readonly operands: readonly string[];
  has(name: string): boolean;
  /** Last value of an option. */
  value(name: string): string | undefined;
  values(name: string): string[];
}

interface Option {
  readonly name: string;
  readonly takes: "nothing" | "value" | "optional";
}

/** Settings of {@linkcode parseOptions}. */
export interface ParseSettings {
  /** Exit code of a usage error. @default 1 */
  readonly exitCode?: number;
  /** Whether options end at the first operand. @default false */
  readonly stopsAtOperand?: boolean;
  /** Converts an old form of the first argument, such as `-5` of `head`. */
  readonly rewrite?: (word: string) => readonly string[] | undefined;
}

/** Parses arguments as `getopt_long` of the C library does: permuted operands, joined flags, abbreviated long names. */
export function parseOptions(
  args: readonly string[],
  definition: string,
  { exitCode = 1, stopsAtOperand = false, rewrite }: ParseSettings = {},
): ParsedOptions {
  const options = readDefinition(definition);
  const given: { name: string; value: string }[] = [];
  const operands: string[] = [];
  const rest = args.flatMap((word, index) => (index === 0 ? rewrite?.(word) : undefined) ?? [word]);
  const fail = (message: string) => {
    throw new UsageError(message, { exitCode });
  };
  while (rest.length > 0) {
    const word = rest.shift() ?? "";
    if (word === "--") {
      operands.push(...rest.splice(0));
    } else if (word.startsWith("--")) {
      const at = word.indexOf("=");
      const name = word.slice(2, at < 0 ? undefined : at);
      const option = findLong(options, name, fail);
      let value = at < 0 ? "" : word.slice(at + 1);
      if (option.takes === "nothing" && at >= 0) fail(`option '--${option.long}' doesn't allow an argument`);
      if (option.takes === "value" && at < 0) {
        if (rest.length === 0) fail(`option '--${option.long}' requires an argument`);
        value = rest.shift() ?? "";
      }
      given.push({ name: option.name, value });
    } else if (word.startsWith("-") && word !== "-") {
      for (let at = 1; at < word.length; at++) {
        const letter = word.charAt(at);
        const option = options.get(letter) ?? fail(`invalid option -- '${letter}'`);
        let value = "";
        if (option?.takes !== "nothing") {
          value = word.slice(at + 1);
          at = word.length;
          if (value === "" && option?.takes === "value") {
            if (rest.length === 0) fail(`option requires an argument -- '${letter}'`);
            value = rest.shift() ?? "";
          }
        }
        given.push({ name: option?.name ?? "", value });
      }
    } else {
      operands.push(word);
      if (stopsAtOperand) operands.push(...rest.splice(0));
    }
  }
  const values = (name: string) => given.filter((option) => option.name === name).map(({ value }) => value);
  return {
    given,
    operands,
    has: (name) => given.some((option) => option.name === name),
    value: (name) => values(name).at(-1),
    values,
  };
}

function readDefinition(definition: string): Map<string, Option> {
  const options = new Map<string, Option>();
  for (const entry of definition.split(":").filter((text) => text !== "")) {
    const takes = entry.endsWith("=") ? "value" : entry.endsWith("?") ? "optional" : "nothing";
    const names = entry.replace(/[=?]$/, "").split(",");
    for (const name of names) options.set(name, { name: names[0] ?? "", takes });
  }
  return options;
}

function findLong(
  options: ReadonlyMap<string, Option>,
  name: string,
  fail: (message: string) => void,
): Option & { long: string } {
  const exact = options.get(name);
  if (exact && name.length > 1) return { ...exact, long: name };
  const found = [...options].filter(([long]) => long.length > 1 && long.startsWith(name));
  const [first] = found;
  if (!first) {
    fail(`unrecognized option '--${name}'`);
    throw new UsageError("unreachable");
  }
  if (new Set(found.map(([, option]) => option.name)).size > 1) {
    const list = found.map(([long]) => ` '--${long}'`).join("");
    fail(`option '--${name}' is ambiguous; possibilities:${list}`);
  }
  return { ...first[1], long: first[0] };
}

const UNITS = "bkKMGTPE";

/** Reads a count with a suffix, such as `10k`; `undefined` if it is none. */
export function readSize(text: string): number | undefined {
  const [, digits, unit = ""] = /^(\d+)(b|[kKMGTPE](?:iB|B)?)?$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  if (unit === "b") return Number(digits) * 512;
  const power = unit === "" ? 0 : Math.max(1, UNITS.indexOf(unit.charAt(0).toUpperCase()) - 1);
  return Number(digits) * (/^.B$/.test(unit) ? 1000 : 1024) ** power;
}
