import { Lease } from "../sandbox/lease.ts";
import type { PythonSession } from "../sandbox/exec.ts";

/** A leased session of a server. Disposing the lease ends the session. */
export class RemoteLease extends Lease {
  /** Id of the session, which programs of a batch refer to. */
  readonly id: string;

  constructor(session: PythonSession, options: { id: string; release: () => void }) {
    super(session, options.release);
    this.id = options.id;
  }
}
