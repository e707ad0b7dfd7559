import { Lease } from "../sandbox/lease.ts";
import type { PythonSession } from "../sandbox/exec.ts";

/** A server's session on loan; disposing ends it there. */
export class RemoteLease extends Lease {
  /** Names the session to the server, as the programs of a batch do. */
  readonly id: string;

  constructor(session: PythonSession, options: { id: string; giveBack: () => void }) {
    super(session, options.giveBack);
    this.id = options.id;
  }
}
