/** A host and a port that a profile lists. */
export interface NetworkRule {
  /** Name of the host; for a wildcard, the part after `*.`. */
  readonly host: string;
  readonly port: number;
  /** True for a rule `*.example.org:443`, which lists the names below `example.org`. */
  readonly isWildcard: boolean;
  /** True for a rule `tcp://…`, whose connections need not carry HTTP/1.1. */
  readonly isRaw: boolean;
}

const RAW_PREFIX = "tcp://";
const MAX_HOST_CHARACTERS = 253;
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;
/** A last label that starts with a letter: numbers such as `0x7f000001` are addresses in another form. */
const LAST_LABEL = /^[a-z]/;
const PORT = /^[1-9]\d{0,4}$/;
const MAX_PORT = 65_535;

/** Parses a rule such as `api.example.com:443`. Returns `undefined` if the text is not a rule. */
export function parseNetworkRule(text: string): NetworkRule | undefined {
  const isRaw = text.startsWith(RAW_PREFIX);
  const [pattern = "", port = "", ...more] = text.slice(isRaw ? RAW_PREFIX.length : 0).split(":");
  const isWildcard = pattern.startsWith("*.");
  const host = parseHostName(isWildcard ? pattern.slice(2) : pattern);
  if (host === undefined || host !== pattern.slice(isWildcard ? 2 : 0) || more.length > 0) return undefined;
  if (isWildcard && !host.includes(".")) return undefined;
  if (!PORT.test(port) || Number(port) > MAX_PORT) return undefined;
  return { host, port: Number(port), isWildcard, isRaw };
}

/**
 * Returns the name of a host in lower case and without a final dot; `undefined` for an address, a name of this machine
 * and a malformed name.
 */
export function parseHostName(text: string): string | undefined {
  if (text.length > MAX_HOST_CHARACTERS + 1) return undefined;
  const name = text.toLowerCase().replace(/\.$/, "");
  const labels = name.split(".");
  const last = labels.at(-1) ?? "";
  if (!labels.every((label) => LABEL.test(label)) || !LAST_LABEL.test(last)) return undefined;
  return last === "localhost" || name.length > MAX_HOST_CHARACTERS ? undefined : name;
}

/** Returns the first rule that lists a host, and a port if there is one. The host is in lower case. */
export function findNetworkRule(
  rules: readonly NetworkRule[],
  host: string,
  port?: number,
): NetworkRule | undefined {
  return rules.find((rule) =>
    (rule.isWildcard ? host.endsWith(`.${rule.host}`) : host === rule.host) &&
    (port === undefined || port === rule.port)
  );
}
