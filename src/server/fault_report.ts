import { SandboxError } from "../errors.ts";
import { asServerError } from "./error_answer.ts";

/**
 * Tells of what is a fault of the server's and not of whoever asked, once, by however many hands what was thrown
 * goes.
 */
export function faultReport(onError: (error: unknown) => void): (thrown: unknown) => void {
  const told = new WeakSet<object>();
  return (thrown) => {
    const { code, cause } = asServerError(thrown);
    if (code !== "internal" && !(cause instanceof SandboxError)) return;
    const isObject = typeof cause === "object" && cause !== null;
    if (isObject && told.has(cause)) return;
    if (isObject) told.add(cause);
    onError(cause);
  };
}
