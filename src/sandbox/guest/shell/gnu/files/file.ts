import {
  byteText,
  type CommandContext,
  errorText,
  type FileStatus,
  type GnuCommand,
  linesOf,
  pathOf,
  statusOf,
  textOf,
  unicodeText,
  UsageError,
} from "../command.ts";
import { type ParsedOptions, parseOptions } from "../options.ts";
import { zoneOf } from "../time_zone.ts";
import { type FileKind, kindOfContents } from "./file_kinds.ts";
import { refuse } from "./operands.ts";

const OPTIONS = "b,brief:c,checking-printout:C,compile:d,debug:e,exclude=:exclude-quiet=:E:f,files-from=:" +
  "F,separator=:h,no-dereference:i,mime:mime-type:mime-encoding:apple:extension:k,keep-going:l,list:L,dereference:" +
  "m,magic-file=:n,no-buffer:N,no-pad:0,print0:p,preserve-date:P,parameter=:r,raw:s,special-files:S,no-sandbox:" +
  "v,version:z,uncompress:Z,uncompress-noreport:help";
const UNAVAILABLE = [
  "c",
  "C",
  "d",
  "e",
  "exclude-quiet",
  "apple",
  "extension",
  "k",
  "l",
  "m",
  "P",
  "z",
  "Z",
  "help",
];
const USAGE = "Usage: file [-bcCdEhikLlNnprsSvzZ0] [--apple] [--extension] [--mime-encoding]\n" +
  "            [--mime-type] [-F <separator>] [-f <namefile>] <file> ...\n";

/** `file` of libmagic 5.44, with the kinds of files that `file_kinds.ts` knows. Other contents are text or data. */
export const file: GnuCommand = (args, context) => {
  const options = parseOptions(args, OPTIONS);
  refuse(options, UNAVAILABLE);
  if (options.has("v")) {
    context.print("file-5.44\nmagic file from /etc/magic:/usr/share/misc/magic\n");
    return 0;
  }
  const names = [...namesOfLists(options, context), ...options.operands];
  if (names.length === 0) {
    context.printError(USAGE);
    return 1;
  }
  const width = Math.max(...names.map((name) => shownName(name).length));
  for (const name of names) {
    context.poll();
    const { text, isMissing } = textFor(name, options, context);
    const shown = shownName(name);
    const separator = options.value("F") ?? ":";
    const end = options.has("0") ? "\0" : "";
    const padding = options.has("N") ? "" : " ".repeat(width - shown.length);
    context.print(`${options.has("b") ? "" : `${shown}${end}${separator}${padding} `}${text}\n`);
    if (isMissing && options.has("E")) return 1;
  }
  return 0;
};

function shownName(name: string): string {
  return name === "-" ? "/dev/stdin" : name;
}

function namesOfLists(options: ParsedOptions, { files, cwd, stdin }: CommandContext): string[] {
  return options.values("f").flatMap((name) => {
    try {
      const text = name === "-" ? stdin : textOf(files.read(pathOf(cwd, name)));
      return linesOf(text).map((line) => line.replace(/\n$/, ""));
    } catch (error) {
      const message = `Cannot open \`${unicodeText(name)}' (${errorText(error)})`;
      throw new UsageError(message, { hasHint: false });
    }
  });
}

/** Returns what is printed of a file. */
function textFor(
  name: string,
  options: ParsedOptions,
  context: CommandContext,
): { text: string; isMissing: boolean } {
  try {
    return { text: wordsFor(kindOf(name, options, context), options), isMissing: false };
  } catch (error) {
    const verb = options.has("E") ? "ERROR: cannot stat" : "cannot open";
    return { text: `${verb} \`${name}' (${errorText(error)})`, isMissing: true };
  }
}

function wordsFor({ description, mime, charset }: FileKind, options: ParsedOptions): string {
  if (options.has("i")) return `${mime}; charset=${charset}`;
  if (options.has("mime-type")) return mime;
  return options.has("mime-encoding") ? charset : byteText(description);
}

function kindOf(name: string, options: ParsedOptions, context: CommandContext): FileKind {
  const { files, cwd, stdin } = context;
  const zone = zoneOf(context);
  if (name === "-") return kindOfContents(stdin, zone);
  const path = pathOf(cwd, name);
  const follows =
    options.given.findLast((option) => option.name === "L" || option.name === "h")?.name === "L";
  const status = files.status(path, { follow: follows });
  return kindOfStatus(path, status, context) ?? kindOfContents(textOf(files.read(path)), zone);
}

/** Returns what a file is that has no contents. */
function kindOfStatus(path: string, { kind }: FileStatus, { files }: CommandContext): FileKind | undefined {
  if (kind === "directory") return { description: "directory", mime: "inode/directory", charset: "binary" };
  if (kind === "device") {
    return { description: "character special", mime: "inode/chardevice", charset: "binary" };
  }
  if (kind !== "link") return undefined;
  const target = unicodeText(files.target(path));
  const isBroken = statusOf(files, path) === undefined;
  return {
    description: `${isBroken ? "broken " : ""}symbolic link to ${target}`,
    mime: "inode/symlink",
    charset: "binary",
  };
}
