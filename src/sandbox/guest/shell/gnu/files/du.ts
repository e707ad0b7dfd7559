import { errorText, type FileStatus, type GnuCommand, pathOf, unicodeText, UsageError } from "../command.ts";
import { globExpression } from "../glob.ts";
import { parseOptions, readSize } from "../options.ts";
import { blocksOf } from "./file_format.ts";
import { childOf, fail, quoted, refuse } from "./operands.ts";

const OPTIONS = "0,null:a,all:apparent-size:B,block-size=:b,bytes:c,total:D,dereference-args:d,max-depth=:" +
  "files0-from=:H:h,human-readable:inodes:k:L,dereference:l,count-links:m:P,no-dereference:S,separate-dirs:si:" +
  "s,summarize:t,threshold=:time?:time-style=:X,exclude-from=:exclude=:x,one-file-system";
const UNITS = "KMGTPE";

/** Size as `-h` prints it: at most a single digit behind the point, rounded up. */
export function humanSize(bytes: number, base = 1024): string {
  if (bytes < base) return String(bytes);
  let power = 0;
  let size = bytes;
  while (size >= base && power < UNITS.length) {
    size /= base;
    power++;
  }
  const unit = base === 1000 && power === 1 ? "k" : UNITS.charAt(power - 1);
  const tenths = Math.ceil(size * 10);
  if (tenths < 100) return `${(tenths / 10).toFixed(1)}${unit}`;
  const whole = Math.ceil(size);
  return whole === base && power < UNITS.length ? `1.0${UNITS.charAt(power)}` : `${whole}${unit}`;
}

/** `du` of GNU coreutils 9.1. Files occupy blocks of 4096 bytes, as on most file systems of Linux. */
export const du: GnuCommand = (args, context) => {
  const options = parseOptions(args, OPTIONS);
  refuse(options, ["time", "time-style", "files0-from", "X"]);
  const { files, cwd, print, warn, poll } = context;
  const [isSummary, showsAll] = [options.has("s"), options.has("a")];
  const depthText = options.value("d");
  if (depthText !== undefined && !/^\d+$/.test(depthText)) fail(`invalid maximum depth ${quoted(depthText)}`);
  if (isSummary && showsAll) throw new UsageError("cannot both summarize and show all entries");
  if (isSummary && depthText !== undefined && Number(depthText) > 0) {
    throw new UsageError(`summarizing conflicts with --max-depth=${Number(depthText)}`);
  }
  const maxDepth = isSummary ? 0 : Number(depthText ?? Infinity);
  const isApparent = options.has("apparent-size") || options.has("b");
  const format = formatOf(options.given, context.variables);
  const sizeOf = (status: FileStatus) => {
    if (options.has("inodes")) return 1;
    if (!isApparent) return blocksOf(status) * 1024;
    return status.kind === "directory" ? 4096 : status.size;
  };
  const shown = options.has("inodes") ? (count: number) => String(count) : format;
  const excluded = options.values("exclude").map((pattern) => globExpression(unicodeText(pattern)));
  const isExcluded = (name: string) => {
    const text = unicodeText(name);
    return excluded.some((pattern) =>
      pattern.test(text) || pattern.test(text.slice(text.lastIndexOf("/") + 1))
    );
  };
  const thresholdText = options.value("t");
  const threshold = thresholdText === undefined ? undefined : readSize(thresholdText.replace(/^-/, ""));
  if (thresholdText !== undefined && threshold === undefined) {
    fail(`invalid --threshold argument ${quoted(thresholdText)}`);
  }
  const isWithin = (size: number) =>
    threshold === undefined || (thresholdText?.startsWith("-") ? size <= threshold : size >= threshold);
  const end = options.has("0") ? "\0" : "\n";
  const seen = new Set<number>();
  let failed = false;
  let total = 0;
  const measure = (name: string, depth: number): { all: number; own: number } => {
    poll();
    const path = pathOf(cwd, name);
    try {
      const follow = options.has("L") ||
        depth === 0 && (options.has("D") || options.has("H") || name.endsWith("/"));
      const status = files.status(path, { follow });
      if (seen.has(status.inode)) return { all: 0, own: 0 };
      seen.add(status.inode);
      const own = sizeOf(status);
      let all = own;
      let inFolder = own;
      if (status.kind === "directory") {
        for (const child of files.names(path)) {
          const childName = childOf(name, child);
          if (isExcluded(childName)) continue;
          const size = measure(childName, depth + 1);
          all += size.all;
          inFolder += size.own;
        }
      }
      const size = options.has("S") ? inFolder : all;
      const isFolder = status.kind === "directory";
      if ((isFolder || showsAll || depth === 0) && depth <= maxDepth && isWithin(size)) {
        print(`${shown(size)}\t${name}${end}`);
      }
      return { all, own: isFolder ? 0 : own };
    } catch (error) {
      const what = depth === 0 ? "cannot access" : "cannot read directory";
      warn(`${what} ${quoted(name)}: ${errorText(error)}`);
      failed = true;
      return { all: 0, own: 0 };
    }
  };
  for (const name of options.operands.length > 0 ? options.operands : ["."]) {
    if (!isExcluded(name)) total += measure(name, 0).all;
  }
  if (options.has("c")) print(`${shown(total)}\ttotal${end}`);
  return failed ? 1 : 0;
};

function formatOf(
  given: readonly { name: string; value: string }[],
  variables: Readonly<Record<string, string>>,
): (bytes: number) => string {
  const last = given.findLast(({ name }) => ["h", "si", "k", "m", "b", "B"].includes(name));
  const inBlocks = (size: number, suffix = "") => (bytes: number) => `${Math.ceil(bytes / size)}${suffix}`;
  switch (last?.name) {
    case "h":
      return (bytes) => humanSize(bytes);
    case "si":
      return (bytes) => humanSize(bytes, 1000);
    case "m":
      return inBlocks(1024 * 1024);
    case "b":
      return inBlocks(1);
    case "k":
      return inBlocks(1024);
    default: {
      const word = last?.value ?? variables["DU_BLOCK_SIZE"] ?? variables["BLOCK_SIZE"];
      if (word === undefined) return inBlocks(variables["POSIXLY_CORRECT"] === undefined ? 1024 : 512);
      if (word === "human-readable") return (bytes) => humanSize(bytes);
      if (word === "si") return (bytes) => humanSize(bytes, 1000);
      const size = readSize(/^[A-Za-z]/.test(word) ? `1${word}` : word);
      if (!size) fail(`invalid --block-size argument ${quoted(word)}`);
      return inBlocks(size, /^[A-Za-z]/.test(word) ? word : "");
    }
  }
}
