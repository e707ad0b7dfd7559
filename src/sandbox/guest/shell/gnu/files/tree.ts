import {
  byteText,
  type FileStatus,
  type GnuCommand,
  pathOf,
  statusOf,
  unicodeText,
  UsageError,
} from "../command.ts";
import { globExpression } from "../glob.ts";
import { type ParsedOptions, parseOptions } from "../options.ts";
import { humanSize } from "./du.ts";
import { modeText, OWNER } from "./file_format.ts";
import { childOf } from "./operands.ts";

const OPTIONS =
  "a:d:f:i:l:x:L=:P=:I=:prune:noreport:dirsfirst:filesfirst:matchdirs:ignore-case:F:Q:N:q:s:h:p:r:t:U:v:n:" +
  "C:A:S:u:g:o=:filelimit=:charset=:sort=";
const FAILED = 2;
const BRANCH = byteText("├── ");
const LAST_BRANCH = byteText("└── ");
const STEM = byteText("│\xa0\xa0 ");

interface Entry {
  readonly name: string;
  readonly path: string;
  readonly status: FileStatus;
  readonly isFolder: boolean;
  /** Entries of a folder; `undefined` if it is not read. */
  entries: Entry[] | undefined;
}

/** `tree` 2.1 without colours. The graphics are the graphics of a locale with UTF-8. */
export const tree: GnuCommand = (args, context) => {
  const options = readTreeOptions(args);
  const { files, cwd, print } = context;
  const listing = new Listing(options, context);
  const names = options.operands.length > 0 ? options.operands : ["."];
  let failed = false;
  for (const name of names) {
    const path = pathOf(cwd, name);
    const status = statusOf(files, path);
    if (status?.kind !== "directory") {
      print(`${listing.label(name, status)}  [error opening dir]\n`);
      failed = true;
      continue;
    }
    const root: Entry = { name, path, status, isFolder: true, entries: undefined };
    listing.read(root, 1);
    listing.printRoot(root);
  }
  if (!options.has("noreport")) print(`\n${listing.report()}\n`);
  return failed ? FAILED : 0;
};

function readTreeOptions(args: readonly string[]): ParsedOptions {
  const options = parseOptions(args, OPTIONS);
  const fail = (message: string): never => {
    throw new UsageError(message, { hasHint: false });
  };
  for (const name of ["C", "A", "S", "o", "l", "t", "U", "v", "charset", "sort"]) {
    const value = options.value(name);
    if (name === "sort" && value === "name" || name === "charset" && /^utf-?8$/i.test(value ?? "")) continue;
    if (!options.has(name)) continue;
    fail(`the option ${name.length === 1 ? "-" : "--"}${name} is not available in the sandbox`);
  }
  const level = options.value("L");
  if (level !== undefined && !(Number.parseInt(level) > 0)) fail("Invalid level, must be greater than 0.");
  return options;
}

class Listing {
  readonly #options: ParsedOptions;
  readonly #context: Parameters<GnuCommand>[1];
  readonly #maxDepth: number;
  readonly #kept: readonly RegExp[];
  readonly #ignored: readonly RegExp[];
  #folders = 0;
  #files = 0;

  constructor(options: ParsedOptions, context: Parameters<GnuCommand>[1]) {
    this.#options = options;
    this.#context = context;
    this.#maxDepth = Number.parseInt(options.value("L") ?? "") || Infinity;
    const ignoreCase = options.has("ignore-case");
    const patterns = (name: string) =>
      options.values(name).flatMap((text) => text.split("|")).map((text) =>
        globExpression(unicodeText(text.replace(/(.)\/$/, "$1")), { ignoreCase })
      );
    this.#kept = patterns("P");
    this.#ignored = patterns("I");
  }

  /** Reads the entries below a folder. */
  read(folder: Entry, depth: number): void {
    const { files, poll } = this.#context;
    const options = this.#options;
    poll();
    if (depth > this.#maxDepth) return;
    const entries: Entry[] = [];
    for (const name of files.names(folder.path)) {
      if (!options.has("a") && name.startsWith(".")) continue;
      const path = `${folder.path === "/" ? "" : folder.path}/${unicodeText(name)}`;
      const status = statusOf(files, path, { follow: false });
      if (!status) continue;
      const isFolder = status.kind === "directory" ||
        status.kind === "link" && statusOf(files, path)?.kind === "directory";
      if (!this.#isShown(name, isFolder, status)) continue;
      entries.push({ name: childOf(folder.name, name), path, status, isFolder, entries: undefined });
    }
    folder.entries = this.#sorted(entries);
    const limit = Number(options.value("filelimit") ?? Infinity);
    if (folder.entries.length > limit) return;
    for (const entry of folder.entries) if (entry.status.kind === "directory") this.read(entry, depth + 1);
    if (options.has("prune")) {
      folder.entries = folder.entries.filter(({ status, entries: inside }) =>
        status.kind !== "directory" || inside === undefined || inside.length > 0
      );
    }
  }

  #isShown(name: string, isFolder: boolean, status: FileStatus): boolean {
    const text = unicodeText(name);
    if (this.#ignored.some((pattern) => pattern.test(text))) return false;
    if (isFolder && (status.kind === "directory" || this.#kept.length === 0)) return true;
    if (this.#options.has("d")) return false;
    return this.#kept.length === 0 || this.#kept.some((pattern) => pattern.test(text));
  }

  #sorted(entries: Entry[]): Entry[] {
    const sign = this.#options.has("r") ? -1 : 1;
    const first = this.#options.has("dirsfirst") ? -1 : this.#options.has("filesfirst") ? 1 : 0;
    return entries.sort((a, b) =>
      first * (Number(a.isFolder) - Number(b.isFolder)) ||
      sign * (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)
    );
  }

  printRoot(root: Entry): void {
    const entries = root.entries ?? [];
    const slash = this.#options.has("F") && !root.name.endsWith("/") ? "/" : "";
    this.#context.print(`${this.label(root.name, root.status)}${slash}${this.#limitNote(root)}\n`);
    if (entries.length > 0) this.#folders++;
    if (this.#limitNote(root) === "") this.#printEntries(entries, "");
  }

  #limitNote({ entries }: Entry): string {
    const limit = Number(this.#options.value("filelimit") ?? Infinity);
    const count = entries?.length ?? 0;
    return count > limit ? `  [${count} entries exceeds filelimit, not opening dir]` : "";
  }

  #printEntries(entries: readonly Entry[], indent: string): void {
    const options = this.#options;
    const { files, print } = this.#context;
    for (const [at, entry] of entries.entries()) {
      const isLast = at === entries.length - 1;
      const lead = options.has("i") ? "" : `${indent}${isLast ? LAST_BRANCH : BRANCH}`;
      const { name, status, isFolder, path } = entry;
      const shown = options.has("f") ? name : name.slice(name.lastIndexOf("/") + 1);
      const arrow = status.kind === "link" ? ` -> ${this.#quote(files.target(path))}` : "";
      const mark = !options.has("F")
        ? ""
        : isFolder
        ? "/"
        : status.kind === "file" && status.mode & 0o111
        ? "*"
        : "";
      print(`${lead}${this.label(shown, status)}${arrow}${mark}${this.#limitNote(entry)}\n`);
      if (isFolder) this.#folders++;
      else this.#files++;
      if (entry.entries && this.#limitNote(entry) === "") {
        this.#printEntries(entry.entries, `${indent}${isLast ? "    " : STEM}`);
      }
    }
  }

  #quote(name: string): string {
    return this.#options.has("Q") ? `"${name.replace(/["\\]/g, "\\$&")}"` : name;
  }

  /** Name of a file with its permissions and size. */
  label(name: string, status: FileStatus | undefined): string {
    const size = status?.kind === "directory" ? 4096 : status?.size ?? 0;
    const parts: string[] = [];
    if (this.#options.has("p") && status) parts.push(modeText(status));
    for (const option of ["u", "g"]) if (this.#options.has(option)) parts.push(OWNER.padEnd(8));
    if (this.#options.has("h")) parts.push(humanSize(size).padStart(4));
    else if (this.#options.has("s")) parts.push(String(size).padStart(11));
    return (parts.length > 0 ? `[${parts.join(" ")}]  ` : "") + this.#quote(name);
  }

  report(): string {
    const folders = `${this.#folders} director${this.#folders === 1 ? "y" : "ies"}`;
    if (this.#options.has("d")) return folders;
    return `${folders}, ${this.#files} file${this.#files === 1 ? "" : "s"}`;
  }
}
