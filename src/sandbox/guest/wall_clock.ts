const NANOSECONDS_PER_MS = 1_000_000;

/** The clocks that a {@linkcode WallClock} reads. */
export interface WallClockSources {
  /** Milliseconds since 1970, an integer. */
  readonly date: () => number;
  /** Milliseconds of a clock that is monotonic and precise. */
  readonly now: () => number;
  /** The time since 1970 at which `now` was 0, in milliseconds, as far as the host knows. */
  readonly origin: number;
}

/**
 * The host's clock with a resolution below the resolution of `Date.now()`, which is 1 ms. The clock stays within the
 * millisecond that `Date.now()` returns, and so follows each change of the host's clock, and never goes back if the
 * host's does not.
 */
export class WallClock {
  /** What programs see as the resolution: the resolution of the precise clock, in nanoseconds. */
  static readonly RESOLUTION_NS = 1000n;
  readonly #sources: WallClockSources;
  /** A time since 1970 in milliseconds, and the milliseconds from there to the time at which `now` was 0. */
  #start: number;
  #offset: number;

  /** Starts at the origin that the sources name. */
  constructor(sources: WallClockSources) {
    this.#sources = sources;
    this.#start = Math.floor(sources.origin);
    this.#offset = sources.origin - this.#start;
  }

  /** Nanoseconds since 1970. */
  nanoseconds(): bigint {
    const { date, now } = this.#sources;
    const ms = date();
    const elapsed = now();
    let fraction = Math.round((this.#start - ms + this.#offset + elapsed) * NANOSECONDS_PER_MS);
    if (!(fraction >= 0 && fraction < NANOSECONDS_PER_MS)) {
      fraction = fraction >= 0 ? NANOSECONDS_PER_MS - 1 : 0;
      this.#start = ms;
      this.#offset = fraction / NANOSECONDS_PER_MS - elapsed;
    }
    return BigInt(ms) * BigInt(NANOSECONDS_PER_MS) + BigInt(fraction);
  }
}
