import {
  bytesOf,
  byteText,
  C_ESCAPES,
  type CommandContext,
  errorText,
  type GnuCommand,
  linesOf,
  pathOf,
  statusOf,
  textOf,
  unicodeText,
  UsageError,
} from "../command.ts";
import { refuse } from "../files/operands.ts";
import { resolvePath } from "../files/resolve.ts";
import { type ParsedOptions, parseOptions } from "../options.ts";
import { compileExpression, findMatch, type Grammar } from "../regular_expression.ts";

const OPTIONS =
  "n,quiet:silent:e,expression=:f,file=:E,regexp-extended:r:i,in-place?:l,line-length=:s,separate:" +
  "u,unbuffered:z,null-data:posix:debug:sandbox:follow-symlinks:b,binary:help:version";

interface Address {
  readonly kind: "line" | "last" | "step" | "pattern" | "plus" | "multiple" | "zero";
  readonly line: number;
  readonly step: number;
  /** Absent for the empty pattern, which is the pattern of the last match. */
  readonly pattern: RegExp | undefined;
}

interface Command {
  readonly name: string;
  readonly first: Address | undefined;
  readonly second: Address | undefined;
  readonly isNegated: boolean;
  /** Text, label or file. */
  readonly text: string;
  readonly substitution?: Substitution;
  readonly letters?: ReadonlyMap<string, string>;
  /** Index behind the end of a block. */
  end: number;
  /** Line at which the running range ends; `undefined` while there is none. */
  rangeEnd: number | "pattern" | undefined;
}

interface Substitution {
  readonly pattern: RegExp | undefined;
  readonly replacement: readonly ReplacementPart[];
  readonly number: number;
  readonly isGlobal: boolean;
  readonly prints: boolean;
  readonly file: string | undefined;
}

/** Text, a group, or a change of case. */
type ReplacementPart = string | number | { readonly change: string };

/** Exit code of an error that ends the program while it runs. */
const PANIC_CODE = 4;
const USAGE = "Usage: sed [OPTION]... {script-only-if-no-other-script} [input-file]...";

function fail(message: string): never {
  throw new UsageError(message, { hasHint: false });
}

/** `sed` of GNU sed 4.9. Scripts are text; lines are decoded as UTF-8, and bytes that are no UTF-8 stay as they are. */
export const sed: GnuCommand = (args, context) => {
  const options = parseOptions(args, OPTIONS);
  refuse(options, ["debug"]);
  if (options.has("help") || options.has("version")) {
    context.print(options.has("help") ? `${USAGE}\n` : "sed (GNU sed) 4.9\n");
    return 0;
  }
  const operands = [...options.operands];
  const scripts = options.given.flatMap(({ name, value }) =>
    name === "e" ? [value] : name === "f" ? [readScript(value, context)] : []
  );
  if (scripts.length === 0) {
    const script = operands.shift();
    if (script === undefined) {
      throw new UsageError(USAGE, { hasHint: false });
    }
    scripts.push(script);
  }
  const script = decode(scripts.join("\n"));
  const grammar = options.has("E") || options.has("r") ? "extended" : "basic";
  const isQuiet = options.has("n") || options.has("silent") || script.startsWith("#n\n");
  const commands = new ScriptParser(script, grammar).parse();
  return new Editor(commands, { options, context, isQuiet, names: operands.length > 0 ? operands : ["-"] })
    .run();
};

function readScript(name: string, context: CommandContext): string {
  if (name === "-") return context.stdin;
  const { files, cwd } = context;
  try {
    return textOf(files.read(pathOf(cwd, name))).replace(/\n$/, "");
  } catch (error) {
    const message = `couldn't open file ${unicodeText(name)}: ${errorText(error)}`;
    throw new UsageError(message, { exitCode: PANIC_CODE, hasHint: false });
  }
}

/** Bytes that are no UTF-8 become characters of this range of surrogates, and bytes again at the end. */
const INVALID = 0xdc00;
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decode(text: string): string {
  // deno-lint-ignore no-control-regex
  if (!/[^\x00-\x7f]/.test(text)) return text;
  try {
    return strict.decode(bytesOf(text));
  } catch {
    return text.replace(
      /[^]/g,
      (sign) => sign.charCodeAt(0) < 0x80 ? sign : String.fromCharCode(INVALID + sign.charCodeAt(0)),
    );
  }
}

function encode(text: string): string {
  // deno-lint-ignore no-control-regex
  if (!/[^\x00-\x7f]/.test(text)) return text;
  return text.split(/([\udc80-\udcff]+)/).map((part, index) =>
    index % 2 === 0
      ? byteText(part)
      : part.replace(/[^]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) - INVALID))
  ).join("");
}

class ScriptParser {
  readonly #text: string;
  readonly #grammar: Grammar;
  #at = 0;

  constructor(text: string, grammar: Grammar) {
    this.#text = text;
    this.#grammar = grammar;
  }

  parse(): Command[] {
    const commands: Command[] = [];
    const blocks: number[] = [];
    for (;;) {
      this.#skip(/[\s;]*/y);
      if (this.#at >= this.#text.length) break;
      const command = this.#command(blocks.length);
      if (command.name === "{") blocks.push(commands.length);
      else if (command.name === "}") {
        const start = blocks.pop();
        if (start === undefined) fail(`${this.#place()}unexpected \`}'`);
        const block = commands[start ?? 0];
        if (block) block.end = commands.length + 1;
      }
      if (command.name !== "#") commands.push(command);
    }
    if (blocks.length > 0) fail(`-e expression #1, char 0: unmatched \`{'`);
    const labels = new Set(commands.filter(({ name }) => name === ":").map(({ text }) => text));
    const missing = commands.find(({ name, text }) =>
      "btT".includes(name) && text !== "" && !labels.has(text)
    );
    if (missing) {
      throw new UsageError(`can't find label for jump to \`${missing.text}'`, {
        exitCode: PANIC_CODE,
        hasHint: false,
      });
    }
    return commands;
  }

  #place(): string {
    return `-e expression #1, char ${this.#at}: `;
  }

  #skip(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [text = ""] = pattern.exec(this.#text) ?? [];
    this.#at += text.length;
    return text;
  }

  #command(depth: number): Command {
    const first = this.#address(false);
    let second: Address | undefined;
    this.#skip(/[ \t]*/y);
    if (first && this.#text.charAt(this.#at) === ",") {
      this.#at++;
      this.#skip(/[ \t]*/y);
      second = this.#address(true);
      if (!second) fail(`${this.#place()}unexpected \`,'`);
    }
    if (first?.kind === "zero" && second?.kind !== "pattern") {
      fail(`${this.#place()}invalid usage of line address 0`);
    }
    const isNegated = this.#skip(/[ \t]*(?:![ \t]*)*/y).includes("!");
    const name = this.#text.charAt(this.#at++);
    const base = { name, first, second, isNegated, text: "", end: 0, rangeEnd: undefined };
    switch (name) {
      case "":
        return fail(`${this.#place()}missing command`);
      case "#":
        this.#skip(/[^\n]*/y);
        return base;
      case "{":
        return base;
      case "}":
        if (first) fail(`${this.#place()}} doesn't want any addresses`);
        if (depth === 0) fail(`${this.#place()}unexpected \`}'`);
        this.#end();
        return base;
      case ":": {
        if (first) fail(`${this.#place()}: doesn't want any addresses`);
        const text = this.#skip(/[ \t]*[^\s;}]*/y).trim();
        if (text === "") fail(`${this.#place()}":" lacks a label`);
        return { ...base, text };
      }
      case "b":
      case "t":
      case "T":
        return { ...base, text: this.#skip(/[ \t]*[^\n;}]*/y).trim() };
      case "r":
      case "R":
      case "w":
      case "W":
        return { ...base, text: this.#fileName() };
      case "a":
      case "i":
      case "c":
        return { ...base, text: this.#lines() };
      case "s":
        return { ...base, substitution: this.#substitution() };
      case "y":
        return { ...base, letters: this.#letters() };
      case "q":
      case "Q":
      case "l":
      case "L": {
        const text = this.#skip(/[ \t]*\d*/y).trim();
        this.#end();
        return { ...base, text };
      }
      default:
        if (name === "e") fail(`${this.#place()}the command e is not available in the sandbox`);
        if (!"=dDgGhHnNpPxzF".includes(name)) fail(`${this.#place()}unknown command: \`${name}'`);
        this.#end();
        return base;
    }
  }

  /** Requires the end of a command. */
  #end(): void {
    this.#skip(/[ \t]*/y);
    const next = this.#text.charAt(this.#at);
    if (next === "" || next === "\n" || next === ";" || next === "}" || next === "#") return;
    fail(`${this.#place()}extra characters after command`);
  }

  #fileName(): string {
    const name = this.#skip(/[ \t]*[^\n]*/y).replace(/^[ \t]*/, "");
    return name === "" ? fail(`${this.#place()}missing filename in r/R/w/W commands`) : name;
  }

  /** Reads the text of `a`, `i` and `c`: the rest of the line, or the lines behind a backslash. */
  #lines(): string {
    this.#skip(/[ \t]*/y);
    const isClassic = this.#skip(/\\[ \t]*\n/y) !== "";
    if (!isClassic && this.#text.charAt(this.#at) === "\\") this.#at++;
    if (!isClassic && this.#at >= this.#text.length) {
      return fail(`${this.#place()}expected \\ after \`a', \`c' or \`i'`);
    }
    let text = "";
    while (this.#at < this.#text.length) {
      const sign = this.#text.charAt(this.#at++);
      if (sign === "\n") break;
      if (sign !== "\\") {
        text += sign;
        continue;
      }
      const next = this.#text.charAt(this.#at++);
      text += ESCAPES[next] ?? next;
    }
    return `${text}\n`;
  }

  #address(isSecond: boolean): Address | undefined {
    const none = { line: 0, step: 0, pattern: undefined };
    const sign = this.#text.charAt(this.#at);
    if (isSecond && (sign === "+" || sign === "~")) {
      this.#at++;
      return { ...none, kind: sign === "+" ? "plus" : "multiple", line: Number(this.#skip(/\d*/y)) };
    }
    if (sign === "$") {
      this.#at++;
      return { ...none, kind: "last" };
    }
    const digits = this.#skip(/\d+/y);
    if (digits !== "") {
      const step = this.#skip(/[ \t]*~[ \t]*\d*/y);
      if (step !== "") {
        return { ...none, kind: "step", line: Number(digits), step: Number(step.replace(/\D/g, "")) };
      }
      return { ...none, kind: digits === "0" && !isSecond ? "zero" : "line", line: Number(digits) };
    }
    if (sign !== "/" && sign !== "\\") return undefined;
    this.#at += sign === "\\" ? 2 : 1;
    const separator = this.#text.charAt(this.#at - 1);
    const source = this.#delimited(separator, "unterminated address regex", true);
    const flags = this.#skip(/[IM]*/y);
    return { ...none, kind: "pattern", pattern: this.#compile(source, flags.toLowerCase()) };
  }

  /** Reads up to a separator, which a backslash makes an ordinary sign. */
  #delimited(separator: string, message: string, isPattern: boolean): string {
    let text = "";
    let inBrackets = false;
    for (;;) {
      const sign = this.#text.charAt(this.#at++);
      if (sign === "") return fail(`${this.#place()}${message}`);
      if (sign === "\\") {
        const next = this.#text.charAt(this.#at++);
        if (next === separator) text += next;
        else if (next === "\n" && isPattern) text += "\n";
        else if (isPattern && next in ESCAPES) text += ESCAPES[next];
        else if (isPattern && "xod".includes(next)) text += this.#numberedSign(next);
        else text += sign + next;
        continue;
      }
      if (isPattern && sign === "[" && !inBrackets) {
        const [all = ""] =
          /^\[\^?\]?(?:\[[:.=][^\]]*[:.=]\]|[^\]\n])*\]/u.exec(this.#text.slice(this.#at - 1)) ?? [];
        if (all !== "" && !all.includes(separator)) {
          text += all.replace(/\\([ntrfva])/g, (_, letter) => ESCAPES[letter] ?? "");
          this.#at += all.length - 1;
          continue;
        }
        inBrackets = all !== "";
      }
      if (sign === "]") inBrackets = false;
      if (sign === separator && !(inBrackets && isPattern)) return text;
      if (sign === "\n" && isPattern && separator !== "\n") return fail(`${this.#place()}${message}`);
      text += sign;
    }
  }

  /** Reads the number of a sign, such as `\x41`. An operator remains an operator. */
  #numberedSign(letter: string): string {
    const [digits, base] = letter === "x"
      ? [/[0-9a-fA-F]{1,2}/y, 16] as const
      : letter === "o"
      ? [/[0-7]{1,3}/y, 8] as const
      : [/\d{1,3}/y, 10] as const;
    const number = this.#skip(digits);
    return number === "" ? `\\${letter}` : String.fromCharCode(Number.parseInt(number, base));
  }

  #compile(source: string, flags: string): RegExp | undefined {
    if (source === "") return undefined;
    try {
      return compileExpression(source, this.#grammar, {
        ignoreCase: flags.includes("i"),
        isMultiline: flags.includes("m"),
      });
    } catch (error) {
      return fail(`${this.#place()}${error instanceof Error ? error.message : "invalid expression"}`);
    }
  }

  #substitution(): Substitution {
    const separator = this.#text.charAt(this.#at++);
    const source = this.#delimited(separator, "unterminated `s' command", true);
    const replacement = this.#delimited(separator, "unterminated `s' command", false);
    const flags = this.#skip(/(?:[gpiImMe]|\d)*/y);
    const file = this.#text.charAt(this.#at) === "w" ? (this.#at++, this.#fileName()) : undefined;
    if (flags.includes("e")) fail(`${this.#place()}the flag e of \`s' is not available in the sandbox`);
    if (file === undefined) {
      this.#skip(/[ \t]*/y);
      const next = this.#text.charAt(this.#at);
      if (next !== "" && !"\n;}#".includes(next)) fail(`${this.#place()}unknown option to \`s'`);
    }
    const pattern = this.#compile(source, flags.toLowerCase());
    const parts = readReplacement(replacement);
    const groups = pattern === undefined
      ? 9
      : new RegExp(`${pattern.source}|`, pattern.flags).exec("")?.length ?? 1;
    const reference = parts.find((part) => typeof part === "number" && part >= groups);
    if (reference !== undefined) {
      fail(`${this.#place()}invalid reference \\${reference} on \`s' command's RHS`);
    }
    return {
      pattern,
      replacement: parts,
      number: Number(flags.replace(/\D/g, "") || 1),
      isGlobal: flags.includes("g"),
      prints: flags.includes("p"),
      file,
    };
  }

  #letters(): Map<string, string> {
    const separator = this.#text.charAt(this.#at++);
    const read = () => {
      const text = this.#delimited(separator, "unterminated `y' command", false);
      return [
        ...text.replace(
          /\\(?:d(\d{1,3})|o([0-7]{1,3})|x([\da-f]{1,2})|(.))/gisu,
          (part, decimal, octal, hexadecimal, sign) => {
            if (sign !== undefined) return C_ESCAPES[sign] ?? part;
            const [digits, base] = decimal ? [decimal, 10] : octal ? [octal, 8] : [hexadecimal, 16];
            return String.fromCharCode(Number.parseInt(digits, base) & 0xff);
          },
        ),
      ];
    };
    const [from, to] = [read(), read()];
    if (from.length !== to.length) fail(`${this.#place()}strings for \`y' command are different lengths`);
    this.#end();
    return new Map(from.map((sign, index) => [sign, to[index] ?? ""]));
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", f: "\f", v: "\v", a: "\x07" };

function readReplacement(text: string): ReplacementPart[] {
  const parts: ReplacementPart[] = [];
  const pattern = /\\(?:x([0-9a-fA-F]{1,2})|o([0-7]{1,3})|d(\d{1,3})|([^]))|&|[^\\&]+/gu;
  for (const [all, hex, octal, decimal, sign] of text.matchAll(pattern)) {
    if (all === "&") parts.push(0);
    else if (hex !== undefined) parts.push(String.fromCharCode(Number.parseInt(hex, 16)));
    else if (octal !== undefined) parts.push(String.fromCharCode(Number.parseInt(octal, 8)));
    else if (decimal !== undefined) parts.push(String.fromCharCode(Number(decimal)));
    else if (sign === undefined) parts.push(all);
    else if (/\d/.test(sign)) parts.push(Number(sign));
    else if ("ULulE".includes(sign)) parts.push({ change: sign });
    else parts.push(ESCAPES[sign] ?? sign);
  }
  return parts;
}

function fill(parts: readonly ReplacementPart[], match: RegExpExecArray): string {
  let text = "";
  let change = "";
  let once = "";
  for (const part of parts) {
    if (typeof part === "object") {
      if (part.change === "u" || part.change === "l") once = part.change;
      else change = part.change === "E" ? "" : part.change;
      continue;
    }
    let piece = typeof part === "number" ? match[part] ?? "" : part;
    if (change === "U") piece = piece.toUpperCase();
    if (change === "L") piece = piece.toLowerCase();
    const [first = "", ...rest] = piece;
    if (once !== "" && first !== "") {
      piece = (once === "u" ? first.toUpperCase() : first.toLowerCase()) + rest.join("");
      once = "";
    }
    text += piece;
  }
  return text;
}

/** A line of an input. */
interface Line {
  readonly text: string;
  readonly hasEnd: boolean;
}

/** Text for stdout or a file. */
interface Output {
  text: string;
  /** True if the last line has no end, which comes before more text. */
  lacksEnd: boolean;
}

/** Runs a script over inputs. */
class Editor {
  readonly #commands: readonly Command[];
  readonly #setting: {
    options: ParsedOptions;
    context: CommandContext;
    isQuiet: boolean;
    names: readonly string[];
  };
  readonly #end: string;
  readonly #isSeparate: boolean;
  readonly #inPlace: string | undefined;
  readonly #written = new Map<string, Output>();
  readonly #readLines = new Map<string, string[]>();
  #output: Output = { text: "", lacksEnd: false };
  #inputs: string[] = [];
  #lines: Line[] = [];
  #next = 0;
  #number = 0;
  #pattern = "";
  #hold = "";
  #hasEnd = true;
  #lastExpression: RegExp | undefined;
  #queue: string[] = [];
  #exitCode = 0;
  #hasQuit = false;
  #failed = false;
  #file = "-";

  constructor(
    commands: readonly Command[],
    setting: { options: ParsedOptions; context: CommandContext; isQuiet: boolean; names: readonly string[] },
  ) {
    this.#commands = commands;
    this.#setting = setting;
    const { options } = setting;
    this.#end = options.has("z") ? "\0" : "\n";
    this.#inPlace = options.has("i") ? options.value("i") ?? "" : undefined;
    this.#isSeparate = options.has("s") || this.#inPlace !== undefined;
    for (const { name, text, substitution } of commands) {
      if (name === "w" || name === "W") this.#outputTo(text);
      if (substitution?.file !== undefined) this.#outputTo(substitution.file);
    }
  }

  run(): number {
    const { context, names } = this.#setting;
    this.#inputs = [...names];
    while (!this.#hasQuit && this.#readLine()) {
      context.poll();
      this.#cycle();
    }
    if (this.#isSeparate) this.#finishFile();
    context.print(encode(this.#output.text));
    for (const [name, { text }] of this.#written) {
      context.files.write(pathOf(context.cwd, encode(name)), bytesOf(encode(text)));
    }
    return this.#exitCode || (this.#failed ? 2 : 0);
  }

  /** Opens inputs until there is a line. */
  #fillLines(): boolean {
    while (this.#next >= this.#lines.length) {
      if (this.#isSeparate && this.#lines.length > 0) this.#finishFile();
      const name = this.#inputs.shift();
      if (name === undefined) return false;
      this.#open(name);
    }
    return true;
  }

  #open(name: string): void {
    const { context } = this.#setting;
    this.#lines = [];
    this.#next = 0;
    if (this.#isSeparate) this.#number = 0;
    this.#file = name;
    try {
      const text = name === "-" && this.#inPlace === undefined
        ? context.stdin
        : textOf(context.files.read(pathOf(context.cwd, name)));
      this.#lines = linesOf(text, this.#end).map((line) => {
        const hasEnd = line.endsWith(this.#end);
        return { text: decode(hasEnd ? line.slice(0, -1) : line), hasEnd };
      });
      if (this.#lines.length === 0 && this.#inPlace !== undefined) this.#saveFile("");
    } catch (error) {
      const message = errorText(error);
      const isFolder = message === "Is a directory";
      context.warn(
        isFolder && this.#inPlace !== undefined
          ? `couldn't edit ${unicodeText(name)}: not a regular file`
          : isFolder
          ? `read error on ${unicodeText(name)}: ${message}`
          : `can't read ${unicodeText(name)}: ${message}`,
      );
      this.#failed = true;
      if (isFolder) this.#exitCode = PANIC_CODE;
      if (isFolder && this.#inPlace === undefined) this.#inputs = [];
    }
  }

  /** Writes the edited file back. */
  #finishFile(): void {
    if (this.#inPlace === undefined || this.#lines.length === 0) return;
    const rest = this.#hasQuit
      ? this.#lines.slice(this.#next).map(({ text, hasEnd }) => text + (hasEnd ? this.#end : "")).join("")
      : "";
    this.#saveFile(this.#output.text + rest);
    this.#output = { text: "", lacksEnd: false };
    this.#lines = [];
    this.#next = 0;
  }

  #saveFile(text: string): void {
    const { options, context } = this.#setting;
    const { files, cwd } = context;
    const name = options.has("follow-symlinks") ? resolvePath(context, this.#file, "nothing") : undefined;
    const path = name ?? pathOf(cwd, this.#file);
    const temporary = this.#temporaryPath(path);
    const { mode } = files.status(path);
    try {
      files.write(temporary, bytesOf(encode(text)));
    } catch (error) {
      const message = `couldn't open temporary file ${temporary}: ${errorText(error)}`;
      throw new UsageError(message, { exitCode: PANIC_CODE, hasHint: false });
    }
    files.setMode(temporary, mode);
    if (this.#inPlace) {
      const backup = this.#inPlace.includes("*")
        ? this.#inPlace.replaceAll("*", this.#file.slice(this.#file.lastIndexOf("/") + 1))
        : this.#file + this.#inPlace;
      files.rename(path, pathOf(cwd, backup));
    }
    files.rename(temporary, path);
  }

  /** Returns a path beside a file at which there is none. */
  #temporaryPath(path: string): string {
    const { context: { files } } = this.#setting;
    const start = path.slice(0, path.lastIndexOf("/") + 1);
    for (let number = 0;; number++) {
      const candidate = `${start}sed${String(number).padStart(6, "0")}`;
      if (!statusOf(files, candidate, { follow: false })) return candidate;
    }
  }

  #isLast(): boolean {
    if (this.#next < this.#lines.length) return false;
    if (this.#isSeparate) return true;
    const { context: { files, cwd } } = this.#setting;
    return this.#inputs.every((name) => {
      if (name === "-") return this.#setting.context.stdin === "";
      try {
        return files.read(pathOf(cwd, name)).length === 0;
      } catch {
        return true; // a file that cannot be read has no line
      }
    });
  }

  #readLine(): boolean {
    if (!this.#fillLines()) return false;
    const line = this.#lines[this.#next++];
    this.#pattern = line?.text ?? "";
    this.#hasEnd = line?.hasEnd ?? true;
    this.#number++;
    return true;
  }

  #cycle(): void {
    let restarts = true;
    while (restarts && !this.#hasQuit) {
      restarts = this.#execute();
    }
  }

  #printPattern(): void {
    this.#printLine(this.#output, this.#pattern);
  }

  /** Prints a line, whose end is left out if the input has none there. */
  #printLine(output: Output, text: string): void {
    this.#emit(output, this.#hasEnd ? text + this.#end : text);
    output.lacksEnd = !this.#hasEnd;
  }

  /** Prints text behind the end of a line. */
  #emit(output: Output, text: string): void {
    if (output.lacksEnd) output.text += this.#end;
    output.text += text;
    output.lacksEnd = false;
  }

  /** Prints what `a`, `r` and `R` queued. */
  #flushQueue(): void {
    for (const text of this.#queue.splice(0)) {
      this.#emit(this.#output, text);
    }
  }

  /** Runs the script once. Returns true if it starts again without a new line. */
  #execute(): boolean {
    let hasReplaced = false;
    let at = 0;
    const { isQuiet, context } = this.#setting;
    while (at < this.#commands.length) {
      const command = this.#commands[at++];
      if (!command) break;
      if (!this.#applies(command)) {
        if (command.name === "{") at = command.end;
        continue;
      }
      switch (command.name) {
        case "=":
          this.#emit(this.#output, `${this.#number}\n`);
          break;
        case "F":
          this.#emit(this.#output, `${decode(this.#file)}\n`);
          break;
        case "a":
          this.#queue.push(command.text);
          break;
        case "i":
          this.#emit(this.#output, command.text);
          break;
        case "c":
          if (!command.second || command.isNegated || command.rangeEnd === undefined) {
            this.#emit(this.#output, command.text);
          }
          this.#flushQueue();
          return false;
        case "d":
          this.#flushQueue();
          return false;
        case "D": {
          const end = this.#pattern.indexOf("\n");
          if (end < 0) {
            this.#flushQueue();
            return false;
          }
          this.#pattern = this.#pattern.slice(end + 1);
          this.#flushQueue();
          return true;
        }
        case "g":
          this.#pattern = this.#hold;
          break;
        case "G":
          this.#pattern += `\n${this.#hold}`;
          break;
        case "h":
          this.#hold = this.#pattern;
          break;
        case "H":
          this.#hold += `\n${this.#pattern}`;
          break;
        case "x":
          [this.#pattern, this.#hold] = [this.#hold, this.#pattern];
          break;
        case "z":
          this.#pattern = "";
          break;
        case "n":
          if (this.#isLast() && !this.#hasMore()) {
            if (!isQuiet) this.#printPattern();
            this.#flushQueue();
            this.#hasQuit = true;
            return false;
          }
          if (!isQuiet) this.#printPattern();
          this.#flushQueue();
          this.#readLine();
          break;
        case "N": {
          if (this.#isLast() && !this.#hasMore()) {
            if (!isQuiet) this.#printPattern();
            this.#flushQueue();
            this.#hasQuit = true;
            return false;
          }
          const before = this.#pattern;
          this.#flushQueue();
          this.#readLine();
          this.#pattern = `${before}\n${this.#pattern}`;
          break;
        }
        case "p":
          this.#printPattern();
          break;
        case "P":
          this.#emit(this.#output, `${this.#pattern.split("\n", 1)[0]}${this.#end}`);
          break;
        case "l":
          this.#emit(
            this.#output,
            unambiguous(
              encode(this.#pattern),
              Number(command.text || this.#setting.options.value("l") || 70),
            ),
          );
          break;
        case "q":
        case "Q":
          this.#exitCode = Number(command.text || 0);
          this.#hasQuit = true;
          if (command.name === "q" && !isQuiet) this.#printPattern();
          this.#flushQueue();
          return false;
        case "r":
          this.#queue.push(this.#readFile(command.text));
          break;
        case "R": {
          const lines = this.#readLines.get(command.text) ?? linesOf(this.#readFile(command.text));
          this.#readLines.set(command.text, lines);
          const line = lines.shift();
          if (line !== undefined) this.#queue.push(line.endsWith("\n") ? line : `${line}\n`);
          break;
        }
        case "w":
          this.#printLine(this.#outputTo(command.text), this.#pattern);
          break;
        case "W":
          this.#emit(this.#outputTo(command.text), `${this.#pattern.split("\n", 1)[0]}${this.#end}`);
          break;
        case "s":
          if (command.substitution && this.#substitute(command.substitution)) hasReplaced = true;
          break;
        case "y":
          this.#pattern = [...this.#pattern].map((sign) => command.letters?.get(sign) ?? sign).join("");
          break;
        case "b":
          at = this.#jump(command.text);
          break;
        case "t":
          if (hasReplaced) at = this.#jump(command.text);
          hasReplaced = false;
          break;
        case "T":
          if (!hasReplaced) at = this.#jump(command.text);
          hasReplaced = false;
          break;
        default:
          break;
      }
      context.poll();
    }
    if (!isQuiet) this.#printPattern();
    this.#flushQueue();
    return false;
  }

  /** Whether a later input has a line, where each input is edited by itself. */
  #hasMore(): boolean {
    return this.#next < this.#lines.length;
  }

  #jump(label: string): number {
    if (label === "") return this.#commands.length;
    return 1 + this.#commands.findIndex(({ name, text }) => name === ":" && text === label);
  }

  #readFile(name: string): string {
    const { context } = this.#setting;
    if (name === "/dev/stdin") return decode(context.stdin);
    const { files, cwd } = context;
    try {
      return decode(textOf(files.read(pathOf(cwd, encode(name)))));
    } catch {
      return ""; // as in GNU sed, a file that cannot be read is empty
    }
  }

  #outputTo(name: string): Output {
    if (name === "/dev/stdout") return this.#output;
    const output = this.#written.get(name) ?? { text: "", lacksEnd: false };
    this.#written.set(name, output);
    return output;
  }

  #matches(pattern: RegExp | undefined): boolean {
    const expression = pattern ?? this.#lastExpression ?? fail("no previous regular expression");
    this.#lastExpression = expression;
    expression.lastIndex = 0;
    return expression.test(this.#pattern);
  }

  #isAt(address: Address): boolean {
    switch (address.kind) {
      case "last":
        return this.#isLast();
      case "pattern":
        return this.#matches(address.pattern);
      case "step":
        return address.step === 0
          ? this.#number === address.line
          : this.#number >= address.line && (this.#number - address.line) % address.step === 0;
      default:
        return this.#number === address.line;
    }
  }

  #applies(command: Command): boolean {
    const isInside = this.#isSelected(command);
    return command.isNegated ? !isInside : isInside;
  }

  #isSelected(command: Command): boolean {
    const { first, second } = command;
    if (!first) return true;
    if (!second) return this.#isAt(first);
    if (command.rangeEnd === undefined) {
      const starts = first.kind === "zero" ? this.#number === 1 : this.#isAt(first);
      if (!starts) return false;
      if (first.kind === "zero") {
        command.rangeEnd = this.#matches(second.pattern) ? undefined : "pattern";
        return true;
      }
      command.rangeEnd = this.#rangeEnd(second);
      return true;
    }
    if (command.rangeEnd === "pattern") {
      if (second.kind === "last" ? this.#isLast() : this.#matches(second.pattern)) {
        command.rangeEnd = undefined;
      }
      return true;
    }
    if (this.#number >= command.rangeEnd) {
      const isInside = this.#number === command.rangeEnd;
      command.rangeEnd = undefined;
      return isInside || this.#isAt(first);
    }
    return true;
  }

  /** Returns where a range ends that begins at this line; `undefined` if it has this line only. */
  #rangeEnd(second: Address): number | "pattern" | undefined {
    const number = this.#number;
    switch (second.kind) {
      case "pattern":
        return "pattern";
      case "last":
        return this.#isLast() ? undefined : "pattern";
      case "plus":
        return second.line === 0 ? undefined : number + second.line;
      case "multiple":
        return second.line === 0 || number % second.line === 0
          ? undefined
          : Math.ceil(number / second.line) * second.line;
      default:
        return second.line <= number ? undefined : second.line;
    }
  }

  #substitute({ pattern, replacement, number, isGlobal, prints, file }: Substitution): boolean {
    const expression = pattern ?? this.#lastExpression ?? fail("no previous regular expression");
    this.#lastExpression = expression;
    const subject = this.#pattern;
    let text = "";
    let copied = 0;
    let count = 0;
    let last = -1;
    for (
      let match = findMatch(expression, subject, 0);
      match;
      match = findMatch(expression, subject, expression.lastIndex)
    ) {
      const [found] = match;
      // An empty match directly behind another match does not count.
      const counts = found !== "" || match.index !== last;
      if (counts && ++count >= number) {
        text += subject.slice(copied, match.index) + fill(replacement, match);
        copied = match.index + found.length;
        if (!isGlobal) break;
      }
      last = match.index + found.length;
      if (found === "") {
        expression.lastIndex += (subject.codePointAt(expression.lastIndex) ?? 0) > 0xffff ? 2 : 1;
      }
      if (expression.lastIndex > subject.length) break;
    }
    if (count < number) return false;
    this.#pattern = text + subject.slice(copied);
    if (prints) this.#printPattern();
    if (file !== undefined) this.#printLine(this.#outputTo(file), this.#pattern);
    return true;
  }
}

const NAMED: Readonly<Record<string, string>> = {
  "\\": "\\\\",
  "\x07": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
};

/** Writes a line so that each byte is visible, as `l` does. */
function unambiguous(text: string, width: number): string {
  const signs = [...text].map((sign) =>
    NAMED[sign] ?? (/[ -~]/.test(sign) ? sign : `\\${sign.charCodeAt(0).toString(8).padStart(3, "0")}`)
  );
  const lines: string[] = [];
  let line = "";
  for (const sign of signs) {
    if (width > 1 && line.length + sign.length > width - 1) {
      lines.push(`${line}\\`);
      line = "";
    }
    line += sign;
  }
  return `${[...lines, `${line}$`].join("\n")}\n`;
}
