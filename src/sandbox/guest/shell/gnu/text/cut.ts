import { type GnuCommand, linesOf, readInputs, unicodeText, UsageError } from "../command.ts";
import { parseOptions } from "../options.ts";

interface Range {
  readonly from: number;
  readonly to: number;
}

function readRanges(list: string, what: string): Range[] {
  const kind = what === "fields" ? "field" : "byte/character";
  const ranges = list.split(/[, \t]/).map((text) => {
    const [, from = "", dash = "", to = ""] = /^(\d*)(-?)(\d*)$/.exec(text) ?? [];
    if (from === "" && dash === "" || /[^\d-]/.test(text) || text.split("-").length > 2) {
      throw new UsageError(
        text === ""
          ? `fields are numbered from 1`
          : `invalid ${kind} ${kind === "field" ? "value" : "position"} '${unicodeText(text)}'`,
      );
    }
    if (text === "-") throw new UsageError("invalid range with no endpoint: -");
    const range = { from: Number(from || 1), to: dash === "" ? Number(from) : Number(to || Infinity) };
    if (range.from === 0 || range.to === 0) {
      throw new UsageError(
        what === "fields" ? "fields are numbered from 1" : "byte/character positions are numbered from 1",
      );
    }
    if (range.to < range.from) throw new UsageError("invalid decreasing range");
    return range;
  });
  return ranges.sort((a, b) => a.from - b.from);
}

/** Joins ranges that overlap. Ranges that only touch stay apart, as an output delimiter separates them. */
function joinRanges(ranges: readonly Range[]): Range[] {
  const joined: Range[] = [];
  for (const range of ranges) {
    const last = joined.at(-1);
    if (last && range.from <= last.to) {
      joined[joined.length - 1] = { from: last.from, to: Math.max(last.to, range.to) };
    } else joined.push(range);
  }
  return joined;
}

function complementOf(ranges: readonly Range[]): Range[] {
  const rest: Range[] = [];
  let next = 1;
  for (const { from, to } of ranges) {
    if (from > next) rest.push({ from: next, to: from - 1 });
    next = Math.max(next, to + 1);
  }
  if (next < Infinity) rest.push({ from: next, to: Infinity });
  return rest;
}

/** `cut` of GNU coreutils 9.1, whose characters are bytes. */
export const cut: GnuCommand = (args, context) => {
  const options = parseOptions(
    args,
    "b,bytes=:c,characters=:d,delimiter=:f,fields=:n:complement:s,only-delimited:output-delimiter=:z,zero-terminated",
  );
  const lists = options.given.filter(({ name }) => /^[bcf]$/.test(name));
  const [list] = lists;
  if (!list) throw new UsageError("you must specify a list of bytes, characters, or fields");
  if (lists.length > 1) throw new UsageError("only one type of list may be specified");
  const isFields = list.name === "f";
  const given = options.value("d");
  if (!isFields && given !== undefined) {
    throw new UsageError("an input delimiter may be specified only when operating on fields");
  }
  if (!isFields && options.has("s")) {
    throw new UsageError("suppressing non-delimited lines makes sense\n\tonly when operating on fields");
  }
  if (given !== undefined && given.length > 1) {
    throw new UsageError("the delimiter must be a single character");
  }
  const delimiter = given === undefined ? "\t" : given || "\0";
  const listed = joinRanges(readRanges(list.value, isFields ? "fields" : "bytes"));
  const ranges = options.has("complement") ? complementOf(listed) : listed;
  const separator = options.value("output-delimiter") ?? (isFields ? delimiter : "");
  const end = options.has("z") ? "\0" : "\n";
  const { inputs, failed } = readInputs(options.operands, context);
  for (const { text } of inputs) {
    context.poll();
    let output = "";
    for (const part of linesOf(text, end)) {
      const line = part.endsWith(end) ? part.slice(0, -1) : part;
      if (!isFields) {
        output += ranges.map(({ from, to }) =>
          line.slice(from - 1, to)
        ).filter((piece) => piece !== "").join(separator) + end;
      } else if (line.includes(delimiter)) {
        const fields = line.split(delimiter);
        output += ranges.flatMap(({ from, to }) => fields.slice(from - 1, to)).join(separator) + end;
      } else if (!options.has("s")) output += line + end;
    }
    context.print(output);
  }
  return failed ? 1 : 0;
};
