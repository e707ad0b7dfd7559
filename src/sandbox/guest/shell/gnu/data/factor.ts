import type { GnuCommand } from "../command.ts";
import { quoted } from "../files/operands.ts";
import { parseOptions } from "../options.ts";

const SMALL = [2n, 3n, 5n, 7n, 11n, 13n, 17n, 19n, 23n, 29n, 31n, 37n];

/** `factor` of GNU coreutils 9.1. */
export const factor: GnuCommand = (args, context) => {
  const options = parseOptions(args, "");
  const words = options.operands.length > 0
    ? options.operands
    : context.stdin.split(/[ \t\n]+/).filter((word) => word !== "");
  let failed = false;
  for (const word of words) {
    if (!/^\s*\+?\d+$/.test(word)) {
      context.warn(`${quoted(word)} is not a valid positive integer`);
      failed = true;
      continue;
    }
    const number = BigInt(word.trim().replace("+", ""));
    const factors = number < 2n ? [] : factorsOf(number, context.poll).sort((a, b) => a < b ? -1 : 1);
    context.print(`${number}:${factors.map((prime) => ` ${prime}`).join("")}\n`);
  }
  return failed ? 1 : 0;
};

function factorsOf(number: bigint, poll: () => void): bigint[] {
  for (const prime of SMALL) {
    if (number % prime === 0n) {
      return number === prime ? [prime] : [prime, ...factorsOf(number / prime, poll)];
    }
  }
  if (number === 1n) return [];
  if (isPrime(number)) return [number];
  const divisor = findDivisor(number, poll);
  return [...factorsOf(divisor, poll), ...factorsOf(number / divisor, poll)];
}

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let [result, square] = [1n, base % modulus];
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = result * square % modulus;
    square = square * square % modulus;
  }
  return result;
}

/** The test of Miller and Rabin, which is exact for the bases up to 3.3e24. */
function isPrime(number: bigint): boolean {
  let [odd, twos] = [number - 1n, 0];
  while ((odd & 1n) === 0n) {
    odd >>= 1n;
    twos++;
  }
  return SMALL.every((base) => {
    if (base >= number) return true;
    let value = power(base, odd, number);
    if (value === 1n || value === number - 1n) return true;
    for (let round = 1; round < twos; round++) {
      value = value * value % number;
      if (value === number - 1n) return true;
    }
    return false;
  });
}

/** The method of Pollard and Brent. */
function findDivisor(number: bigint, poll: () => void): bigint {
  const gcd = (a: bigint, b: bigint): bigint => {
    while (b > 0n) [a, b] = [b, a % b];
    return a;
  };
  for (let offset = 1n;; offset++) {
    let [slow, fast, divisor] = [2n, 2n, 1n];
    const step = (value: bigint) => (value * value + offset) % number;
    while (divisor === 1n) {
      let product = 1n;
      const [slowStart, fastStart] = [slow, fast];
      for (let round = 0; round < 256; round++) {
        slow = step(slow);
        fast = step(step(fast));
        product = product * (slow > fast ? slow - fast : fast - slow) % number;
      }
      poll();
      divisor = gcd(product, number);
      if (divisor !== number) continue;
      [slow, fast, divisor] = [slowStart, fastStart, 1n];
      while (divisor === 1n) {
        slow = step(slow);
        fast = step(step(fast));
        divisor = gcd(slow > fast ? slow - fast : fast - slow, number);
      }
    }
    if (divisor !== number) return divisor;
  }
}
