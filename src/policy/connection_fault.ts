/** What is told of a connection that failed, without the address, which may hold a password. */
export function connectionFault(thrown: unknown): string {
  return toldOf(thrown).replace(/^.*for url \([^)]*\): /, "").replace(/^.*client error \(\w+\): /s, "");
}

/** Whether a request failed before there was a connection, so that it cannot have arrived. */
export function neverConnected(thrown: unknown): boolean {
  return /client error \(Connect\)/.test(toldOf(thrown));
}

/** `fetch` says what happened in the cause of what it throws. */
function toldOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.cause instanceof Error ? thrown.cause.message : thrown.message;
}
