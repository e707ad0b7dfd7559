/** Environment of a process, of which this module changes `NO_PROXY`. */
export type ProxyEnvironment = Pick<Deno.Env, "get" | "set">;

/** Hosts that are this machine, as `NO_PROXY` lists them. */
const LOOPBACK = ["localhost", "127.0.0.1", "::1"];

/**
 * Excludes this machine from the proxy of the environment, as a proxy elsewhere cannot reach a model server on loopback.
 * This function must run before the first request: Deno then reads the variables.
 */
export function excludeLoopback(env: ProxyEnvironment): void {
  if (!variables("http:").concat(variables("https:")).some((name) => env.get(name))) return;
  const excluded = noProxyOf(env);
  env.set("NO_PROXY", [...excluded, ...LOOPBACK.filter((host) => !excluded.includes(host))].join(","));
}

/**
 * Returns how requests reach an address, for messages: `through the proxy of HTTP_PROXY, http://proxy:3128`.
 * Returns `undefined` without a proxy.
 */
export function describeProxy(url: URL, env: Pick<Deno.Env, "get">): string | undefined {
  const name = variables(url.protocol).find((name) => env.get(name));
  if (name === undefined || isExcluded(url, env)) return undefined;
  const address = URL.parse(env.get(name) ?? "");
  return `through the proxy of ${name}${address === null ? "" : `, ${address.protocol}//${address.host}`}`;
}

/** Returns the names of the variables with the proxy of a protocol, in the order in which Deno reads them. */
function variables(protocol: string): string[] {
  const name = `${protocol.slice(0, -1)}_proxy`;
  return [name.toUpperCase(), name, "ALL_PROXY", "all_proxy"];
}

function isExcluded({ hostname }: URL, env: Pick<Deno.Env, "get">): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  const excluded = [...noProxyOf(env), ...LOOPBACK];
  return excluded.some((entry) =>
    entry === "*" || host === entry || host.endsWith(`.${entry.replace(/^\./, "")}`)
  );
}

function noProxyOf(env: Pick<Deno.Env, "get">): string[] {
  const text = env.get("NO_PROXY") ?? env.get("no_proxy") ?? "";
  return text.split(",").map((entry) => entry.trim()).filter((entry) => entry !== "");
}
