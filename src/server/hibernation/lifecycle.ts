import type { PythonSession, SessionLease } from "../../sandbox/contract/pool.ts";
import type { HibernatedState } from "./hibernated_state.ts";

/** A leased interpreter, and the slot of the interpreter. */
export interface LeasedInterpreter {
  readonly lease: SessionLease;
  readonly slot: Disposable | undefined;
}

/** The session has an interpreter. */
interface Awake {
  readonly kind: "awake";
  readonly leased: LeasedInterpreter;
}

/** The session is being captured and stored. Requests still find the interpreter. */
interface Leaving {
  readonly kind: "leaving";
  readonly leased: LeasedInterpreter;
  /** Resolves when the interpreter is released, or to false if the session stays awake. */
  readonly left: Promise<boolean>;
  /** Settles when the state is stored, or dropped as the session was used meanwhile. */
  stored: Promise<unknown> | undefined;
}

/** The session is a checkpoint. The next request wakes the session, unless the session is paused. */
export interface Hibernating {
  readonly kind: "asleep" | "paused";
  readonly state: HibernatedState;
  /** Lease that the session has left. */
  readonly near: SessionLease | undefined;
  /** Resolves when that lease is released. */
  readonly left: Promise<boolean> | undefined;
}

/** The session waits for an interpreter, or is being restored. */
interface Waking extends Omit<Hibernating, "kind"> {
  readonly kind: "waking";
  /** Resolves when the session is restored. */
  readonly woken: Promise<PythonSession>;
}

/** The session has ended. */
interface Ended {
  readonly kind: "ended";
}

/** Phase of a session, with everything that the session has in the phase. */
export type SessionPhase = Awake | Leaving | Hibernating | Waking | Ended;

/** The phases that may follow each phase. */
export const TRANSITIONS: Readonly<Record<SessionPhase["kind"], readonly SessionPhase["kind"][]>> = {
  awake: ["leaving", "ended"],
  leaving: ["awake", "asleep", "ended"],
  asleep: ["waking", "paused", "ended"],
  paused: ["asleep", "ended"],
  waking: ["awake", "asleep", "ended"],
  ended: [],
};

/** The phase of a session, which changes only as {@linkcode TRANSITIONS} allows. */
export class Lifecycle {
  #phase: SessionPhase;

  constructor(phase: SessionPhase) {
    this.#phase = phase;
  }

  get phase(): SessionPhase {
    return this.#phase;
  }

  /** The state of a session that hibernates or wakes. */
  get state(): HibernatedState | undefined {
    return "state" in this.#phase ? this.#phase.state : undefined;
  }

  /** The interpreter of a session that is awake, or leaves the interpreter. */
  get leased(): LeasedInterpreter | undefined {
    return "leased" in this.#phase ? this.#phase.leased : undefined;
  }

  /** @throws {TypeError} if the phase cannot follow the present phase. */
  enter(next: SessionPhase): void {
    const { kind } = this.#phase;
    if (!TRANSITIONS[kind].includes(next.kind)) {
      throw new TypeError(`Cannot change session from '${kind}' to '${next.kind}'`);
    }
    this.#phase = next;
  }

  /** Pauses a session that hibernates. Returns false if the session does not hibernate. */
  pause(): boolean {
    const phase = this.#phase;
    if (phase.kind === "asleep") this.enter({ ...phase, kind: "paused" });
    return this.#phase.kind === "paused";
  }

  /** Ends the pause of a session that is paused. */
  endPause(): void {
    const phase = this.#phase;
    if (phase.kind === "paused") this.enter({ ...phase, kind: "asleep" });
  }
}
