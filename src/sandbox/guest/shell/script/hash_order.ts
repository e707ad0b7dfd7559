const encoder = new TextEncoder();
/** Numbers of the hash FNV-1. */
const FNV_OFFSET = 2_166_136_261;
const FNV_PRIME = 16_777_619;
/** Number of buckets of an associative array. */
const ARRAY_BUCKETS = 1024;
/** Entries per bucket at which a table grows, and by how much it grows. */
const FULL = 2;
const GROWTH = 4;

interface Entry {
  readonly key: string;
  readonly hash: number;
}

type Table = Map<number, Entry[]>;

/**
 * Returns keys in the order in which a hash table of bash lists them. The keys are given in the order of their insertion.
 * A bucket lists the newest first.
 */
export function orderKeys(keys: readonly string[], buckets = ARRAY_BUCKETS): string[] {
  let table: Table = new Map();
  let size = buckets;
  keys.forEach((key, count) => {
    if (count >= size * FULL) {
      size *= GROWTH;
      const grown = entriesOf(table);
      table = new Map();
      for (const entry of grown) insert(table, size, entry);
    }
    insert(table, size, { key, hash: hashOf(key) });
  });
  return entriesOf(table).map(({ key }) => key);
}

/** Returns the entries of all buckets, each bucket's newest entry first. */
function entriesOf(table: Table): Entry[] {
  return [...table].sort(([left], [right]) => left - right).flatMap(([, entries]) => entries.toReversed());
}

function insert(table: Table, size: number, entry: Entry): void {
  const bucket = entry.hash & (size - 1);
  const entries = table.get(bucket);
  if (entries) entries.push(entry);
  else table.set(bucket, [entry]);
}

/** Bytes above 127 are negative numbers, as bash reads them. */
function hashOf(key: string): number {
  let hash = FNV_OFFSET;
  for (const byte of encoder.encode(key)) hash = (Math.imul(hash, FNV_PRIME) ^ (byte << 24 >> 24)) >>> 0;
  return hash;
}
