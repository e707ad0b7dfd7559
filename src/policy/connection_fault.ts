/** What is told of a connection that failed, without the address, which may hold a password. */
export function connectionFault(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.replace(/^.*for url \([^)]*\): /, "").replace(/^client error \(\w+\): /, "");
}
