/** Blocks of IPv4 that are not of the public internet: private, local, shared, reserved, multicast. */
const RESERVED4: readonly (readonly [block: string, bits: number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/**
 * Blocks inside `2000::/3`, the global addresses of IPv6, that are not of the public internet: special purposes with
 * Teredo, documentation, 6to4. Mapped, translated (NAT64), local and multicast addresses lie outside `2000::/3`.
 */
const RESERVED6: readonly (readonly [groups: readonly number[], bits: number])[] = [
  [[0x2001, 0], 23],
  [[0x2001, 0xdb8], 32],
  [[0x2002], 16],
  [[0x3fff], 20],
];

/** Returns true for an address of the public internet, written with four decimal numbers or as IPv6. */
export function isPublicAddress(address: string): boolean {
  const word = parseIpv4(address);
  if (word !== undefined) {
    return !RESERVED4.some(([block, bits]) => sameBlock(word, parseIpv4(block) ?? 0, bits));
  }
  const groups = parseIpv6(address);
  if (groups === undefined || (groups[0] as number) >>> 13 !== 1) return false;
  const head = headOf(groups);
  return !RESERVED6.some(([block, bits]) => sameBlock(head, headOf(block), bits));
}

function sameBlock(word: number, block: number, bits: number): boolean {
  return (word ^ block) >>> (32 - bits) === 0;
}

function headOf([first = 0, second = 0]: readonly number[]): number {
  return (first << 16 | second) >>> 0;
}

function parseIpv4(text: string): number | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256)) {
    return undefined;
  }
  return parts.reduce((word, part) => (word << 8 | Number(part)) >>> 0, 0);
}

/** Returns the eight groups of an address. An address with a zone has none. */
function parseIpv6(text: string): number[] | undefined {
  const [left = "", right, ...more] = text.split("::");
  if (more.length > 0) return undefined;
  const head = groupsOf(left);
  const tail = right === undefined ? [] : groupsOf(right);
  if (!head || !tail) return undefined;
  const missing = 8 - head.length - tail.length;
  if (right === undefined ? missing !== 0 : missing < 1) return undefined;
  return [...head, ...Array<number>(missing).fill(0), ...tail];
}

function groupsOf(text: string): number[] | undefined {
  if (text === "") return [];
  const parts = text.split(":");
  const groups: number[] = [];
  for (const [index, part] of parts.entries()) {
    const word = index === parts.length - 1 ? parseIpv4(part) : undefined;
    if (word !== undefined) groups.push(word >>> 16, word & 0xffff);
    else if (/^[\da-f]{1,4}$/i.test(part)) groups.push(parseInt(part, 16));
    else return undefined;
  }
  return groups;
}
