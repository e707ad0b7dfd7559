import * as z from "zod";
import { GUEST_FILE_ERROR_CODES, GuestFileError } from "../../../errors.ts";
import { parseUntrustedJson } from "../../../json.ts";
import type { ExecOptions, ExecResult } from "../../../sandbox/contract/exec.ts";
import { ServerError } from "../../http/http_errors.ts";

/** Runs a program in a session. */
export type RunProgram = (code: string, options: ExecOptions) => Promise<ExecResult>;

/** Action of a program of the server, and its path. */
export interface GuestRequest {
  readonly action: string;
  readonly path: string;
  readonly [name: string]: unknown;
}

/** Options of {@linkcode askGuest}. */
export interface GuestRequestOptions<T> {
  /** Python program that reads the text `REQUEST` and prints JSON. */
  readonly source: string;
  /** Start of error messages, such as `list`. */
  readonly verb: string;
  readonly schema: z.ZodType<T>;
  readonly options: ExecOptions;
}

const refusalSchema = z.object({ reason: z.enum(GUEST_FILE_ERROR_CODES), message: z.string().max(300) });

/**
 * Runs a program of the server in a session, with the rights of the session's own programs. These can change what it
 * answers, for the session alone.
 *
 * @throws {GuestFileError} if the program refuses the request.
 * @throws {ServerError} `conflict` if its answer is not what the schema allows.
 */
export async function askGuest<T>(
  run: RunProgram,
  request: GuestRequest,
  { source, verb, schema, options }: GuestRequestOptions<T>,
): Promise<{ answer: T; result: ExecResult }> {
  // JSON texts are Python literals too. The session does not see the names of the code.
  const text = JSON.stringify(JSON.stringify(request));
  const code = `exec(${JSON.stringify(source)}, {"__name__": "paddock_files", "REQUEST": ${text}})`;
  const result = await run(code, options);
  let answer: unknown;
  try {
    answer = parseUntrustedJson(result.stdout);
    const refusal = refusalSchema.safeParse(answer);
    if (!refusal.success) return { answer: schema.parse(answer), result };
  } catch (cause) {
    throw new ServerError("conflict", `The session cannot ${verb} '${request.path}'`, { cause });
  }
  const { reason, message } = refusalSchema.parse(answer);
  throw new GuestFileError(`Cannot ${verb} '${request.path}' as ${message}`, { code: reason });
}
