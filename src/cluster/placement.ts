/**
 * What Paddock itself decides about placement: on which node a session resumes, and which calls are refused. Which free
 * slot gets new work is decided by NATS.
 *
 * @module
 */

/** What a decision knows of a node. */
export interface NodeView {
  readonly id: string;
  /** SHA-256 of its profile. */
  readonly profile: string;
  /** Name of its base image. */
  readonly image: string;
  readonly slots: number;
  readonly free: number;
  readonly draining: boolean;
}

/** What a session needs of the node on which it resumes. */
export interface ResumeNeeds {
  readonly session: string;
  readonly profile: string;
  readonly image: string;
}

/**
 * Returns the ids of the nodes on which a session can resume, best first. A checkpoint is bound to a profile and an
 * image. Nodes with free slots come first, those with the largest free part before others; equal ones are in an order
 * that differs from session to session, so that the sessions of a lost node spread.
 */
export function rankNodes(nodes: readonly NodeView[], needs: ResumeNeeds): string[] {
  return nodes
    .filter(({ draining, profile, image }) => !draining && profile === needs.profile && image === needs.image)
    .map(({ id, free, slots }) => ({ id, part: free / slots, tie: mix(`${needs.session} ${id}`) }))
    .sort((one, other) => other.part - one.part || one.tie - other.tie)
    .map(({ id }) => id);
}

/** Load that a caller sees when a call finds no free slot. */
export interface Demand {
  /** Calls of this caller that wait already. */
  readonly waiting: number;
  readonly maxWaiting: number;
  /** Slots of all nodes. */
  readonly slots: number;
  /** Slots that this caller was given within a second, on average. */
  readonly grantsPerSecond: number;
}

/** Whether a call may wait, and for how long it would have to. */
export interface Admission {
  readonly isAdmitted: boolean;
  /** Milliseconds until a slot is likely to be free. */
  readonly waitMs: number;
}

/** Shortest and longest wait that is stated, in milliseconds: the rate of the past is no promise. */
export const WAIT_RANGE_MS = { min: 100, max: 60_000 } as const;
/** Rate that is assumed before any slot was given. */
const FIRST_RATE = 1;

/** Decides whether a call may wait for a slot. */
export function admit({ waiting, maxWaiting, slots, grantsPerSecond }: Demand): Admission {
  const rate = grantsPerSecond > 0 ? grantsPerSecond : FIRST_RATE;
  const waitMs = slots === 0 ? WAIT_RANGE_MS.max : 1000 * (waiting + 1) / rate;
  return {
    isAdmitted: waiting < maxWaiting,
    waitMs: Math.round(Math.min(WAIT_RANGE_MS.max, Math.max(WAIT_RANGE_MS.min, waitMs))),
  };
}

/** Rate of events, as an average in which those of the last ten seconds count most. */
export class Rate {
  #perSecond = 0;
  #at: number | undefined;

  /** Counts an event at a time in milliseconds. */
  count(nowMs: number): void {
    this.#perSecond = this.at(nowMs) + 1 / WINDOW_S;
    this.#at = nowMs;
  }

  /** Returns the events per second at a time in milliseconds. */
  at(nowMs: number): number {
    if (this.#at === undefined) return 0;
    return this.#perSecond * Math.exp(-Math.max(0, nowMs - this.#at) / 1000 / WINDOW_S);
  }
}

const WINDOW_S = 10;

/** FNV-1a: a number that depends on each character. */
function mix(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d); // the last characters alone must change the order, too
  return (hash ^ (hash >>> 13)) >>> 0;
}
