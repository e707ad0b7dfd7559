import {
  C_ESCAPES,
  type CommandContext,
  errorText,
  type FileStatus,
  type GnuCommand,
  pathOf,
  statusOf,
  unicodeText,
  UsageError,
} from "../command.ts";
import { formatStatus } from "./file_format.ts";
import { parseDate } from "../date.ts";
import { globExpression } from "../glob.ts";
import { emacsExpression } from "../regular_expression.ts";
import { type Zone, zoneOf } from "../time_zone.ts";

/** A file that the search has reached. */
interface Visit {
  /** Path as `find` prints it. */
  readonly shown: string;
  /** Starting point below which the file is. */
  readonly start: string;
  readonly path: string;
  readonly depth: number;
  readonly status: FileStatus;
}

type Test = (visit: Visit) => boolean | Promise<boolean>;

/** Settings of a search, which some parts of the expression change. */
interface Search {
  readonly context: CommandContext;
  follow: "never" | "arguments" | "always";
  minDepth: number;
  maxDepth: number;
  isDepthFirst: boolean;
  hasAction: boolean;
  /** Where days begin, in milliseconds. */
  nowMs: number;
  exitCode: number;
  isPruned: boolean;
  hasQuit: boolean;
  regexType: string;
  readonly outputs: Map<string, string>;
  readonly batches: Batch[];
}

/** Paths that wait for `-exec … {} +`. */
interface Batch {
  readonly words: readonly string[];
  readonly cwd: string | undefined;
  paths: string[];
}

const MAX_DEPTH = 1000;
/** Paths after which a batch runs. */
const MAX_BATCH_PATHS = 5000;
const DAY_MS = 86_400_000;

/** `find` of GNU findutils 4.9. */
export const find: GnuCommand = async (args, context) => {
  const search: Search = {
    context,
    follow: "never",
    minDepth: 0,
    maxDepth: Infinity,
    isDepthFirst: false,
    hasAction: false,
    nowMs: Date.now(),
    exitCode: 0,
    isPruned: false,
    hasQuit: false,
    regexType: "emacs",
    outputs: new Map(),
    batches: [],
  };
  const words = [...args];
  while (/^-[HLPO]\d?$|^-D$/.test(words[0] ?? "")) {
    const option = words.shift();
    if (option === "-D") words.shift();
    if (option === "-L") search.follow = "always";
    if (option === "-H") search.follow = "arguments";
    if (option === "-P") search.follow = "never";
  }
  const starts: string[] = [];
  while (words.length > 0 && !/^(?:-.+|[(!,])$/.test(words[0] ?? "")) starts.push(words.shift() ?? "");
  const plain = words.map((word) => word.replace(/^-(?=[()!,]$)/, "")); // `-(` is `(` to GNU's
  const expression = new ExpressionParser(plain, search).parse();
  const test: Test = search.hasAction ? expression : async (visit) => {
    if (await expression(visit)) context.print(`${visit.shown}\n`);
    return true;
  };
  for (const path of search.outputs.keys()) context.files.write(path, new Uint8Array());
  for (const start of starts.length > 0 ? starts : ["."]) {
    if (search.hasQuit) break;
    await walkFrom(start, test, search);
  }
  for (const batch of search.batches) await runBatch(batch, search);
  for (const [path, text] of search.outputs) {
    context.files.write(
      path,
      Uint8Array.from(text, (sign) => sign.charCodeAt(0)),
    );
  }
  return search.exitCode;
};

async function walkFrom(start: string, test: Test, search: Search): Promise<void> {
  const path = pathOf(search.context.cwd, start);
  const status = statusFor(path, search, search.follow !== "never");
  if (!status || start === "") return reportMissing(start, search);
  await visitFile({ shown: start, start, path, depth: 0, status }, test, search);
}

function reportMissing(name: string, search: Search): void {
  search.context.warn(`‘${unicodeText(name)}’: No such file or directory`);
  search.exitCode = 1;
}

function statusFor(path: string, { context: { files } }: Search, follows: boolean): FileStatus | undefined {
  return (follows ? statusOf(files, path) : undefined) ?? statusOf(files, path, { follow: false });
}

async function visitFile(visit: Visit, test: Test, search: Search): Promise<void> {
  const { context, isDepthFirst } = search;
  context.poll();
  const isInside = visit.depth >= search.minDepth;
  search.isPruned = false;
  if (isInside && !isDepthFirst) await test(visit);
  const isPruned = search.isPruned;
  const descends = visit.status.kind === "directory" && visit.depth < Math.min(search.maxDepth, MAX_DEPTH);
  if (descends && !isPruned && !search.hasQuit) await visitNames(visit, test, search);
  if (isInside && isDepthFirst && !search.hasQuit) await test(visit);
}

async function visitNames(visit: Visit, test: Test, search: Search): Promise<void> {
  const { context } = search;
  let names: string[];
  try {
    names = context.files.names(visit.path);
  } catch (error) {
    context.warn(`‘${unicodeText(visit.shown)}’: ${errorText(error)}`);
    search.exitCode = 1;
    return;
  }
  for (const name of names) {
    if (search.hasQuit) return;
    const path = visit.path === "/" ? `/${unicodeText(name)}` : `${visit.path}/${unicodeText(name)}`;
    const status = statusFor(path, search, search.follow === "always");
    if (!status) continue; // an earlier action removed the file
    const shown = visit.shown.endsWith("/") ? visit.shown + name : `${visit.shown}/${name}`;
    await visitFile({ shown, start: visit.start, path, depth: visit.depth + 1, status }, test, search);
  }
}

async function runBatch(batch: Batch, search: Search): Promise<void> {
  const paths = batch.paths.splice(0);
  if (paths.length === 0) return;
  const words = [...batch.words, ...paths];
  const { exitCode } = await search.context.run(words, batch.cwd === undefined ? {} : { cwd: batch.cwd });
  if (exitCode !== 0) search.exitCode = 1;
}

/** Parses an expression by its operators, from the weakest to the strongest: `,`, `-o`, `-a`, `!`. */
class ExpressionParser {
  readonly #words: string[];
  readonly #search: Search;

  constructor(words: string[], search: Search) {
    this.#words = words;
    this.#search = search;
  }

  parse(): Test {
    if (this.#words.length === 0) return () => true;
    const test = this.#parseList();
    const [word] = this.#words;
    if (word === ")") fail("invalid expression; you have too many ')'");
    if (word !== undefined) fail(`paths must precede expression: \`${unicodeText(word)}'`);
    return test;
  }

  #parseList(): Test {
    let test = this.#parseOr();
    while (this.#take(",")) {
      const [left, right] = [test, this.#parseOr()];
      test = async (visit) => (await left(visit), await right(visit));
    }
    return test;
  }

  #parseOr(): Test {
    let test = this.#parseAnd();
    while (this.#take("-o", "-or")) {
      const [left, right] = [test, this.#parseAnd()];
      test = async (visit) => await left(visit) || await right(visit);
    }
    return test;
  }

  #parseAnd(): Test {
    let test = this.#parseNot();
    for (;;) {
      const [next] = this.#words;
      if (next === undefined || [")", ",", "-o", "-or"].includes(next)) return test;
      if (!this.#take("-a", "-and") && !/^(?:-.|[(!]$)/.test(next)) return test;
      const [left, right] = [test, this.#parseNot()];
      test = async (visit) => await left(visit) && await right(visit);
    }
  }

  #parseNot(): Test {
    if (this.#take("!", "-!", "-not")) {
      const test = this.#parseNot();
      return async (visit) => !await test(visit);
    }
    if (this.#take("(")) {
      if (this.#words[0] === ")") fail("invalid expression; empty parentheses are not allowed.");
      const test = this.#parseList();
      if (!this.#take(")")) fail("invalid expression; expected to find a ')' but didn't see one.");
      return test;
    }
    const word = this.#words.shift();
    if (word === undefined) return fail("expected an expression after an operator");
    if ([")", ",", "-o", "-or", "-a", "-and"].includes(word)) {
      return fail(`invalid expression; you have used a binary operator '${word}' with nothing before it.`);
    }
    return this.#primary(word);
  }

  #take(...words: string[]): boolean {
    if (!words.includes(this.#words[0] ?? "")) return false;
    this.#words.shift();
    return true;
  }

  #argument(name: string): string {
    return this.#words.shift() ?? fail(`missing argument to \`${name}'`);
  }

  #primary(name: string): Test {
    return this.#option(name) ?? this.#nameTest(name) ?? this.#statusTest(name) ?? this.#action(name) ??
      fail(
        name.startsWith("-")
          ? `unknown predicate \`${unicodeText(name)}'`
          : `paths must precede expression: \`${unicodeText(name)}'`,
      );
  }

  #option(name: string): Test | undefined {
    const search = this.#search;
    const accept: Test = () => true;
    switch (name) {
      case "-maxdepth":
      case "-mindepth": {
        const text = this.#argument(name);
        if (!/^\d+$/.test(text)) {
          fail(`Expected a positive decimal integer argument to ${name}, but got ‘${unicodeText(text)}’`);
        }
        if (name === "-maxdepth") search.maxDepth = Number(text);
        else search.minDepth = Number(text);
        return accept;
      }
      case "-depth":
      case "-d":
        search.isDepthFirst = true;
        return accept;
      case "-follow":
        search.follow = "always";
        return accept;
      case "-daystart":
        search.nowMs = new Date(search.nowMs).setUTCHours(24, 0, 0, 0);
        return accept;
      case "-regextype":
        search.regexType = this.#argument(name);
        return accept;
      case "-xdev":
      case "-mount":
      case "-noleaf":
      case "-ignore_readdir_race":
      case "-noignore_readdir_race":
      case "-warn":
      case "-nowarn":
      case "-true":
        return accept;
      case "-false":
        return () => false;
      default:
        return undefined;
    }
  }

  #nameTest(name: string): Test | undefined {
    const match = /^-(i?)(name|path|wholename|lname|regex)$/.exec(name);
    if (!match) return undefined;
    const ignoreCase = match[1] === "i";
    const pattern = unicodeText(this.#argument(name));
    const { context: { files }, regexType } = this.#search;
    if (match[2] === "regex") {
      const expression = emacsExpression(pattern, { ignoreCase, type: regexType });
      return ({ shown }) => expression.test(unicodeText(shown));
    }
    const expression = globExpression(pattern, { ignoreCase });
    if (match[2] === "name") return ({ shown }) => expression.test(baseName(unicodeText(shown)));
    if (match[2] === "lname") {
      return ({ path, status }) => status.kind === "link" && expression.test(files.target(path));
    }
    return ({ shown }) => expression.test(unicodeText(shown));
  }

  #statusTest(name: string): Test | undefined {
    const search = this.#search;
    const { context: { files, cwd } } = search;
    const [, kind = "", unit] = /^-([acm])(time|min)$/.exec(name) ?? [];
    if (unit !== undefined) {
      const settings = { unitMs: unit === "time" ? DAY_MS : 60_000, timeOf: timeReader(kind), search };
      return timeTest(this.#argument(name), name, settings);
    }
    if (/^-(?:[ac]?newer|newer[aBcm][aBcmt])$/.test(name)) return this.#newerTest(name);
    switch (name) {
      case "-type":
      case "-xtype": {
        const kinds = this.#argument(name).split(",");
        const unknown = kinds.find((kind) => !/^[bcdpflsD]$/.test(kind));
        if (unknown !== undefined) fail(`Unknown argument to ${name}: ${unknown}`);
        return ({ path, status }) => {
          const resolved = name === "-xtype" ? statusOf(files, path) ?? status : status;
          return kinds.includes(KIND_LETTERS[resolved.kind]);
        };
      }
      case "-size": {
        const text = this.#argument(name);
        const [, sign = "", digits, unit = "b"] = /^([-+]?)(\d+)([bcwkMG]?)$/.exec(text) ?? [];
        if (digits === undefined) fail(`Invalid argument \`${unicodeText(text)}' to -size`);
        const bytes = SIZE_UNITS[unit || "b"] ?? 512;
        return ({ status }) => compares(Math.ceil(status.size / bytes), sign, Number(digits));
      }
      case "-empty":
        return ({ path, status }) =>
          status.kind === "file" ? status.size === 0 : status.kind === "directory" && isEmpty(path, search);
      case "-perm":
        return permissionTest(this.#argument(name));
      case "-links":
        return countTest(this.#argument(name), name, ({ path, status }) => linkCount(path, status, search));
      case "-inum":
        return countTest(this.#argument(name), name, ({ status }) => status.inode);
      case "-uid":
      case "-gid":
        return countTest(this.#argument(name), name, () => 0);
      case "-user":
      case "-group": {
        const owner = this.#argument(name);
        if (!/^(?:\d+|root|pyodide)$/.test(owner)) {
          fail(
            `‘${unicodeText(owner)}’ is not the name of ${
              name === "-user" ? "a known user" : "an existing group"
            }`,
          );
        }
        return () => owner === "0" || owner === "root" || owner === "pyodide";
      }
      case "-nouser":
      case "-nogroup":
        return () => false;
      case "-samefile": {
        const argument = this.#argument(name);
        const wanted = statusOf(files, pathOf(cwd, argument));
        if (!wanted) return fail(`‘${unicodeText(argument)}’: No such file or directory`);
        return ({ status }) => status.inode === wanted.inode;
      }
      case "-readable":
      case "-writable":
        return () => true; // the guest's user is root
      case "-executable":
        return ({ status }) => status.kind === "directory" || (status.mode & 0o111) !== 0;
      case "-fstype":
        this.#argument(name);
        return () => false;
      default:
        return undefined;
    }
  }

  #newerTest(name: string): Test {
    const { context } = this.#search;
    const { files, cwd } = context;
    const argument = this.#argument(name);
    const [, own = name.charAt(1), other = "m"] = /^-newer(.)(.)$/.exec(name) ?? [];
    const [timeOf, referenceTimeOf] = [timeReader(own), timeReader(other)];
    if (other === "t") {
      const time = parseDate(unicodeText(argument), Date.now(), zoneOf(context));
      if (time === undefined) {
        fail(`I cannot figure out how to interpret ‘${unicodeText(argument)}’ as a date or time`);
      }
      return ({ status }) => timeOf(status) > time;
    }
    const reference = statusOf(files, pathOf(cwd, argument));
    if (!reference) return fail(`‘${unicodeText(argument)}’: No such file or directory`);
    return ({ status }) => timeOf(status) > referenceTimeOf(reference);
  }

  #action(name: string): Test | undefined {
    const search = this.#search;
    const { context } = search;
    if (name === "-prune") {
      return () => search.isPruned = true;
    }
    const [, toFile = "", kind] = /^-(f?)(print0?|printf|ls)$/.exec(name) ?? [];
    if (kind !== undefined) {
      search.hasAction = true;
      const file = toFile ? pathOf(context.cwd, this.#argument(name)) : undefined;
      if (file !== undefined) search.outputs.set(file, "");
      const format = kind === "printf" ? this.#argument(name) : "";
      return (visit) => {
        const text = kind === "print"
          ? `${visit.shown}\n`
          : kind === "print0"
          ? `${visit.shown}\0`
          : formatVisit(kind === "ls" ? lsFormat(visit.status) : format, visit, search);
        if (file === undefined) context.print(text);
        else search.outputs.set(file, `${search.outputs.get(file) ?? ""}${text}`);
        return true;
      };
    }
    switch (name) {
      case "-delete":
        search.hasAction = search.isDepthFirst = true;
        return (visit) => deleteFile(visit, search);
      case "-quit":
        search.hasAction = true;
        return () => search.hasQuit = true;
      case "-exec":
      case "-execdir":
      case "-ok":
      case "-okdir":
        search.hasAction = true;
        return this.#execAction(name);
      default:
        return undefined;
    }
  }

  #execAction(name: string): Test {
    const search = this.#search;
    const inDirectory = name.endsWith("dir");
    const words: string[] = [];
    for (;;) {
      const word = this.#words.shift();
      if (word === undefined) fail(`missing argument to \`${name}'`);
      if (word === ";") break;
      if (word === "+" && words.at(-1) === "{}") return this.#batchAction(words.slice(0, -1), inDirectory);
      words.push(word ?? "");
    }
    if (words.length === 0) fail(`missing argument to \`${name}'`);
    return async (visit) => {
      if (name.startsWith("-ok") && !this.#isConfirmed(words[0] ?? "", visit.shown)) return false;
      const shown = inDirectory ? `./${baseName(visit.shown)}` : visit.shown;
      const filled = words.map((word) => word.replaceAll("{}", shown));
      const { exitCode } = await search.context.run(filled, inDirectory ? { cwd: folderOfVisit(visit) } : {});
      return exitCode === 0;
    };
  }

  /** Asks before a command of `-ok` runs. The next line of stdin is the answer. */
  #isConfirmed(command: string, shown: string): boolean {
    const { context } = this.#search;
    context.printError(`< ${unicodeText(command)} ... ${unicodeText(shown)} > ? `);
    const answers = context.stdin.split("\n");
    return /^[yY]/.test(answers[this.#answered++] ?? "");
  }

  /** Number of questions that were asked. */
  #answered = 0;

  #batchAction(words: string[], inDirectory: boolean): Test {
    const search = this.#search;
    if (words.some((word) => word.includes("{}"))) {
      fail("Only one instance of {} is supported with -exec ... +");
    }
    if (words.length === 0) fail("missing argument to `-exec'");
    const batch: Batch = { words, cwd: undefined, paths: [] };
    if (!inDirectory) search.batches.push(batch);
    return async (visit) => {
      if (inDirectory) {
        const one = { words, cwd: folderOf(visit.path), paths: [`./${baseName(visit.shown)}`] };
        await runBatch(one, search);
        return true;
      }
      batch.paths.push(visit.shown);
      if (batch.paths.length >= MAX_BATCH_PATHS) await runBatch(batch, search);
      return true;
    };
  }
}

function fail(message: string): never {
  throw new UsageError(message, { hasHint: false });
}

const KIND_LETTERS = { file: "f", directory: "d", link: "l", device: "c" } as const;
const SIZE_UNITS: Readonly<Record<string, number>> = {
  b: 512,
  c: 1,
  w: 2,
  k: 1024,
  M: 1024 ** 2,
  G: 1024 ** 3,
};

function compares(value: number, sign: string, wanted: number): boolean {
  return sign === "+" ? value > wanted : sign === "-" ? value < wanted : value === wanted;
}

function countTest(text: string, name: string, count: (visit: Visit) => number): Test {
  const [, sign = "", digits] = /^([-+]?)(\d+)$/.exec(text) ?? [];
  if (digits === undefined) fail(`non-numeric argument to ${name}: ‘${unicodeText(text)}’`);
  return (visit) => compares(count(visit), sign, Number(digits));
}

/** Returns how a time of a file is read: of access, of the last change of the status, or of the contents. */
function timeReader(kind: string): (status: FileStatus) => number {
  if (kind === "a") return ({ accessedMs }) => accessedMs;
  return kind === "c" ? ({ statusMs }) => statusMs : ({ changedMs }) => changedMs;
}

/** Compares whole units of age. With `+`, the age must be more than the unit that the number names. */
function timeTest(
  text: string,
  name: string,
  { unitMs, timeOf, search: { nowMs } }: {
    readonly unitMs: number;
    readonly timeOf: (status: FileStatus) => number;
    readonly search: Search;
  },
): Test {
  const [, sign = "", digits] = /^([-+]?)(\d+(?:\.\d*)?|\.\d+)$/.exec(text) ?? [];
  if (digits === undefined) fail(`invalid argument \`${unicodeText(text)}' to \`${name}'`);
  const wanted = Number(digits);
  return ({ status }) => {
    const age = (nowMs - timeOf(status)) / unitMs;
    const isMinutes = unitMs < DAY_MS;
    if (sign === "-") return isMinutes ? age < wanted : Math.floor(age) < wanted;
    if (sign === "+") return isMinutes ? age > wanted : Math.floor(age) > wanted;
    return isMinutes ? Math.ceil(age) === wanted : Math.floor(age) === wanted;
  };
}

function permissionTest(text: string): Test {
  const sign = /^[-/]/.exec(text)?.[0] ?? "";
  const wanted = modeOf(text.slice(sign.length), text);
  if (sign === "-") return ({ status }) => (status.mode & wanted) === wanted;
  if (sign === "/") return ({ status }) => wanted === 0 || (status.mode & wanted) !== 0;
  return ({ status }) => (status.mode & 0o7777) === wanted;
}

const WHO: Readonly<Record<string, number>> = { u: 0o4700, g: 0o2070, o: 0o1007, a: 0o7777 };
const RIGHTS: Readonly<Record<string, number>> = { r: 0o444, w: 0o222, x: 0o111, s: 0o6000, t: 0o1000 };

function modeOf(text: string, whole: string): number {
  if (/^[0-7]+$/.test(text)) return Number.parseInt(text, 8);
  let mode = 0;
  for (const clause of text.split(",")) {
    const [, who = "", operator, rights = ""] = /^([ugoa]*)([-+=])([rwxXst]*)$/.exec(clause) ?? [];
    if (operator === undefined) fail(`invalid mode ‘${unicodeText(whole)}’`);
    const mask = [...who || "a"].reduce((bits, letter) => bits | (WHO[letter] ?? 0), 0);
    const bits = [...rights].reduce((sum, letter) => sum | (RIGHTS[letter.toLowerCase()] ?? 0), 0) & mask;
    if (operator === "-") mode &= ~bits;
    else mode = operator === "=" ? mode & ~mask | bits : mode | bits;
  }
  return mode;
}

function isEmpty(path: string, { context: { files } }: Search): boolean {
  return files.names(path).length === 0;
}

function linkCount(path: string, status: FileStatus, { context: { files } }: Search): number {
  if (status.kind !== "directory") return 1;
  const kinds = files.names(path).map((name) =>
    statusOf(files, `${path}/${unicodeText(name)}`, { follow: false })?.kind
  );
  return 2 + kinds.filter((kind) => kind === "directory").length;
}

function deleteFile({ shown, path, status }: Visit, search: Search): boolean {
  const { context: { files, warn } } = search;
  if (shown === "." || shown === "..") return true;
  try {
    if (status.kind === "directory") files.removeDirectory(path);
    else files.removeFile(path);
    return true;
  } catch (error) {
    warn(`cannot delete ‘${unicodeText(shown)}’: ${errorText(error)}`);
    search.exitCode = 1;
    return false;
  }
}

function baseName(path: string): string {
  const trimmed = path.replace(/\/+$/, "");
  return trimmed === "" ? "/" : trimmed.slice(trimmed.lastIndexOf("/") + 1);
}

/** Returns the folder in which a command of `-execdir` runs. The starting point `.` is in itself. */
function folderOfVisit({ shown, path }: Visit): string {
  return baseName(shown) === "." ? path : folderOf(path);
}

function folderOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf("/")));
}

const HALF_YEAR_MS = 15_778_476_000;

/** Returns the format of `-ls`, which shows the year of an old file and the time of another. */
function lsFormat({ changedMs }: FileStatus): string {
  const age = Date.now() - changedMs;
  return `%9i %6k %M %3n %-8u %-8g %8s %Tb %Te ${age >= 0 && age < HALF_YEAR_MS ? "%TH:%TM" : " %TY"} %p\n`;
}

const ESCAPES: Readonly<Record<string, string>> = { ...C_ESCAPES, "0": "\0" };

/** Fills a format of `-printf`. */
function formatVisit(format: string, visit: Visit, search: Search): string {
  const { context: { files, variables } } = search;
  let isOver = false;
  const text = format.replace(
    /\\([0-7]{1,3}|.)|%([-0 #+]*\d*(?:\.\d+)?)([ABCT].|.)|%$/gs,
    (part, escape?: string, flags = "", directive?: string) => {
      if (isOver) return "";
      if (escape !== undefined) {
        if (escape === "c") isOver = true;
        if (/^[0-7]/.test(escape)) return String.fromCharCode(Number.parseInt(escape, 8) & 0xff);
        return escape === "c" ? "" : ESCAPES[escape] ?? part;
      }
      if (directive === undefined) return part;
      const value = directiveOf(directive, visit, {
        target: () => visit.status.kind === "link" ? files.target(visit.path) : "",
        links: () => linkCount(visit.path, visit.status, search),
        zone: zoneOf({ files, variables }),
      });
      return value === undefined ? part : padded(value, flags);
    },
  );
  return text;
}

function directiveOf(
  directive: string,
  { shown, start, depth, status }: Visit,
  { target, links, zone }: { target: () => string; links: () => number; zone: Zone },
): string | undefined {
  switch (directive) {
    case "%":
      return "%";
    case "p":
      return shown;
    case "P":
      return shown === start ? "" : shown.slice(start.length).replace(/^\//, "");
    case "f":
      return baseName(shown);
    case "h":
      return shown.includes("/") ? shown.replace(/\/+[^/]*\/*$/, "") || "/" : ".";
    case "H":
      return start;
    case "d":
      return String(depth);
    case "l":
      return target();
    case "n":
      return String(links());
    case "Y":
      return KIND_LETTERS[status.kind];
    case "y":
      return KIND_LETTERS[status.kind];
    case "F":
      return "overlay";
    case "D":
      return "1";
    default:
      return formatStatus(directive, status, zone);
  }
}

/** Pads a value as `printf` does. */
function padded(value: string, flags: string): string {
  const [, signs = "", width = "", , precision] = /^([-0 #+]*)(\d*)(\.(\d+))?$/.exec(flags) ?? [];
  const text = precision === undefined ? value : value.slice(0, Number(precision));
  if (signs.includes("-")) return text.padEnd(Number(width));
  return text.padStart(Number(width), signs.includes("0") && /^\d+$/.test(text) ? "0" : " ");
}
