/**
 * Part of the programs that `typescript_clients.ts` writes: makes what a call needs, and checks its response. It is
 * copied beside them.
 *
 * @module
 */
import type { Fixture } from "./calls.ts";

/** Result of a call, as both clients return it. */
export interface CallResult {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly response?: Response | undefined;
}

/** A call to check. */
export interface CheckedCall {
  readonly operationId: string;
  readonly statuses: readonly number[];
  readonly fixture?: Fixture | undefined;
  readonly send: (id: string) => Promise<CallResult>;
}

/** Checks calls of one server, and counts those that fail. */
export class Checks {
  readonly url: string;
  readonly token: string;
  #calls = 0;
  readonly #failures: string[] = [];

  constructor() {
    const [url = "", token = ""] = Deno.args;
    this.url = url;
    this.token = token;
  }

  /** Sends a call, after its fixture, and records a response that is not expected. */
  async run({ operationId, statuses, fixture, send }: CheckedCall): Promise<void> {
    this.#calls++;
    const id = fixture === undefined ? "" : await this.#open(fixture);
    const { data, error, response } = await send(id);
    const status = response?.status ?? 0;
    if (!statuses.includes(status)) {
      this.#failures.push(`${operationId}: ${status} ${JSON.stringify(error ?? data)}`);
    } else if (status < 300 && status !== 204 && data === undefined) {
      this.#failures.push(`${operationId}: no data`);
    }
    await this.#endSessions();
  }

  /** Returns the failures and a summary, and the exit code. */
  finish(): { text: string; code: number } {
    const summary = `${
      this.#calls - this.#failures.length
    } of ${this.#calls} operations respond as described`;
    return { text: [...this.#failures, summary].join("\n"), code: this.#failures.length === 0 ? 0 : 1 };
  }

  /** Ends all sessions, so that there is room for the next call. */
  async #endSessions(): Promise<void> {
    const { sessions } = await (await this.#send("GET", "/v1/sessions")).json();
    for (const { id } of sessions) await (await this.#send("DELETE", `/v1/sessions/${id}`)).body?.cancel();
  }

  async #open({ path, body, headers, id: place, then = [] }: Fixture): Promise<string> {
    const response = await this.#send("POST", path, { body, headers });
    const opened = await response.text();
    const id = "text" in place
      ? place.text
      : "header" in place
      ? response.headers.get(place.header) ?? ""
      : JSON.parse(opened)[place.key];
    for (const { path, body } of then) {
      await (await this.#send("POST", path.replace("{id}", id), { body })).body?.cancel();
    }
    return id;
  }

  async #send(
    method: string,
    path: string,
    { body, headers }: { body?: unknown; headers?: Readonly<Record<string, string>> | undefined } = {},
  ): Promise<Response> {
    const all = { authorization: `Bearer ${this.token}`, "content-type": "application/json", ...headers };
    return await fetch(this.url + path, {
      method,
      headers: all,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }
}
