import { z } from "zod";
import { MAX_TIMEOUT_MS } from "../../../wire/limits.ts";
import { ServerError } from "../../server_error.ts";

/** The only runtime. */
export const RUNTIME = { language: "python", version: "3.14.2", aliases: ["py", "python3"] };

const DEFAULT_TIMEOUT_MS = 3_000;
const ENCODINGS = ["utf8", "base64", "hex"] as const;
/** Versions and ranges that match the runtime. */
const VERSION = /^\s*(\*|x|(>=|\^|~|=|v)?\s*3(\.[\dx*]+)*)\s*$/i;
/** Limits that a request may set. Only `run_timeout` has an effect; the profile sets the others. */
const CONSTRAINTS = ["memory_limit", "timeout", "cpu_time"].flatMap((name) => [
  `compile_${name}`,
  `run_${name}`,
]);

/** File of a request. */
export interface PistonFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly encoding: (typeof ENCODINGS)[number];
}

/** Body of `/api/v2/execute`. */
export interface PistonRequest {
  /** First text file: the program. */
  readonly main: PistonFile;
  readonly others: readonly PistonFile[];
  readonly stdin: string;
  readonly args: readonly string[];
  readonly runTimeoutMs: number;
}

const object = z.record(z.string(), z.unknown());
const text = z.string().min(1);
const encoding = z.enum(ENCODINGS).catch("utf8");

/**
 * Parses a request in Piston's order and reports the first issue.
 *
 * @throws {ServerError} `malformed` with Piston's message.
 */
export function parsePistonRequest(body: unknown): PistonRequest {
  const fields = object.safeParse(body).data ?? {};
  const language = requireValid(text, fields.language, "language is required as a string");
  const version = requireValid(text, fields.version, "version is required as a string");
  const list = requireValid(z.array(z.unknown()), fields.files, "files is required as an array");
  const files = list.map(pistonFile);
  const known = language === RUNTIME.language || RUNTIME.aliases.includes(language);
  if (!known || !VERSION.test(version)) throw malformed(`${language}-${version} runtime is unknown`);
  const main = files.find(({ encoding }) => encoding === "utf8");
  if (main === undefined) throw malformed("files must include at least one utf8 encoded file");
  for (const name of CONSTRAINTS) checkConstraint(name, fields[name]);
  return {
    main,
    others: files.filter((file) => file !== main),
    stdin: requireValid(z.string(), fields.stdin ?? "", "stdin must be a string"),
    args: requireValid(z.array(z.string()), fields.args ?? [], "args must be an array of strings"),
    runTimeoutMs: Number(fields.run_timeout || DEFAULT_TIMEOUT_MS),
  };
}

function pistonFile(value: unknown, at: number): PistonFile {
  const fields = object.safeParse(value).data ?? {};
  const content = requireValid(z.string(), fields.content, `files[${at}].content is required as a string`);
  const name = text.safeParse(fields.name).data ?? `file${at}.code`;
  const coded = encoding.parse(fields.encoding);
  return { name, encoding: coded, bytes: decodeContent(content, coded, at) };
}

function checkConstraint(name: string, value: unknown): void {
  if (!value) return;
  if (typeof value !== "number") throw malformed(`If specified, ${name} must be a number`);
  const mostMs = name === "run_timeout" ? MAX_TIMEOUT_MS : Infinity;
  if (value > mostMs) throw malformed(`${name} cannot exceed the configured limit of ${mostMs}`);
  if (value < 0 && name !== "run_memory_limit" && name !== "compile_memory_limit") {
    throw malformed(`${name} must be non-negative`);
  }
}

function decodeContent(content: string, coded: PistonFile["encoding"], at: number): Uint8Array {
  try {
    if (coded === "base64") return Uint8Array.fromBase64(content);
    if (coded === "hex") return Uint8Array.fromHex(content);
  } catch (cause) {
    throw new ServerError("malformed", `files[${at}].content must be ${coded}`, { cause });
  }
  return new TextEncoder().encode(content);
}

function requireValid<T>(schema: z.ZodType<T>, value: unknown, message: string): T {
  const { success, data } = schema.safeParse(value);
  if (success) return data;
  throw malformed(message);
}

function malformed(message: string): ServerError {
  return new ServerError("malformed", message);
}
