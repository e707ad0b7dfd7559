import {
  type CommandContext,
  type GnuCommand,
  linesOf,
  readInputs,
  unicodeText,
  UsageError,
} from "../command.ts";
import { type ParsedOptions, parseOptions, readSize } from "../options.ts";

const HEAD_OPTIONS = "c,bytes=:n,lines=:q,quiet:silent:v,verbose:z,zero-terminated";
const TAIL_OPTIONS =
  "c,bytes=:f,follow?:F:n,lines=:max-unchanged-stats=:pid=:q,quiet:silent:retry:s,sleep-interval=:" +
  "v,verbose:z,zero-terminated";

/** A count of lines or bytes, and from where. */
interface Amount {
  readonly unit: "lines" | "bytes";
  readonly sign: string;
  readonly count: number;
}

function amountOf(options: ParsedOptions): Amount {
  const last = options.given.findLast(({ name }) => name === "n" || name === "c");
  if (!last) return { unit: "lines", sign: "", count: 10 };
  const unit = last.name === "n" ? "lines" : "bytes";
  const sign = /^[-+]/.exec(last.value)?.[0] ?? "";
  const count = readSize(last.value.slice(sign.length));
  if (count === undefined) {
    throw new UsageError(`invalid number of ${unit}: '${unicodeText(last.value)}'`, { hasHint: false });
  }
  return { unit, sign, count };
}

/** Prints a part of each input, under headers if there are several. */
function printParts(options: ParsedOptions, context: CommandContext, part: (text: string) => string): number {
  const readsMany = options.operands.length > 1;
  const showsHeaders = options.has("v") || (readsMany && !options.has("q") && !options.has("silent"));
  let failed = false;
  let isFirst = true;
  for (const name of options.operands.length > 0 ? options.operands : ["-"]) {
    const read = readInputs(
      [name],
      context,
      (text) =>
        context.warn(`cannot open '${unicodeText(name)}' for reading: ${text.slice(text.indexOf(": ") + 2)}`),
    );
    failed ||= read.failed;
    for (const { text } of read.inputs) {
      if (showsHeaders) {
        context.print(`${isFirst ? "" : "\n"}==> ${name === "-" ? "standard input" : name} <==\n`);
      }
      isFirst = false;
      context.print(part(text));
    }
  }
  return failed ? 1 : 0;
}

/** `head` of GNU coreutils 9.1. */
export const head: GnuCommand = (args, context) => {
  const options = parseOptions(args, HEAD_OPTIONS, {
    rewrite: (word) => {
      const [, count, unit] = /^-(\d+[bkm]?)(c?)[ql]*$/.exec(word) ?? [];
      return count === undefined ? undefined : [unit === "c" ? "-c" : "-n", count];
    },
  });
  const { unit, sign, count } = amountOf(options);
  const end = options.has("z") ? "\0" : "\n";
  return printParts(options, context, (text) => {
    const part = partOf(text);
    context.leaveStdin(text.length - part.length);
    return part;
  });

  function partOf(text: string): string {
    if (unit === "bytes") {
      return sign === "-" ? text.slice(0, Math.max(0, text.length - count)) : text.slice(0, count);
    }
    if (sign !== "-") return firstLines(text, count, end);
    const lines = linesOf(text, end);
    return lines.slice(0, Math.max(0, lines.length - count)).join("");
  }
};

function firstLines(text: string, count: number, end: string): string {
  let at = 0;
  for (let line = 0; line < count; line++) {
    const next = text.indexOf(end, at);
    if (next < 0) return text;
    at = next + 1;
  }
  return text.slice(0, at);
}

/** `tail` of GNU coreutils 9.1. `-f` ends at once, as no other program writes to the file meanwhile. */
export const tail: GnuCommand = (args, context) => {
  const options = parseOptions(args, TAIL_OPTIONS, {
    rewrite: (word) => {
      const [, sign, count, unit] = /^([-+])(\d+)([clb]?)f?$/.exec(word) ?? [];
      return count === undefined
        ? undefined
        : [unit === "c" ? "-c" : "-n", sign === "+" ? `+${count}` : count];
    },
  });
  const { unit, sign, count } = amountOf(options);
  const end = options.has("z") ? "\0" : "\n";
  return printParts(options, context, (text) => {
    if (unit === "bytes") {
      return sign === "+" ? text.slice(Math.max(0, count - 1)) : count === 0 ? "" : text.slice(-count);
    }
    const lines = linesOf(text, end);
    return (sign === "+" ? lines.slice(Math.max(0, count - 1)) : count === 0 ? [] : lines.slice(-count)).join(
      "",
    );
  });
};
