/** A session that no lease has. */
interface IdleSession<Session> {
  readonly session: Session;
  /** Whose programs have run in its process; `undefined` if none has. */
  readonly domain: string | undefined;
  /** When it became idle, in milliseconds. */
  readonly since: number;
}

/**
 * The idle sessions of a pool. A session whose process has run programs of a trust domain is for that domain alone until
 * it has another process.
 */
export class IdleSessions<Session> {
  /** The longest idle one first. */
  #idle: IdleSession<Session>[] = [];
  readonly #now: () => number;

  /** `now` is the time in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Number of idle sessions. */
  get size(): number {
    return this.#idle.length;
  }

  /** True if one has run programs. */
  get hasDomain(): boolean {
    return this.#idle.some(({ domain }) => domain !== undefined);
  }

  has(session: Session): boolean {
    return this.#idle.some((each) => each.session === session);
  }

  /** Adds a session, and whose programs have run in its process. */
  add(session: Session, domain: string | undefined): void {
    this.#idle.push({ session, domain, since: this.#now() });
  }

  /**
   * Removes and returns a session for a domain: `preferred` if it may be, else the last one that the domain used, else one
   * that has run nothing. Without a domain, only the last of these.
   */
  take(domain: string | undefined, preferred?: Session): Session | undefined {
    const mayUse = (each: IdleSession<Session>) => each.domain === undefined || each.domain === domain;
    const first = this.#idle.find((each) => each.session === preferred && mayUse(each));
    const own = domain === undefined ? undefined : this.#idle.findLast((each) => each.domain === domain);
    return this.#remove(first ?? own ?? this.#idle.find((each) => each.domain === undefined));
  }

  /** Removes and returns the session that has been idle for longest. */
  takeOldest(): Session | undefined {
    return this.#remove(this.#idle[0]);
  }

  /** Removes and returns the sessions with a domain that have been idle for so many milliseconds. */
  takeUnused(ms: number): Session[] {
    const until = this.#now() - ms;
    const unused = this.#idle.filter(({ domain, since }) => domain !== undefined && since <= until);
    this.#idle = this.#idle.filter((each) => !unused.includes(each));
    return unused.map(({ session }) => session);
  }

  #remove(found: IdleSession<Session> | undefined): Session | undefined {
    if (found) this.#idle.splice(this.#idle.indexOf(found), 1);
    return found?.session;
  }
}

/** A lease that waits for a session. */
export interface WaitingLease {
  readonly domain: string | undefined;
  /** Time until which the lease waits for a session of its own domain, in milliseconds. */
  readonly patientUntil: number;
}

/** Options of {@linkcode countNewInterpreters}. */
export interface NewInterpreterOptions {
  /** Domains that have sessions, leased or not. */
  readonly domains: ReadonlySet<string>;
  /** The domain of each session that is rewound at this moment. */
  readonly rewinding: readonly string[];
  /** The time, in milliseconds. */
  readonly now: number;
}

/**
 * Returns the number of waiting leases that need a new interpreter. A lease needs none while its domain has a session
 * that comes back, as the new interpreter would take the place of another domain's.
 */
export function countNewInterpreters(
  waiting: readonly WaitingLease[],
  { domains, rewinding, now }: NewInterpreterOptions,
): number {
  const back = new Map<string, number>();
  for (const domain of rewinding) back.set(domain, (back.get(domain) ?? 0) + 1);
  return waiting.filter(({ domain, patientUntil }) => {
    if (domain === undefined || !domains.has(domain)) return true;
    const coming = back.get(domain) ?? 0;
    back.set(domain, coming - 1);
    return coming <= 0 && patientUntil <= now;
  }).length;
}
