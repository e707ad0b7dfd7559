/** Files in which Linux lists the connections of this host, one per address family. */
const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
/** Row of a table: local port, remote port, state. */
const ROW = /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]{2}) /gm;
const ESTABLISHED = "01";

/**
 * Returns the remote port of each connection to a local port, or `undefined` on systems other than Linux, which do
 * not list connections.
 */
export async function listConnectedPorts(port: number): Promise<number[] | undefined> {
  const tables = await Promise.all(TABLES.map((path) => Deno.readTextFile(path).catch(() => undefined)));
  if (tables[0] === undefined) return undefined;
  const rows = tables.flatMap((table = "") => [...table.matchAll(ROW)]);
  const own = rows.filter(([, local = "", , state]) => state === ESTABLISHED && parseInt(local, 16) === port);
  return own.map(([, , remote = ""]) => parseInt(remote, 16));
}
