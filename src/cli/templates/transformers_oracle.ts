import * as z from "zod";
import { errorMessage } from "../../errors.ts";
import { readLines } from "../../read_lines.ts";
import program from "./transformers_oracle.py" with { type: "text" };

/** Longest line that the oracle may write: a rendered chat. */
const MAX_LINE_BYTES = 256 * 1024 * 1024;

const versionsSchema = z.object({ jinja2: z.string(), transformers: z.string() });
const resultSchema = z.union([z.object({ text: z.string() }), z.object({ error: z.string() })]);

/** Rendering by transformers: a text, or the error that transformers raises. */
export type OracleResult = z.infer<typeof resultSchema>;

/** The results of transformers for some cases. */
export interface OracleAnswer {
  readonly versions: z.infer<typeof versionsSchema>;
  /** Results in the order of the cases. */
  readonly results: readonly OracleResult[];
}

/** The oracle cannot be used: Python or a Python package is missing. */
export class OracleError extends Error {
  override readonly name = "OracleError";
}

/** Options of {@linkcode renderByTransformers}. */
export interface RenderByTransformersOptions {
  /**
   * Python with the packages transformers and jinja2.
   *
   * @default "python3"
   */
  readonly python?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Renders templates by transformers in a process of Python. A case is a JSON text with `template`, `variables`,
 * and optionally `now`, the fields of the time that `strftime_now` shows.
 *
 * @throws {OracleError} if Python, transformers or jinja2 is missing, or the process ends early.
 */
export async function renderByTransformers(
  cases: readonly string[],
  options: RenderByTransformersOptions = {},
): Promise<OracleAnswer> {
  const { python = "python3", signal } = options;
  const child = start(python, signal);
  const errors = new Response(child.stderr).text();
  const input = new Blob(cases.map((line) => `${line}\n`)).stream().pipeTo(child.stdin)
    .catch(() => {}); // the process has ended, and stderr has the reason
  const lines: unknown[] = [];
  for await (const line of readLines(child.stdout, { maxBytes: MAX_LINE_BYTES })) {
    lines.push("fault" in line ? undefined : parse(line.text));
  }
  await input;
  await child.status;
  signal?.throwIfAborted();
  const [versions, ...results] = lines;
  const read = z.safeParse(versionsSchema, versions);
  if (!read.success || results.length !== cases.length) {
    const reason = (await errors).trim().split("\n").at(-1) ?? "";
    throw new OracleError(`Cannot render by transformers as '${python}' must have it: ${reason}`);
  }
  return { versions: read.data, results: results.map((result) => z.parse(resultSchema, result)) };
}

function start(python: string, signal: AbortSignal | undefined): Deno.ChildProcess {
  try {
    return new Deno.Command(python, {
      args: ["-c", program],
      env: { PYTHONUTF8: "1", TOKENIZERS_PARALLELISM: "false" },
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
      ...(signal && { signal }),
    }).spawn();
  } catch (cause) {
    throw new OracleError(`Cannot render by transformers as '${python}' must run: ${errorMessage(cause)}`, {
      cause,
    });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // not a line of the oracle, which the schema refuses
  }
}
