/**
 * Client of a Paddock server. `PaddockClient` takes the place of a `SandboxPool`.
 *
 * @module
 */
export {
  type BatchOutcome,
  type BatchProgram,
  PaddockClient,
  type PaddockClientOptions,
  type RemoteLease,
} from "../src/client/paddock_client.ts";
export type { Fetch } from "../src/client/attempt.ts";
