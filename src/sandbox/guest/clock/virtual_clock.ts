/** The time of all virtual clocks at the start of a session, in milliseconds since 1970: 2026-01-01 00:00 UTC. */
export const START_MS: number = Date.UTC(2026, 0, 1);

/** Nanoseconds that each event of a program takes. */
export const PACE = {
  /** A look for signals by Python's loop, which follows some fifty steps of a program. */
  tick: 2_000,
  /** A look for signals by a function of C, such as a step of a multiplication of large integers. */
  shortTick: 100,
  /** A read of any clock. */
  read: 1_000,
  /** A write to stdout or stderr, and an object that the program shows. */
  output: 10_000,
  /** A step of the shell. */
  step: 10_000,
  /** A call of a host tool, until the reply is there. */
  call: 1_000_000,
} as const;

const NS_PER_MS = 1_000_000;
const SIGINT = 2;
/** Time between repeated interrupts of a program that goes on after its timeout. The host's own interval is the same. */
const INTERRUPT_INTERVAL_NS = 50 * NS_PER_MS;

/** Limits of time of an exec, which the host sends before the exec. */
export interface TimeBudget {
  /** Time until the interrupt. */
  readonly timeoutMs: number;
  /** Time from there until the interpreter ends. */
  readonly graceMs: number;
  /** True if `timeoutMs` begins anew with each reply of the host, as the exec waits for answers. */
  readonly restarts: boolean;
}

/** A moment of a virtual clock. */
export interface Moment {
  /** Nanoseconds since the start of the session. */
  readonly ns: number;
  /** Nanoseconds of these in which no program computed. */
  readonly waitedNs: number;
}

/** What a clock calls at the end of an exec's time. */
export interface TimeoutHandlers {
  /** Called once per exec, at its timeout. */
  onLate(): void;
  /** Called at the end of the grace time. Ends the interpreter. */
  onKill(): void;
}

/**
 * A clock that advances only by what a program does, by the amounts of {@linkcode PACE}, and stands while no program
 * runs. A program that waits does not wait: the clock jumps.
 */
export class VirtualClock {
  readonly #interrupt: Uint8Array;
  #handlers: TimeoutHandlers = { onLate() {}, onKill() {} };
  #ns = 0;
  #waitedNs = 0;
  #isRunning = false;
  #budget: TimeBudget | undefined;
  /** The next time at which the clock interrupts or ends the program. */
  #limitNs = Infinity;
  #killNs = Infinity;

  /** @param interrupt Bytes by which Python is interrupted. */
  constructor(interrupt: Uint8Array) {
    this.#interrupt = interrupt;
  }

  /** Sets what happens at the timeout of an exec. */
  onTimeout(handlers: TimeoutHandlers): void {
    this.#handlers = handlers;
  }

  /** Nanoseconds since the start of the session. */
  get ns(): number {
    return this.#ns;
  }

  /** Milliseconds since the start of the session. */
  get ms(): number {
    return this.#ns / NS_PER_MS;
  }

  /** Milliseconds since the start in which no program computed. */
  get waitedMs(): number {
    return this.#waitedNs / NS_PER_MS;
  }

  /** Milliseconds since 1970, an integer. */
  get dateMs(): number {
    return START_MS + Math.floor(this.#ns / NS_PER_MS);
  }

  /** The time as a program reads it: milliseconds since the start of the session. */
  readMs(): number {
    this.pass(PACE.read);
    return this.ms;
  }

  /** The time of day as a program reads it: milliseconds since 1970, an integer. */
  readDateMs(): number {
    this.pass(PACE.read);
    return this.dateMs;
  }

  /** The time of day as a program reads it: nanoseconds since 1970. */
  nanoseconds(): bigint {
    this.pass(PACE.read);
    return BigInt(START_MS) * BigInt(NS_PER_MS) + BigInt(this.#ns);
  }

  /** Advances the clock, while a program runs. */
  pass(ns: number): void {
    if (!this.#isRunning) return;
    this.#ns += ns;
    if (this.#ns >= this.#limitNs) this.#reachLimit();
  }

  /** Jumps over a wait, up to the timeout of the exec. A program that was interrupted does not wait. */
  waitUntil(ns: number): void {
    if (!this.#isRunning || this.#interrupt[0] !== 0) return;
    const end = Math.min(ns, this.#limitNs);
    if (end > this.#ns) {
      this.#waitedNs += end - this.#ns;
      this.#ns = end;
    }
    if (this.#ns >= this.#limitNs) this.#reachLimit();
  }

  /** Returns the time after so many milliseconds. */
  after(ms: number): number {
    return this.#ns + Math.ceil(ms * NS_PER_MS);
  }

  /** Lets the clock go, as a program starts. Without a budget the program has no timeout. */
  begin(budget: TimeBudget | undefined): void {
    this.#isRunning = true;
    this.#budget = budget;
    this.#startBudget();
  }

  /** Starts the time until the timeout anew, if the budget is so. */
  restart(): void {
    if (this.#budget?.restarts && this.#killNs === Infinity) this.#startBudget();
  }

  /** Stops the clock, as the program has ended. */
  end(): void {
    this.#isRunning = false;
    this.#limitNs = this.#killNs = Infinity;
  }

  /** The moment that the clock shows. A checkpoint has it, and a rewind returns to the start. */
  get moment(): Moment {
    return { ns: this.#ns, waitedNs: this.#waitedNs };
  }

  set moment({ ns, waitedNs }: Moment) {
    this.#ns = ns;
    this.#waitedNs = waitedNs;
  }

  #startBudget(): void {
    this.#limitNs = this.#budget ? this.after(this.#budget.timeoutMs) : Infinity;
    this.#killNs = Infinity;
  }

  /** Interrupts the program, again and again until the end of the grace time. */
  #reachLimit(): void {
    const isFirst = this.#killNs === Infinity;
    if (isFirst) this.#killNs = this.after(this.#budget?.graceMs ?? 0);
    this.#limitNs = Math.min(this.#ns + INTERRUPT_INTERVAL_NS, this.#killNs);
    if (isFirst) this.#handlers.onLate();
    else if (this.#ns >= this.#killNs) this.#handlers.onKill();
    this.#interrupt[0] = SIGINT;
  }
}
