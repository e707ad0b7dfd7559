import type { Pointer, PythonExports } from "../emscripten.ts";

/** The time between two changes of a zone's offset. */
interface Period {
  /** Seconds since 1970, in UTC. */
  readonly start: number;
  /** Seconds east of UTC. */
  readonly offset: number;
  readonly isDst: boolean;
}

interface Zone {
  /** Names of the standard time and of the daylight saving time. */
  readonly names: readonly [Uint8Array, Uint8Array];
  /** A list that is never empty, in order. */
  readonly periods: readonly Period[];
}

/** Size of a name with its terminating zero, as C has it. */
const NAME_BYTES = 16;
const HEAD_BYTES = 2 * NAME_BYTES;
const PERIOD_BYTES = 16;
const MAX_PERIODS = 4096;
const DAY = 86_400;
const HOUR = 3_600;

/** Indexes of the fields of C's `struct tm`. */
const [YEAR, MONTH, DAY_OF_MONTH, HOURS, MINUTES, SECONDS] = [5, 4, 3, 2, 1, 0];
const [WEEKDAY, DAY_OF_YEAR, IS_DST, OFFSET] = [6, 7, 8, 9];

const NAME_UTC = new TextEncoder().encode("UTC\0");
const UTC: Zone = {
  names: [NAME_UTC, NAME_UTC],
  periods: [{ start: -Infinity, offset: 0, isDst: false }],
};

/** Local time of programs: UTC, or the zone that a program has set by `time.tzset`. */
export class LocalTime {
  readonly #exports: () => PythonExports;
  #zone = UTC;
  #encoded: Uint8Array | undefined;

  /** @param exports Returns the functions of the instance. */
  constructor(exports: () => PythonExports) {
    this.#exports = exports;
  }

  /** Returns the imports with those by which C converts times. */
  wrapImports(imports: WebAssembly.Imports): WebAssembly.Imports {
    const env = {
      ...imports.env,
      _tzset_js: (timezone: Pointer, daylight: Pointer, standard: Pointer, summer: Pointer) => {
        const { periods } = this.#zone;
        this.#words(timezone)[0] = -(periods.findLast(({ isDst }) => !isDst)?.offset ?? 0);
        this.#words(daylight)[0] = Number(periods.some(({ isDst }) => isDst));
        this.#writeNames([standard, summer]);
      },
      _localtime_js: (time: bigint, fields: Pointer) => this.#writeFields(Number(time), this.#words(fields)),
      _mktime_js: (fields: Pointer) => this.#timeOf(this.#words(fields)),
    };
    return { ...imports, env };
  }

  /** The zone as it was set; `undefined` for UTC. */
  get encoded(): Uint8Array | undefined {
    return this.#encoded;
  }

  /** Sets the zone, as Python encodes it: two names, and start, offset and kind of each period. */
  set(zone: Uint8Array): void {
    const count = Math.floor((zone.length - HEAD_BYTES) / PERIOD_BYTES);
    if (count < 1 || count > MAX_PERIODS) return;
    const view = new DataView(zone.buffer, zone.byteOffset, zone.length);
    const periods = Array.from({ length: count }, (_, index) => {
      const at = HEAD_BYTES + index * PERIOD_BYTES;
      const [start, offset] = [view.getFloat64(at, true), view.getInt32(at + 8, true)];
      return { start, offset, isDst: view.getInt32(at + 12, true) !== 0 };
    });
    this.#zone = {
      names: [zone.slice(0, NAME_BYTES), zone.slice(NAME_BYTES, HEAD_BYTES)],
      periods,
    };
    this.#encoded = zone.slice();
    const addresses = this.#words(this.#exports().tzname.value);
    this.#writeNames([addresses[0] ?? 0, addresses[1] ?? 0]);
  }

  /** Sets the zone to UTC. The names in the heap come from the image after a rewind. */
  reset(): void {
    this.#zone = UTC;
    this.#encoded = undefined;
  }

  /** Returns the words from an address on. Python may pass any address. */
  #words(address: Pointer): Int32Array {
    const { buffer } = this.#exports().memory;
    return new Int32Array(buffer, Math.min(address >>> 2 << 2 >>> 0, buffer.byteLength));
  }

  #writeNames(addresses: readonly [Pointer, Pointer]): void {
    const heap = new Uint8Array(this.#exports().memory.buffer);
    this.#zone.names.forEach((name, index) => {
      const at = (addresses[index] ?? 0) >>> 0;
      if (at > 0 && at + NAME_BYTES < heap.length) heap.set(name, at);
    });
  }

  #periodAt(time: number): Period {
    const { periods } = this.#zone;
    let [low, high] = [0, periods.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((periods[middle]?.start ?? 0) <= time) low = middle;
      else high = middle;
    }
    return periods[low] as Period;
  }

  #writeFields(time: number, fields: Int32Array): void {
    const { offset, isDst } = this.#periodAt(time);
    const date = new Date((time + offset) * 1000);
    const newYear = Date.UTC(date.getUTCFullYear(), 0, 1);
    fields[SECONDS] = date.getUTCSeconds();
    fields[MINUTES] = date.getUTCMinutes();
    fields[HOURS] = date.getUTCHours();
    fields[DAY_OF_MONTH] = date.getUTCDate();
    fields[MONTH] = date.getUTCMonth();
    fields[YEAR] = date.getUTCFullYear() - 1900;
    fields[WEEKDAY] = date.getUTCDay();
    fields[DAY_OF_YEAR] = Math.floor((date.getTime() - newYear) / (DAY * 1000));
    fields[IS_DST] = Number(isDst);
    fields[OFFSET] = offset;
  }

  /** Returns the time that fields name, and writes the fields of that time, as C's `mktime` does. */
  #timeOf(fields: Int32Array): bigint {
    const field = (index: number) => fields[index] ?? 0;
    const date = new Date(0);
    date.setUTCFullYear(field(YEAR) + 1900, field(MONTH), field(DAY_OF_MONTH));
    date.setUTCHours(field(HOURS), field(MINUTES), field(SECONDS));
    const local = date.getTime() / 1000;
    if (Number.isNaN(local)) return -1n;
    const time = local - this.#offsetOf(local, field(IS_DST));
    this.#writeFields(time, fields);
    return BigInt(time);
  }

  /** Returns the offset of a local time. Without a matching offset, the offset before the clock was changed. */
  #offsetOf(local: number, kind: number): number {
    const around = [this.#periodAt(local - DAY), this.#periodAt(local + DAY)];
    const possible = around.filter((period) => this.#periodAt(local - period.offset) === period);
    const [found] = possible.length > 0 ? possible : around;
    if (kind < 0) return found?.offset ?? 0;
    const isWanted = ({ isDst }: Period) => isDst === kind > 0;
    const match = possible.find(isWanted) ?? this.#zone.periods.findLast(isWanted);
    return match?.offset ?? (found?.offset ?? 0) + (kind > 0 ? HOUR : 0);
  }
}
