import {
  bytesOf,
  type CommandContext,
  errorText,
  type GnuCommand,
  pathOf,
  statusOf,
  textOf,
  UsageError,
} from "../command.ts";
import type { Frame } from "./code.ts";
import { type CompiledFunction, compileExpression, readMain, type Scope } from "./compile.ts";
import { compileBuiltin, waits } from "./builtin_functions.ts";

import { parseAwk } from "./parser.ts";
import { Runtime } from "./runtime.ts";
import { compileStatement, Leave, Returned, type StatementCode } from "./statements.ts";
import { AwkFailure, AwkSyntaxError, type FunctionDefinition, type Program, type Rule } from "./syntax.ts";
import { type Cell, decodeBytes, decodeText, encodeText, isTrue, UserText, type Value } from "./values.ts";

interface Arguments {
  readonly program: string;
  /** Names of the program's files, or nothing for a program in the arguments. */
  readonly source: string;
  readonly variables: readonly string[];
  readonly separator: string | undefined;
  readonly operands: readonly string[];
  /** True if the output of each file replaces the file. */
  readonly isInPlace: boolean;
  /** True if each byte is a character. */
  readonly hasBytes: boolean;
}

/** `awk` as gawk 5.2.1 is. */
export const awk: GnuCommand = async (args, context) => {
  let run: Run | undefined;
  try {
    const given = readArguments(args, context);
    if (typeof given === "number") return given;
    const program = parse(given, context);
    if (program === undefined) return 1;
    run = new Run(program, given, context);
    return await run.all();
  } catch (error) {
    if (!(error instanceof AwkFailure)) throw error;
    context.printError(`awk: fatal: ${error.message}\n`);
    return 2;
  } finally {
    run?.flush();
  }
};

function parse({ program, source }: Arguments, context: CommandContext): Program | undefined {
  try {
    const parsed = parseAwk(program);
    for (const warning of parsed.warnings) context.printError(`awk: ${warning}\n`);
    return parsed;
  } catch (error) {
    if (!(error instanceof AwkSyntaxError)) throw error;
    const line = program.split("\n")[error.line - 1] ?? "";
    const column = error.at - (program.lastIndexOf("\n", error.at - 1) + 1);
    const place = `awk: ${source || "cmd. line"}:${error.line}: `;
    context.printError(`${place}${line}\n${place}${" ".repeat(Math.max(0, column))}^ ${error.message}\n`);
    return undefined;
  }
}

const LONG: Readonly<Record<string, string>> = {
  assign: "v",
  "field-separator": "F",
  file: "f",
  include: "i",
  source: "e",
};
const BYTES = /^-b$|^--characters-as-bytes$/;
/** Options that are refused, with the reason. */
const REFUSED: readonly (readonly [option: RegExp, reason: string])[] = [
  [/^-n$|^--non-decimal-data$/, ": strtonum() reads numbers of other bases"],
  [/^-l|^--load(?:=|$)/, ": extensions are libraries of the machine"],
];
/** Options that change nothing here. */
const WITHOUT_EFFECT = /^-[NOrs]$|^--(?:re-interval|optimize|no-optimize|use-lc-numeric)$/;

function readArguments(args: readonly string[], context: CommandContext): Arguments | number {
  const words = args.map(decodeText).flatMap((word, at, all) => {
    return word === "-W" ? [] : all[at - 1] === "-W" ? [`--${word}`] : [word];
  });
  const programs: string[] = [];
  const sources: string[] = [];
  const included: string[] = [];
  const variables: string[] = [];
  let separator: string | undefined;
  let [isInPlace, hasBytes] = [false, false];
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at] ?? "";
    if (word === "--") {
      at++;
      break;
    }
    if (word === "--version" || word === "-V") {
      context.print("GNU Awk 5.2.1, API 3.2\n");
      return 0;
    }
    if (!word.startsWith("-") || word === "-") break;
    if (WITHOUT_EFFECT.test(word)) continue;
    if (BYTES.test(word)) {
      hasBytes = true;
      continue;
    }
    const [, long, equals, longValue = ""] = /^--([\w-]+)(=?)([^]*)$/.exec(word) ?? [];
    const letter = long === undefined ? word.charAt(1) : LONG[long] ?? "";
    if (!/^[vFfei]$/.test(letter)) {
      const [, reason = ""] = REFUSED.find(([option]) => option.test(word)) ?? [];
      throw new UsageError(`option '${word}' is not available in the sandbox${reason}`, {
        exitCode: 2,
        hasHint: false,
      });
    }
    const joined = long === undefined ? word.slice(2) : longValue;
    const hasValue = joined !== "" || equals === "=";
    const value = hasValue ? joined : words[++at];
    if (value === undefined) {
      throw new UsageError(`option requires an argument -- ${letter}`, { exitCode: 2, hasHint: false });
    }
    if (letter === "v") variables.push(value);
    else if (letter === "F") separator = value;
    else if (letter === "e") programs.push(value);
    else if (letter === "i" && value === "inplace") isInPlace = true;
    else if (letter === "i") included.push(`@include "${value}"\n`);
    else {
      const text = readProgram(value, context);
      if (text === undefined) return 2;
      programs.push(text);
      sources.push(value);
    }
  }
  const rest = words.slice(at);
  const program = programs.length > 0 ? programs.join("\n") : rest.shift();
  if (program === undefined) {
    context.printError(USAGE);
    return 1;
  }
  const text = hasBytes ? decodeBytes(encodeText(program)) : program;
  const whole = includeSources(included.join("") + text, context);
  if (whole === undefined) return 1;
  return {
    program: whole,
    source: sources.join(","),
    variables,
    separator,
    operands: rest,
    isInPlace,
    hasBytes,
  };
}

const USAGE = `Usage: awk [POSIX or GNU style options] -f progfile [--] file ...
Usage: awk [POSIX or GNU style options] [--] 'program' file ...
`;

function readProgram(name: string, context: CommandContext): string | undefined {
  if (name === "-" || name === "/dev/stdin") return decodeText(context.stdin);
  try {
    return decodeText(textOf(context.files.read(sourcePath(name, context))));
  } catch (error) {
    context.printError(`awk: fatal: cannot open source file \`${name}' for reading: ${errorText(error)}\n`);
    return undefined;
  }
}

/** Returns the path of a source file, whose name may lack `.awk`. */
function sourcePath(name: string, { files, cwd }: CommandContext): string {
  const path = pathOf(cwd, encodeText(name));
  return !statusOf(files, path) && statusOf(files, `${path}.awk`) ? `${path}.awk` : path;
}

/**
 * Replaces the lines of `@include` by the files that they name, each once. Returns `undefined` if a file is missing.
 */
function includeSources(program: string, context: CommandContext): string | undefined {
  const read = new Set<string>();
  let isComplete = true;
  const include = (text: string): string =>
    text.replace(/^[ \t]*@include[ \t]+"([^"\n]*)"[ \t]*;?/gm, (_, name: string) => {
      const path = sourcePath(name, context);
      if (read.has(path)) return "";
      read.add(path);
      const source = readProgram(name, context);
      isComplete &&= source !== undefined;
      return include(source ?? "");
    });
  const whole = include(program);
  return isComplete ? whole : undefined;
}

/** A rule that is ready to run. */
interface CompiledRule {
  readonly when: Rule["when"];
  readonly matches: () => boolean | Promise<boolean>;
  readonly action: StatementCode;
}

const NO_LOCALS: Frame = [];

/** A run of a program. */
class Run {
  readonly #runtime: Runtime;
  readonly #rules: readonly CompiledRule[];

  constructor(program: Program, given: Arguments, context: CommandContext) {
    const runtime = this.#runtime = new Runtime(context, {
      hasBytes: given.hasBytes,
      leavesStdin: program.rules.every(({ when }) => when === "BEGIN") && !readsInput(program),
    });
    if (given.isInPlace) changeInPlace(runtime);
    const argv = runtime.global("ARGV").array;
    ["awk", ...given.operands].forEach((word, index) => argv.set(String(index), new UserText(word)));
    runtime.global("ARGC").value = 1 + given.operands.length;
    if (given.separator !== undefined) {
      runtime.assign("FS", given.separator);
    }
    for (const variable of given.variables) {
      const [, name, value = ""] = /^((?:[A-Za-z_]\w*::)?[A-Za-z_]\w*)=([^]*)$/.exec(variable) ?? [];
      if (name === undefined) {
        throw new UsageError(
          `fatal: \`${variable}' argument to \`-v' not in \`var=value' form`,
          { exitCode: 2, hasHint: false },
        );
      }
      runtime.assign(name, value);
    }
    const functions = compileFunctions(program.functions, runtime);
    const scope = { runtime, locals: new Map(), functions, compileBuiltin };
    this.#rules = program.rules.map((rule) => compileRule(rule, scope));
  }

  /** Runs all rules. Returns the exit code. */
  async all(): Promise<number> {
    const runtime = this.#runtime;
    const isLeft = await this.#untilExit(async () => {
      await this.#runAll("BEGIN");
      if (this.#rules.some(({ when }) => when !== "BEGIN")) await this.#readAll();
    });
    if (isLeft !== "exit" || this.#hasEnd()) await this.#untilExit(() => this.#runAll("END"));
    await runtime.streams.closeAll();
    return runtime.exitCode;
  }

  /** Writes what is held back after a failure. */
  flush(): void {
    this.#runtime.streams.flush();
  }

  #hasEnd(): boolean {
    return this.#rules.some(({ when }) => when === "END");
  }

  async #untilExit(work: () => Promise<void>): Promise<"exit" | undefined> {
    try {
      await work();
      return undefined;
    } catch (error) {
      if (!(error instanceof Leave)) throw error;
      if (error.what !== "exit") throw new AwkFailure(`\`${error.what}' cannot be used here`);
      return "exit";
    }
  }

  async #runAll(when: Rule["when"]): Promise<void> {
    for (const { when: own, action } of this.#rules) if (own === when) await action.run(NO_LOCALS);
  }

  async #readAll(): Promise<void> {
    const runtime = this.#runtime;
    const rules = this.#rules.filter(({ when }) => when === "record");
    const hasFileRules = this.#rules.some(({ when }) => when === "BEGINFILE" || when === "ENDFILE");
    if (hasFileRules) return await this.#readFiles(rules);
    for (let text = readMain(runtime); text !== undefined; text = readMain(runtime)) {
      if (runtime.step()) await undefined;
      const left = this.#runRecord(text, rules);
      if ((left instanceof Promise ? await left : left) === "nextfile") this.#skipFile();
    }
  }

  #skipFile(): void {
    const { file } = this.#runtime;
    while (file && this.#runtime.read(file.reader) !== undefined);
  }

  async #readFiles(rules: readonly CompiledRule[]): Promise<void> {
    const runtime = this.#runtime;
    for (let file = runtime.nextFile(); file; file = runtime.nextFile()) {
      await this.#runAll("BEGINFILE");
      for (let text = runtime.read(file.reader); text !== undefined; text = runtime.read(file.reader)) {
        if (await this.#runRecord(text, rules) === "nextfile") break;
      }
      await this.#runAll("ENDFILE");
    }
  }

  /** Runs the rules of a record. Returns how they ended. Waits only for rules that run commands. */
  #runRecord(
    text: string,
    rules: readonly CompiledRule[],
  ): Leave["what"] | undefined | Promise<Leave["what"] | undefined> {
    const runtime = this.#runtime;
    runtime.depth = 0;
    runtime.count();
    runtime.record.text = text;
    try {
      for (let at = 0; at < rules.length; at++) {
        const pending = runRule(rules[at] as CompiledRule);
        if (pending instanceof Promise) return this.#continueRecord(pending, rules.slice(at + 1));
      }
      return undefined;
    } catch (error) {
      return leftBy(error);
    }
  }

  async #continueRecord(pending: Promise<unknown>, rules: readonly CompiledRule[]) {
    try {
      await pending;
      for (const rule of rules) await runRule(rule);
      return undefined;
    } catch (error) {
      return leftBy(error);
    }
  }
}

/** Lets the output that belongs to a file replace the file. `inplace::suffix` names a copy of the old file. */
function changeInPlace(runtime: Runtime): void {
  const { context, streams } = runtime;
  let current: string | undefined;
  runtime.onFile = (name) => {
    const text = streams.takeOutput();
    if (current !== undefined && text !== undefined) {
      const suffix = runtime.text(runtime.global("inplace::suffix").value);
      if (suffix !== "") context.files.write(current + encodeText(suffix), context.files.read(current));
      context.files.write(current, bytesOf(text));
    }
    current = name === undefined || name === "-" ? undefined : pathOf(context.cwd, encodeText(name));
    if (current !== undefined) streams.keepOutput();
  };
}

/** True if a program may read its stdin by `getline`. */
function readsInput(part: unknown): boolean {
  if (typeof part !== "object" || part === null) return false;
  if (part instanceof Map) return [...part.values()].some(readsInput);
  const { kind, from } = part as { kind?: unknown; from?: unknown };
  if (kind === "getline" && !COMMANDS.has(from)) return true;
  return Object.values(part).some(readsInput);
}

function leftBy(error: unknown): Leave["what"] {
  if (error instanceof Leave && error.what !== "exit") return error.what;
  throw error;
}

function runRule({ matches, action }: CompiledRule): unknown {
  const holds = matches();
  if (holds instanceof Promise) return holds.then((found) => found ? action.run(NO_LOCALS) : undefined);
  return holds ? action.run(NO_LOCALS) : undefined;
}

function compileRule({ when, from, to, action }: Rule, scope: Scope): CompiledRule {
  const printRecord = { kind: "print", items: [] } as const;
  const compiled = compileStatement(action ?? printRecord, scope);
  return { when, action: compiled, matches: compilePatternOf(from, to, scope) };
}

function compilePatternOf(
  from: Rule["from"],
  to: Rule["to"],
  scope: Scope,
): () => boolean | Promise<boolean> {
  if (from === undefined) return () => true;
  const start = compileExpression(from, scope);
  if (to === undefined) {
    return () => {
      const value = start.run(NO_LOCALS);
      return value instanceof Promise ? value.then(isTrue) : isTrue(value);
    };
  }
  const end = compileExpression(to, scope);
  let isInside = false;
  return async () => {
    if (!isInside && !isTrue(await start.run(NO_LOCALS))) return false;
    isInside = !isTrue(await end.run(NO_LOCALS));
    return true;
  };
}

function compileFunctions(
  definitions: ReadonlyMap<string, FunctionDefinition>,
  runtime: Runtime,
): ReadonlyMap<string, CompiledFunction> {
  const functions = new Map<string, CompiledFunction>();
  const waiting = findWaiting(definitions);
  for (const [name, definition] of definitions) {
    const locals = new Map(definition.parameters.map((parameter, index) => [parameter, index]));
    let body: StatementCode | undefined;
    const call = (args: Cell[]): Value | Promise<Value> => {
      body ??= compileStatement(definition.body, { runtime, locals, functions, compileBuiltin });
      const flow = body.run(args);
      return flow instanceof Promise ? flow.then(valueOf) : valueOf(flow);
    };
    functions.set(name, { definition, isAsync: waiting.has(name), call });
  }
  return functions;
}

function valueOf(flow: unknown): Value {
  return flow instanceof Returned ? flow.value : undefined;
}

/** Finds the functions that may run a command or not end, and those that call them. */
function findWaiting(definitions: ReadonlyMap<string, FunctionDefinition>): ReadonlySet<string> {
  const found = new Set<string>();
  for (let size = -1; size < found.size;) {
    size = found.size;
    for (const [name, { body }] of definitions) if (containsWait(body, found)) found.add(name);
    if (size === found.size) { for (const name of recursive(definitions)) found.add(name); }
  }
  return found;
}

const COMMANDS: ReadonlySet<unknown> = new Set(["command", "coprocess"]);

function containsWait(part: unknown, waiting: ReadonlySet<string>): boolean {
  if (typeof part !== "object" || part === null) return false;
  const { kind, name, from } = part as { kind?: unknown; name?: unknown; from?: unknown };
  if (kind === "switch" || kind === "while" || kind === "for" || kind === "getline" && COMMANDS.has(from)) {
    return true;
  }
  if (kind === "builtin" && waits(String(name)) || kind === "call" && waiting.has(String(name))) return true;
  return Object.values(part).some((member) => containsWait(member, waiting));
}

/** Finds the functions that call themselves, also through others. */
function recursive(definitions: ReadonlyMap<string, FunctionDefinition>): string[] {
  const calls = new Map([...definitions].map(([name, { body }]) => [name, callsOf(body)]));
  return [...definitions.keys()].filter((name) => {
    const reached = new Set(calls.get(name));
    for (const callee of reached) for (const next of calls.get(callee) ?? []) reached.add(next);
    return reached.has(name);
  });
}

function callsOf(part: unknown): string[] {
  if (typeof part !== "object" || part === null) return [];
  const { kind, name } = part as { kind?: unknown; name?: unknown };
  const inner = Object.values(part).flatMap(callsOf);
  return kind === "call" ? [String(name), ...inner] : inner;
}
