import type { ExecResult } from "../../src/sandbox/exec.ts";
import type { Answered, Connection } from "../connection.ts";
import type { Tally } from "./tally.ts";

/** A session by `/v1` that counts its programs, which tells whether its state is its own and is whole. */
export class CountingSession {
  readonly #connection: Connection;
  readonly #path: string;
  readonly #token = crypto.randomUUID();
  #count = 0;
  /** Set from when the interpreter is said to be lost until another one is said to be there. */
  #isLost = false;

  private constructor(connection: Connection, id: string) {
    this.#connection = connection;
    this.#path = `/v1/sessions/${id}/exec`;
  }

  /** Opens one, and asks again while the server says that its sandbox failed. */
  static async open(connection: Connection, tally: Tally): Promise<CountingSession> {
    for (;;) {
      const { status, body } = await connection.post<{ id: string }>("/v1/sessions", {});
      if (status === 201 && body) return new CountingSession(connection, body.id);
      if (status !== 503) throw new Error(`Cannot open session: ${status} ${JSON.stringify(body)}`);
      tally.honest++;
    }
  }

  /** Counts one further. */
  async count(tally: Tally): Promise<void> {
    const code = `count = globals().get("count", 0) + 1\nprint("${this.#token}", count)`;
    const answer = await this.#connection.post<ExecResult>(this.#path, { code });
    const { status, body } = answer;
    if (status === 503 || status === 200 && body?.status === "crashed" && !body.stateKept) this.#lose(tally);
    else if (this.#isNext(answer)) this.#goOn(body?.restarted, tally);
    else tally.wrong.push(`at ${this.#count}: ${JSON.stringify(answer)}`);
  }

  #lose(tally: Tally): void {
    tally.honest++;
    this.#isLost = true;
    this.#count = 0;
  }

  /** A fresh interpreter begins at 1, and says that it is one. */
  #isNext({ status, body }: Answered<ExecResult>): boolean {
    if (status !== 200 || body?.status !== "ok" || this.#isLost && !body.restarted) return false;
    return body.stdout === `${this.#token} ${body.restarted ? 1 : this.#count + 1}\n`;
  }

  #goOn(restarted: true | undefined, tally: Tally): void {
    if (restarted && !this.#isLost && this.#count > 0) tally.honest++;
    else tally.right++;
    this.#isLost = false;
    this.#count = restarted ? 1 : this.#count + 1;
  }
}
