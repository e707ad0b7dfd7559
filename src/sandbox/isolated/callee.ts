import * as z from "zod";
import type { ExecOptions, ExecResult } from "../contract/exec.ts";
import type { PythonSession } from "../contract/pool.ts";
import callee from "./callee.py" with { type: "text" };
import plainData from "./plain_data.py" with { type: "text" };

/** The result of a call, as data. */
export type CalleeReply =
  | { readonly value: PlainData }
  /** The name of the exception's class, the name of its nearest built-in base class, and its message. */
  | { readonly raised: string; readonly base: string; readonly message: string }
  /** The result is longer than a reply may be. */
  | { readonly tooLong: true };

/** Options of {@linkcode Callee}. */
export interface CalleeOptions {
  /** Name of the program in messages, such as `candidate`. */
  readonly name: string;
  /** Time limit of all calls together, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * Factor of the limits of time of the session.
   *
   * @default 1
   */
  readonly timeScale?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Time of a call that is not charged to the program, in milliseconds: some 0.5 ms are the way there and back, and more
 * on a busy machine.
 */
const CROSSING_MS = 5;
/** Time of each further call of a batch that is not charged to the program, in milliseconds. */
const FURTHER_CALL_MS = 1;
/** Maximum number of parts of a long reply, of 65,536 characters each. */
const MAX_PARTS = 240;
/** Maximum length of a reply, in characters. It then fits into the result of a host tool. */
export const MAX_REPLY_CHARACTERS = 15 * 1024 * 1024;
/** Code whose value is the part of a long reply. `callee.py` defines it. */
const PART = (index: number) => moduleCall("paddock_callee", "part", [index]);

const partsSchema = z.strictObject({ parts: z.int().min(2) });
const exceptionSchema = z.object({ raised: z.string(), base: z.string(), message: z.string() });

/** Options of {@linkcode Callee.call}. */
export interface CallOptions {
  /** Large arguments are fastest here. */
  readonly stdin?: string | undefined;
  /**
   * Number of calls of the program that the code makes.
   *
   * @default 1
   */
  readonly batchSize?: number | undefined;
}

/** A program in its own session, called through data. Its replies are untrusted: only valid plain data is accepted. */
export class Callee {
  readonly #session: PythonSession;
  readonly #options: CalleeOptions;
  #leftMs: number;
  #crossingMs = 0;
  #calls = 0;
  #loss: string | undefined;

  constructor(session: PythonSession, options: CalleeOptions) {
    this.#session = session;
    this.#options = options;
    this.#leftMs = options.timeoutMs;
  }

  /** Number of calls. */
  get calls(): number {
    return this.#calls;
  }

  /** Time of the calls that was not charged to the program, in milliseconds. */
  get crossingMs(): number {
    return this.#crossingMs;
  }

  /** The reason why the program can no longer be called, such as a crash. Undefined while it can be. */
  get failure(): string | undefined {
    return this.#loss;
  }

  /** Runs code whose value must be `loaded`. Sets {@linkcode Callee.failure} if it is not. */
  async load(code: string, files: Readonly<Record<string, Uint8Array>> = {}): Promise<void> {
    const result = await this.#exec(code, { files });
    if (result.status !== "ok" || result.value !== "loaded") this.#loss = this.#failureOf(result);
  }

  /** Runs code that loads a program, and whose value is the reply of a first call. Sets the failure if there is none. */
  async loadAndCall(code: string): Promise<CalleeReply | undefined> {
    const result = await this.#exec(code);
    const reply = await this.#replyOf(result);
    if (reply === undefined) this.#loss = this.#failureOf(result);
    return reply;
  }

  /** Runs code whose value is a reply of `callee.py`. */
  async call(code: string, { stdin, batchSize = 1 }: CallOptions = {}): Promise<CalleeReply> {
    this.#calls++;
    if (this.#loss === undefined && this.#leftMs <= 0) {
      this.#loss = `the ${this.#options.name} has used up its time`;
    }
    if (this.#loss !== undefined) return noAnswerReply(this.#loss);
    const freeMs = CROSSING_MS + (batchSize - 1) * FURTHER_CALL_MS;
    const result = await this.#exec(code, { stdin, freeMs });
    return await this.#replyOf(result) ?? this.#noAnswer(result);
  }

  /** Returns the reply that a result has, if it has one. */
  async #replyOf(
    { status, value }: ExecResult & { readonly value?: string | undefined },
  ): Promise<CalleeReply | undefined> {
    if (status !== "ok" || value === undefined) return undefined;
    const parts = value.startsWith('{"parts"') ? partsOfReply(value) : undefined;
    return parts === undefined ? parseReply(value) : await this.#callParts(parts);
  }

  /** Requests the parts of a long reply. */
  async #callParts(count: number): Promise<CalleeReply> {
    if (count > MAX_PARTS) return { tooLong: true };
    const texts: string[] = [];
    for (let index = 0; index < count; index++) {
      const result = await this.#exec(PART(index), { freeMs: CROSSING_MS });
      if (result.status !== "ok" || result.value === undefined) return this.#noAnswer(result);
      texts.push(result.value);
    }
    const reply = parseReply(texts.join(""));
    if (reply === undefined) return noAnswerReply(`the ${this.#options.name} returned no result`);
    return JSON.stringify(reply).length > MAX_REPLY_CHARACTERS ? { tooLong: true } : reply;
  }

  #noAnswer(result: ExecResult): CalleeReply {
    const message = this.#failureOf(result);
    if (!result.truncated || result.status !== "ok") this.#loss = message;
    return noAnswerReply(message);
  }

  /** Runs code. Its time but `freeMs` is charged to the program. */
  async #exec(
    code: string,
    { freeMs = 0, ...given }: Pick<ExecOptions, "files" | "stdin"> & { freeMs?: number } = {},
  ): Promise<ExecResult> {
    const { timeScale = 1, signal } = this.#options;
    const startedAt = performance.now();
    const result = await this.#session.exec(code, { ...given, timeoutMs: this.#leftMs + freeMs, signal });
    const chargedMs = Math.max(0, result.durationMs - freeMs * timeScale);
    this.#leftMs -= chargedMs / timeScale;
    this.#crossingMs += performance.now() - startedAt - chargedMs;
    return result;
  }

  #failureOf({ status, truncated }: ExecResult): string {
    const { name } = this.#options;
    if (status !== "ok") return `the ${name}'s program ended as '${status}'`;
    return truncated ? `the ${name} returned too much output` : `the ${name} returned no result`;
  }
}

function noAnswerReply(message: string): CalleeReply {
  return { raised: "NoAnswer", base: "Exception", message };
}

function partsOfReply(text: string): number | undefined {
  try {
    return partsSchema.safeParse(JSON.parse(text)).data?.parts;
  } catch {
    return undefined; // the reply is not JSON
  }
}

function parseReply(text: string): CalleeReply | undefined {
  try {
    const reply: unknown = JSON.parse(text);
    if (typeof reply !== "object" || reply === null) return undefined;
    if ("value" in reply && isPlainData(reply.value, MAX_DEPTH + ENVELOPE)) return { value: reply.value };
    const { data } = exceptionSchema.safeParse(reply);
    return data;
  } catch {
    return undefined; // the reply is not JSON
  }
}

/** An encoded Python value: `null`, a boolean, a string, or a list whose first element is the type. */
export type PlainData = null | boolean | string | readonly PlainData[];

/** Maximum depth. `plain_data.py` encodes no result deeper than this. */
const MAX_DEPTH = 80;
/** Depth of lists around the result in a reply. */
const ENVELOPE = 5;
const HEX_INTEGER = /^-?0x[0-9a-f]+$/;
const HEX_INTEGERS = /^-?0x[0-9a-f]+(?: -?0x[0-9a-f]+)*$/;
const HEX_FLOAT = /^(?:nan|-?inf|-?0x[01]\.[0-9a-f]+p[-+]\d{1,4})$/;
const HEX_BYTES = /^(?:[0-9a-f]{2})*$/;
const DECIMAL = /^-?(?:s?nan\d*|infinity|\d+(?:\.\d+)?(?:e[-+]?\d{1,20})?)$/i;
const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME = /^\d\d:\d\d:\d\d(?:\.\d{6})?(?:[-+][\d:.]{5,15})?$/;
const DATETIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{6})?(?:[-+][\d:.]{5,15})?$/;

/**
 * True if a value is plain data only: known types, well-formed numbers, and a limited depth, which keeps its reader
 * from overflowing its stack. The value may come from an untrusted program.
 */
export function isPlainData(value: unknown, maxDepth: number = MAX_DEPTH): value is PlainData {
  const waiting: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const inner = partsOf(next.value);
    if (inner === undefined || next.depth > maxDepth) return false;
    for (const part of inner) waiting.push({ value: part, depth: next.depth + 1 });
  }
  return true;
}

/** Returns the values inside a value, or `undefined` if it is not plain data. */
function partsOf(value: unknown): readonly unknown[] | undefined {
  if (value === null || typeof value === "boolean" || typeof value === "string") return [];
  if (!Array.isArray(value)) return undefined;
  const [kind, ...rest]: unknown[] = value;
  switch (kind) {
    case "int":
      return allMatch(rest, 1, HEX_INTEGER);
    case "ints":
      return allMatch(rest, 1, HEX_INTEGERS);
    case "float":
      return allMatch(rest, 1, HEX_FLOAT);
    case "complex":
      return allMatch(rest, 2, HEX_FLOAT);
    case "range":
    case "timedelta":
      return allMatch(rest, 3, HEX_INTEGER);
    case "Fraction":
      return allMatch(rest, 2, HEX_INTEGER);
    case "Decimal":
      return allMatch(rest, 1, DECIMAL);
    case "date":
      return allMatch(rest, 1, DATE);
    case "time":
      return allMatch(rest, 1, TIME);
    case "datetime":
      return allMatch(rest, 1, DATETIME);
    case "bytes":
    case "bytearray":
      return allMatch(rest, 1, HEX_BYTES);
    case "defaultdict":
      return typeof rest[0] === "string" ? partsOf(["dict", ...rest.slice(1)]) : undefined;
    case "object":
    case "function":
    case "class":
    case "coroutine":
    case "generator":
      return allMatch(rest, kind === "object" ? 2 : 1, HEX_INTEGER);
    case "value":
      return rest.length === 3 && allMatch(rest.slice(0, 2), 2, HEX_INTEGER) ? [rest[2]] : undefined;
    case "linked":
      return rest.length === 2 && allMatch(rest.slice(0, 1), 1, HEX_INTEGER) ? [rest[1]] : undefined;
    case "Counter":
    case "OrderedDict":
    case "dict":
    case "dict_items":
      return rest.every((item) => Array.isArray(item) && item.length === 2) ? rest.flat(1) : undefined;
    case "list":
    case "tuple":
    case "set":
    case "frozenset":
    case "deque":
    case "dict_keys":
    case "dict_values":
      return rest;
    default:
      return undefined;
  }
}

function allMatch(texts: readonly unknown[], count: number, form: RegExp): readonly unknown[] | undefined {
  const isValid = texts.length === count &&
    texts.every((text) => typeof text === "string" && form.test(text));
  return isValid ? [] : undefined;
}

/** An argument of {@linkcode moduleCall}. */
export type PythonArgument = string | number | readonly string[];

/** Modules that all defined modules may import, in dependency order. */
export const SHARED_MODULES: Readonly<Record<string, string>> = {
  paddock_plain_data: plainData,
  paddock_callee: callee,
};

/** Returns code that defines modules in a session: first the shared ones, then `sources`, by name. */
export function moduleDefinitions(sources: Readonly<Record<string, string>>): string {
  const defined = Object.entries({ ...SHARED_MODULES, ...sources }).map(([name, source]) =>
    `_module = sys.modules["${name}"] = types.ModuleType("${name}")\n` +
    `exec(compile(${pythonString(source)}, "<${name}>", "exec"), _module.__dict__)`
  );
  return `import sys, types\n${defined.join("\n")}\ndel _module, sys, types`;
}

/** Returns code that calls a function of such a module. */
export function moduleCall(module: string, name: string, args: readonly PythonArgument[]): string {
  return `__import__("${module}").${name}(${args.map(pythonArgument).join(", ")})`;
}

function pythonArgument(argument: PythonArgument): string {
  if (typeof argument === "number") return String(argument);
  return typeof argument === "string" ? pythonString(argument) : `[${argument.map(pythonString).join(", ")}]`;
}

/** Returns a Python string literal in printable ASCII. */
export function pythonString(text: string): string {
  return JSON.stringify(text).replace(/[^\x20-\x7e]/gu, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16);
    return hex.length > 4 ? `\\U${hex.padStart(8, "0")}` : `\\u${hex.padStart(4, "0")}`;
  });
}
