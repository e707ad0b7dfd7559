import { SandboxError } from "../errors.ts";
import { toServerError } from "./error_answer.ts";

/**
 * Returns a function that reports errors of the server, but not those of clients. Each error is reported once, even if
 * several layers catch it.
 */
export function errorReporter(onError: (error: unknown) => void): (thrown: unknown) => void {
  const reported = new WeakSet<object>();
  return (thrown) => {
    const { code, cause } = toServerError(thrown);
    if (code !== "internal" && !(cause instanceof SandboxError)) return;
    const isObject = typeof cause === "object" && cause !== null;
    if (isObject && reported.has(cause)) return;
    if (isObject) reported.add(cause);
    onError(cause);
  };
}
