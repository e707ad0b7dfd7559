import type * as z from "zod";
import { ArgumentTypeError } from "../errors.ts";
import type { CheckpointOptions } from "../sandbox/contract/checkpoint.ts";
import type { checkpointInfoSchema } from "../wire/v1_checkpoints.ts";
import type { RemoteCheckpoint } from "./client_options.ts";
import type { ServerApi } from "./server_api.ts";

/** Returns a checkpoint of a server from its description. */
export function toRemoteCheckpoint(
  api: ServerApi,
  { id, bytes, tools, expiresAt }: z.output<typeof checkpointInfoSchema>,
): RemoteCheckpoint {
  return {
    id,
    storedBytes: bytes,
    tools,
    expiresAt,
    toBytes: () => api.get(`/checkpoints/${id}`, { action: "export checkpoint" }),
  };
}

/**
 * Checks the options of a method about checkpoints.
 *
 * @throws {ArgumentTypeError} if they have an owner: a server binds checkpoints to the token.
 */
export function checkOwner({ owner }: CheckpointOptions): void {
  if (!owner) return;
  throw new ArgumentTypeError(
    "Cannot set 'owner' of a checkpoint of a server as its owner is that of the client's token",
  );
}
