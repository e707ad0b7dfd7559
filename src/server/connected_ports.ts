/** Where Linux lists the connections of this host, by address family. */
const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
/** A connection of a table: its port here, its port there, its state. */
const ROW = /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]{2}) /gm;
const ESTABLISHED = "01";

/**
 * The ports of whoever is connected to a port of this host, one for each connection; `undefined` where that is not
 * told, as Linux alone does.
 */
export async function connectedPorts(port: number): Promise<number[] | undefined> {
  const tables = await Promise.all(TABLES.map((path) => Deno.readTextFile(path).catch(() => undefined)));
  if (tables[0] === undefined) return undefined;
  const rows = tables.flatMap((table = "") => [...table.matchAll(ROW)]);
  const own = rows.filter(([, here = "", , state]) => state === ESTABLISHED && parseInt(here, 16) === port);
  return own.map(([, , there = ""]) => parseInt(there, 16));
}
