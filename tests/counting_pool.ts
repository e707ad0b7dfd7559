import type { PythonSession, SessionLease, SessionPool } from "../src/sandbox/contract/pool.ts";

/** A pool that counts the programs that run at the same time in the sessions of another pool. */
export class CountingPool implements SessionPool {
  /** Most programs that ran at the same time since this was last set to 0. */
  most = 0;
  readonly #pool: SessionPool;
  #running = 0;

  constructor(pool: SessionPool) {
    this.#pool = pool;
  }

  async acquire(options: { signal?: AbortSignal | undefined } = {}): Promise<SessionLease> {
    const lease = await this.#pool.acquire(options);
    return {
      session: this.#counted(lease.session),
      [Symbol.asyncDispose]: () => lease[Symbol.asyncDispose](),
    };
  }

  #counted(session: PythonSession): PythonSession {
    return {
      exec: async (code, options) => {
        this.most = Math.max(this.most, ++this.#running);
        try {
          return await session.exec(code, options);
        } finally {
          this.#running--;
        }
      },
      shell: (command, options) => session.shell(command, options),
      writeFile: (path, contents) => session.writeFile(path, contents),
      readFile: (path) => session.readFile(path),
      reset: (options) => session.reset(options),
      [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
    };
  }
}
