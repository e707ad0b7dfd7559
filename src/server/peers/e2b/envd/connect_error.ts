import { Code, ConnectError } from "@connectrpc/connect";
import { type ServerError, toPublicError } from "../../../http/http_errors.ts";
import { SandboxGoneError } from "../e2b_errors.ts";

const CODES: Partial<Record<ServerError["code"], Code>> = {
  busy: Code.ResourceExhausted,
  conflict: Code.Unavailable,
  invalid: Code.InvalidArgument,
  malformed: Code.InvalidArgument,
  not_found: Code.NotFound,
  timeout: Code.DeadlineExceeded,
  unavailable: Code.Unavailable,
};

/** Returns an error of the server as an error of Connect. */
export function toConnectError(thrown: unknown): ConnectError {
  if (thrown instanceof ConnectError) return thrown;
  const error = toPublicError(thrown);
  if (error instanceof SandboxGoneError) return new ConnectError(error.message, Code.Unavailable);
  return new ConnectError(error.message, CODES[error.code] ?? Code.Internal, undefined, undefined, error);
}
