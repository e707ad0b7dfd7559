import { errorMessage } from "../../errors.ts";
import type { RequestRecord } from "../../server/http/access_log.ts";
import { LineLog } from "../../server/http/line_log.ts";
import { UsageError } from "../cli_errors.ts";
import { currentIo } from "../io.ts";

/** Name of stderr in `--access-log`. */
const STDERR = "-";

/** Options of {@linkcode openAccessLog}. */
export interface AccessLogFileOptions {
  /** Owns the log. */
  readonly stack: AsyncDisposableStack;
  /** Called with the first error of a write. */
  readonly onError: (error: unknown) => void;
}

/**
 * Opens the log of requests, which is appended to a file or written to stderr.
 *
 * @throws {UsageError} if the file cannot be opened.
 */
export async function openAccessLog(
  path: string | undefined,
  { stack, onError }: AccessLogFileOptions,
): Promise<LineLog<RequestRecord> | undefined> {
  if (path === undefined) return undefined;
  const { stderr } = currentIo();
  if (path === STDERR) return stack.use(new LineLog({ write: (bytes) => stderr.write(bytes), onError }));
  try {
    const file = stack.use(await Deno.open(path, { append: true, create: true, mode: 0o600 }));
    return stack.use(new LineLog({ write: (bytes) => file.write(bytes), onError }));
  } catch (cause) {
    throw new UsageError(`Cannot open the access log '${path}': ${errorMessage(cause)}`, { cause });
  }
}

/**
 * Checks the values of `--cors-origin`. Browsers send an origin in a single form only.
 *
 * @throws {UsageError} if a value is no origin in that form.
 */
export function checkOrigins(origins: readonly string[]): readonly string[] {
  for (const origin of origins) {
    const url = URL.parse(origin);
    const isHttp = url?.protocol === "http:" || url?.protocol === "https:";
    if (origin === "*" || (isHttp && url.origin === origin)) continue;
    const advice = isHttp ? `: write '${url.origin}'` : "";
    throw new UsageError(
      `Cannot serve as 'cors-origin' must be '*' or an origin such as 'https://example.org': current value is '${origin}'${advice}`,
    );
  }
  return origins;
}
