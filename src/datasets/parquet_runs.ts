import { readVarInt } from "hyparquet/src/thrift.js";
import type { DataReader } from "hyparquet/src/types.js";

/**
 * Reads runs of numbers (RLE and bit-packed, as Parquet mixes them), and returns how often a number occurs. The
 * function keeps no number: hyparquet 1.31.5 writes as many numbers as a run states, however few the page has.
 *
 * @param reader stands after the last run afterwards
 * @param options.width bits of a number
 * @param options.count number of numbers
 * @param options.wanted the number that is counted, if any
 * @throws {RangeError} if a run states more numbers than are left, or the runs end before the last number.
 */
export function countInRuns(
  reader: DataReader,
  { width, count, wanted }: { width: number; count: number; wanted?: number | undefined },
): number {
  let found = 0;
  for (let left = count; left > 0;) {
    const header = readVarInt(reader);
    const stated = header >>> 1;
    if (header & 1) {
      const numbers = Math.min(left, stated * 8);
      found += countPacked(reader, { width, count: numbers, wanted });
      reader.offset += stated * width;
      left -= numbers;
    } else {
      if (stated > left) throw new RangeError(`a run must have at most ${left} numbers: it has ${stated}`);
      if (readNumber(reader, width) === wanted) found += stated;
      left -= stated;
    }
  }
  return found;
}

/** Reads the number of a run in whole bytes. */
function readNumber(reader: DataReader, width: number): number {
  let value = 0;
  for (let shift = 0; shift < width; shift += 8) value |= reader.view.getUint8(reader.offset++) << shift;
  return value;
}

/** Returns the number of ones among the first bits. */
function countOnes({ view, offset }: DataReader, bits: number): number {
  let ones = 0;
  for (let at = 0; at < bits; at += 8) {
    let byte = view.getUint8(offset + (at >>> 3)) & (bits - at < 8 ? (1 << bits - at) - 1 : 0xff);
    byte -= byte >>> 1 & 0x55;
    byte = (byte & 0x33) + (byte >>> 2 & 0x33);
    ones += byte + (byte >>> 4) & 0x0f;
  }
  return ones;
}

/** Counts a number among packed ones, from the lowest bit of each byte. The reader stays. */
function countPacked(
  { view, offset }: DataReader,
  { width, count, wanted }: { width: number; count: number; wanted: number | undefined },
): number {
  if (wanted === undefined) return 0;
  if (width === 1) {
    const ones = countOnes({ view, offset }, count);
    return wanted === 1 ? ones : count - ones;
  }
  let found = 0;
  for (let at = 0; at < count; at++) {
    let value = 0;
    for (let bit = 0; bit < width; bit++) {
      const position = at * width + bit;
      value |= (view.getUint8(offset + (position >>> 3)) >>> (position & 7) & 1) << bit;
    }
    if (value === wanted) found++;
  }
  return found;
}
