import { delay } from "@std/async";
import { Deadline } from "../async/abort.ts";
import { PoolFullError, SandboxLostError } from "../errors.ts";
import type { CheckpointEvery } from "../sandbox/exec.ts";
import { NoReceiverError } from "./call_codec.ts";
import type { Reply } from "./calls.ts";
import type { Caller } from "./caller.ts";
import { chooseNode, type SessionHome } from "./placement.ts";

/** Options of {@linkcode resumeSession}. */
export interface ResumeOptions {
  /** Session that was lost. */
  readonly session: string;
  readonly owner: string;
  readonly every: CheckpointEvery;
  /** Seed of its start, if it has no checkpoint yet. */
  readonly seed?: number | undefined;
  /** Node that had it. */
  readonly home: SessionHome & { readonly profile: { readonly name: string } };
  readonly signal?: AbortSignal | undefined;
}

/** Milliseconds within which a node must have a slot for a session that continues. */
const RESUME_MS = 60_000;
/** Milliseconds between two looks at the nodes, when none can have the session. */
const LOOK_MS = 100;

/**
 * Continues a session on another node, or on the same one. Waits for a slot there, before new sessions.
 *
 * @throws {PoolFullError} if no node had a slot for it in time. It can be tried again.
 * @throws the reason of `signal` if it aborts.
 */
export async function resumeSession(
  caller: Caller,
  { session, owner, every, seed, home, signal }: ResumeOptions,
): Promise<Reply & { kind: "opened" }> {
  const request = { session, owner, every, ...(seed !== undefined && { seed }) };
  const tried = new Set<string>();
  using deadline = new Deadline(RESUME_MS, { signal, reason: () => noNode(caller, home) });
  for (;;) {
    deadline.signal.throwIfAborted();
    const nodes = caller.directory.ofProfile(home.profile.name);
    const node = caller.peer.isConnected && chooseNode(nodes, { home, tried, random: Math.random() });
    if (!node) {
      tried.clear();
      await delay(LOOK_MS, { signal: deadline.signal });
      continue;
    }
    try {
      return await caller.resume(node.id, request, { signal: deadline.signal });
    } catch (error) {
      if (!(error instanceof SandboxLostError || error instanceof NoReceiverError)) throw error;
      tried.add(node.id);
    }
  }
}

function noNode(caller: Caller, { profile, image, key }: ResumeOptions["home"]): PoolFullError {
  const nodes = caller.directory.ofProfile(profile.name);
  const same = nodes.filter((node) =>
    node.image === image && node.key === key && node.profile.sha256 === profile.sha256
  );
  const state = same.length > 0
    ? `${same.length} nodes had no free session for ${RESUME_MS / 1000} s`
    : `none of ${nodes.length} nodes of profile '${profile.name}' has its base image and its key of checkpoints`;
  return new PoolFullError(`Cannot continue session on another node: ${state}`, { retryAfterMs: 1_000 });
}
