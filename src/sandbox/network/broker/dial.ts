import { EgressError, type EgressPolicy, type NetworkTrial } from "./egress_policy.ts";
import { isPublicAddress } from "./public_address.ts";

/** Host and port of a connection. */
export interface Target {
  readonly host: string;
  readonly port: number;
}

/** Options of {@linkcode resolveHost} and {@linkcode dial}. */
export interface DialOptions extends Pick<EgressPolicy, "timeoutMs"> {
  readonly trial?: NetworkTrial | undefined;
}

/** Addresses of a name that are tried. */
const MAX_ADDRESSES = 4;

/**
 * Returns the addresses of a host that a connection may reach.
 *
 * @throws {EgressError} if there are none.
 */
export async function resolveHost(host: string, { timeoutMs, trial }: DialOptions): Promise<string[]> {
  const found = trial?.names ? [...trial.names[host] ?? []] : await lookUp(host, timeoutMs);
  if (found.length === 0) throw new EgressError("EHOSTUNREACH", `'${host}' has no address`);
  const reachable = found.filter((address) =>
    isPublicAddress(address) || trial?.addresses?.includes(address) === true
  );
  if (reachable.length > 0) return reachable.slice(0, MAX_ADDRESSES);
  throw new EgressError("EACCES", `'${host}' has no address of the public internet`);
}

/**
 * Connects to one of the addresses, which were checked.
 *
 * @throws {EgressError} if no address accepts the connection in time.
 */
export async function dial(
  addresses: readonly string[],
  { port, timeoutMs }: Pick<Target, "port"> & Pick<DialOptions, "timeoutMs">,
): Promise<Deno.TcpConn> {
  const deadline = Date.now() + timeoutMs;
  let failure: unknown;
  for (const hostname of addresses) {
    try {
      return await within(Deno.connect({ hostname, port }), deadline - Date.now(), (late) => late.close());
    } catch (error) {
      failure = error;
    }
  }
  throw toEgressError(failure);
}

/**
 * Returns a result if it comes in time. A late one is passed to `release`.
 *
 * @throws {EgressError} if it does not.
 */
export async function within<T>(
  work: Promise<T>,
  ms: number,
  release: (late: T) => void = () => {},
): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    reject(new EgressError("ETIMEDOUT", "no answer in time"));
  }, Math.max(ms, 0));
  work.then((result) => isLate && release(result), () => {}); // a failure is reported below, or comes too late
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function lookUp(host: string, timeoutMs: number): Promise<string[]> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), timeoutMs);
  try {
    const lookUps = (["A", "AAAA"] as const).map((type) =>
      Deno.resolveDns(`${host}.`, type, { signal: controller.signal })
    );
    const found = await Promise.allSettled(lookUps);
    if (controller.signal.aborted) throw new EgressError("ETIMEDOUT", `'${host}' was not resolved in time`);
    return found.flatMap((each) => each.status === "fulfilled" ? each.value : []);
  } finally {
    clearTimeout(timer);
  }
}

/** Errors of Linux by Deno's. */
const CODES: readonly (readonly [new (...args: never[]) => Error, string])[] = [
  [Deno.errors.ConnectionRefused, "ECONNREFUSED"],
  [Deno.errors.ConnectionReset, "ECONNRESET"],
  [Deno.errors.ConnectionAborted, "ECONNABORTED"],
  [Deno.errors.BrokenPipe, "EPIPE"],
  [Deno.errors.TimedOut, "ETIMEDOUT"],
  [Deno.errors.UnexpectedEof, "ECONNRESET"],
];

/** Returns the error of a connection for one of Deno. */
export function toEgressError(error: unknown): EgressError {
  if (error instanceof EgressError) return error;
  const message = (error instanceof Error ? error.message : String(error)).replace(/ \(os error \d+\)$/, "");
  return new EgressError(CODES.find(([kind]) => error instanceof kind)?.[1] ?? "EIO", message);
}
