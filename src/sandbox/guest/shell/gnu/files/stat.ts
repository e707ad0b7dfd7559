import { errorText, type FileStatus, type GnuCommand, pathOf, unicodeText, UsageError } from "../command.ts";
import { formatDate } from "../date.ts";
import { blocksOf, modeText, OWNER } from "./file_format.ts";
import { parseOptions } from "../options.ts";
import { zoneOf } from "../time_zone.ts";

const FORMATS = { file: 0o100000, directory: 0o40000, link: 0o120000, device: 0o20000 } as const;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", "\\": "\\", r: "\r", a: "\x07" };

function kindText({ kind, size }: FileStatus): string {
  if (kind === "file") return size === 0 ? "regular empty file" : "regular file";
  return kind === "link" ? "symbolic link" : kind === "device" ? "character special file" : kind;
}

/** What `stat` prints without a format. All files are on the same device. */
const DEFAULT_FORMAT = [
  "  File: %N",
  "  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F",
  "Device: 0,1\tInode: %-11i Links: %h",
  "Access: (%04a/%10A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)",
  "Access: %x",
  "Modify: %y",
  "Change: %z",
  " Birth: %w",
].join("\n");

/** `stat` of GNU coreutils 9.1. */
export const stat: GnuCommand = (args, context) => {
  const options = parseOptions(args, "c,format=:printf=:L,dereference:f,file-system:t,terse:help:version");
  const { files, cwd, print, warn } = context;
  if (options.operands.length === 0) throw new UsageError("missing operand");
  const given = options.given.findLast(({ name }) => name === "c" || name === "printf");
  if (options.has("f") || options.has("t")) {
    throw new UsageError("the options -f and -t are not available in the sandbox", { hasHint: false });
  }
  const format = given?.value ?? DEFAULT_FORMAT;
  const quote = (text: string) => given ? `'${text}'` : text;
  const zone = zoneOf(context);
  let failed = false;
  for (const name of options.operands) {
    try {
      const path = pathOf(cwd, name);
      const status = files.status(path, { follow: options.has("L") });
      const target = () => status.kind === "link" ? ` -> ${quote(files.target(path))}` : "";
      const links = () =>
        status.kind === "directory"
          ? 2 +
            files.names(path).filter((inner) =>
              files.status(`${path}/${inner}`, { follow: false }).kind === "directory"
            ).length
          : 1;
      const line = format.replace(
        /%([-0+# ]*)(\d*)([a-zA-Z%])|\\([^])/g,
        (all, flags, width, letter, escape) => {
          if (escape !== undefined) return given?.name === "printf" ? ESCAPES[escape] ?? all : all;
          const value = fieldOf(letter, { name, quote, status, target, links, zone });
          if (value === undefined) {
            throw new UsageError(`the directive ${all} is not available in the sandbox`, { hasHint: false });
          }
          if (!width) return value;
          if (flags.includes("-")) return value.padEnd(Number(width));
          return value.padStart(Number(width), flags.includes("0") ? "0" : " ");
        },
      );
      print(given?.name === "printf" ? line : `${line}\n`);
    } catch (error) {
      if (error instanceof UsageError) throw error;
      warn(`cannot statx '${unicodeText(name)}': ${errorText(error)}`);
      failed = true;
    }
  }
  return failed ? 1 : 0;
};

interface Subject {
  readonly name: string;
  readonly quote: (name: string) => string;
  readonly status: FileStatus;
  readonly target: () => string;
  readonly links: () => number;
  readonly zone: ReturnType<typeof zoneOf>;
}

function fieldOf(letter: string, { name, quote, status, target, links, zone }: Subject): string | undefined {
  const { mode, size } = status;
  const isTime = "wWxXyYzZ".includes(letter);
  if (isTime && letter.toLowerCase() === "w") return letter === "w" ? "-" : "0";
  if (isTime) {
    const timeMs = { x: status.accessedMs, z: status.statusMs }[letter.toLowerCase()] ?? status.changedMs;
    const isText = letter === letter.toLowerCase();
    return isText ? formatDate("%Y-%m-%d %H:%M:%S.%N %z", timeMs, zone) : String(Math.floor(timeMs / 1000));
  }
  const fields: Readonly<Record<string, () => string>> = {
    "%": () => "%",
    a: () => mode.toString(8),
    A: () => modeText(status),
    b: () => String(blocksOf(status) * 2),
    B: () => "512",
    f: () => (FORMATS[status.kind] | mode).toString(16),
    F: () => kindText(status),
    g: () => "0",
    G: () => OWNER,
    h: () => String(links()),
    i: () => String(status.inode),
    n: () => name,
    N: () => quote(name) + target(),
    o: () => "4096",
    s: () => String(size),
    u: () => "0",
    U: () => OWNER,
  };
  return fields[letter]?.();
}
