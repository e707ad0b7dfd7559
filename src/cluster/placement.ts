/**
 * Paddock's own decisions about placement: which calls are refused when no slot is free, and on which node a session
 * continues. Which free slot gets new work is decided by NATS.
 *
 * @module
 */
import type { NodeHome, NodeProperties } from "./nodes_bucket.ts";

/** Properties that a node must share with the one that had a session, to continue it. */
export interface SessionHome extends Pick<NodeHome, "image" | "key"> {
  readonly profile: Pick<NodeHome["profile"], "sha256">;
}

/** Properties of a node that {@linkcode chooseNode} reads. */
export type CandidateNode = SessionHome & Pick<NodeProperties, "id" | "free" | "sessions" | "draining">;

/**
 * Chooses the node on which a session continues: one with a free slot if there is any, in proportion to these slots, so
 * that the sessions of a lost node do not all go to the same one. Otherwise the one with the fewest sessions, where it
 * waits. Returns `undefined` if no node shares image, profile and key, or all of them are draining or in `tried`.
 */
export function chooseNode<Node extends CandidateNode>(
  nodes: readonly Node[],
  { home, tried, random }: {
    home: SessionHome;
    tried: ReadonlySet<string>;
    /** A number from 0 to less than 1. */
    random: number;
  },
): Node | undefined {
  const fitting = nodes.filter((node) =>
    node.image === home.image && node.key === home.key && node.profile.sha256 === home.profile.sha256 &&
    !node.draining && !tried.has(node.id)
  );
  const free = fitting.filter((node) => node.free > 0);
  let place = random * free.reduce((sum, node) => sum + node.free, 0);
  for (const node of free) {
    if (place < node.free) return node;
    place -= node.free;
  }
  return fitting.toSorted((one, other) => one.sessions - other.sessions)[0];
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

/** Rate of events, as an average in which the events of the last ten seconds count most. */
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
