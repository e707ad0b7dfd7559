import type { HonestKind } from "./honest_requests.ts";
import type { Tenant } from "./tenant.ts";

/** First message to the worker. */
export interface HonestStart {
  readonly url: string;
  readonly token: string;
  readonly kinds: readonly HonestKind[];
  readonly session: string;
  readonly marker: number;
  readonly env: string;
}

/** Times of the honest tenant's requests since its last report. */
export interface HonestReport {
  /** Milliseconds from the first attempt to the answer. */
  readonly times: readonly { readonly kind: HonestKind; readonly ms: number }[];
  /** Milliseconds that unanswered requests have waited. */
  readonly waiting: readonly { readonly kind: HonestKind; readonly ms: number }[];
  readonly wrong: readonly string[];
  /** Requests that were refused and sent again. */
  readonly retries: number;
}

const REQUEST_ID = { "x-request-id": "honest-count" };
const COUNT = { code: "count = globals().get('count', 0) + 1\ncount" };

/**
 * A tenant that sends small requests with known answers, one at a time of each kind, from a thread of its own. It
 * owns a session with a variable, and a remembered response.
 */
export class HonestTenant implements Disposable {
  readonly tenant: Tenant;
  readonly session: string;
  readonly #marker: number;
  readonly #worker: Worker;

  /** Creates the session, the env and the remembered response, and begins to send requests. */
  static async start(tenant: Tenant, kinds: readonly HonestKind[]): Promise<HonestTenant> {
    const marker = 1_000_000 + Math.floor(Math.random() * 1_000_000);
    const session = await tenant.openSession();
    const { id } = await tenant.json("/v1/envs", { grader: "number_match" });
    await tenant.json(`${session}/exec`, { code: `marker = ${marker}` });
    await tenant.json(`${session}/exec`, COUNT, { headers: REQUEST_ID });
    const worker = new Worker(new URL("./honest_worker.ts", import.meta.url), { type: "module" });
    const { url, token } = tenant;
    worker.postMessage({ url, token, kinds, session, marker, env: `/v1/envs/${id}` } satisfies HonestStart);
    return new HonestTenant(tenant, { session, marker, worker });
  }

  private constructor(
    tenant: Tenant,
    { session, marker, worker }: { session: string; marker: number; worker: Worker },
  ) {
    this.tenant = tenant;
    this.session = session;
    this.#marker = marker;
    this.#worker = worker;
  }

  /** Returns the times since the last report. */
  async report(): Promise<HonestReport> {
    const { promise, resolve } = Promise.withResolvers<HonestReport>();
    this.#worker.onmessage = ({ data }: MessageEvent<HonestReport>) => resolve(data);
    this.#worker.postMessage("report");
    return await promise;
  }

  /** Returns what has been lost: the variable of its session, or its remembered response. */
  async lostState(signal: AbortSignal): Promise<string[]> {
    const exec = async (body: object, headers = {}) =>
      (await this.tenant.json(`${this.session}/exec`, body, { headers, signal })).value;
    try {
      const [again, count, marker] = [
        await exec(COUNT, REQUEST_ID),
        await exec({ code: "count" }),
        await exec({ code: "marker" }),
      ];
      return [
        ...again === "1" && count === "1" ? [] : ["a remembered request of the honest tenant ran again"],
        ...marker === String(this.#marker) ? [] : ["the session of the honest tenant lost its variable"],
      ];
    } catch (error) {
      return [`the honest tenant's session does not answer: ${error}`];
    }
  }

  /** Stops sending requests. */
  [Symbol.dispose](): void {
    this.#worker.terminate();
  }
}

/** Returns the longest wait of each kind in a report. */
export function longestWaits({ times, waiting }: HonestReport): Map<HonestKind, number> {
  const longest = new Map<HonestKind, number>();
  for (const { kind, ms } of [...times, ...waiting]) longest.set(kind, Math.max(ms, longest.get(kind) ?? 0));
  return longest;
}
