import { setImmediate } from "node:timers";
import { readCheckpoint } from "../../sandbox/checkpoint/checkpoint.ts";
import { SHELL_FIELDS } from "../../sandbox/contract/exec_fields.ts";
import { fromExecCall, partAt, toResultReply } from "../call_codec.ts";
import type { CallOf } from "../calls.ts";
import type { NodeCall } from "./node_call.ts";
import type { NodeSession } from "./node_session.ts";

/** A call that uses the interpreter of a session. */
export type SessionCall = CallOf<"exec" | "shell" | "write" | "read" | "reset" | "checkpoint" | "restore">;

/** Options of {@linkcode performSessionCall}. */
export interface SessionCallOptions {
  readonly call: SessionCall;
  readonly parts: readonly Uint8Array[];
  readonly run: NodeCall;
  /** True if the pool rewinds sessions after a lease. */
  readonly rewinds: boolean;
}

/** Performs a call in a session, and replies. */
export async function performSessionCall(session: NodeSession, options: SessionCallOptions): Promise<void> {
  const { call, parts, run } = options;
  const { session: python } = session.lease;
  const { signal } = run;
  switch (call.op) {
    case "exec":
      return await exec(session, { ...options, call });
    case "shell":
      return await shell(session, { ...options, call });
    case "write":
      await python.writeFile(call.path, parts[0] ?? new Uint8Array());
      break;
    case "read":
      return await run.reply({ kind: "bytes" }, [await python.readFile(call.path)]);
    case "reset":
      await python.reset({ mode: call.mode, seed: call.seed, signal });
      await session.kept?.clear();
      break;
    case "checkpoint": {
      const { scope = call.owner, memory } = call;
      const checkpoint = await python.checkpoint({ owner: scope, memory, signal });
      return await run.reply({ kind: "bytes" }, [await checkpoint.toBytes()]);
    }
    case "restore":
      await restore(session, { ...options, call });
  }
  await run.reply({ kind: "done" });
}

async function exec(
  session: NodeSession,
  { call, parts, run, rewinds }: SessionCallOptions & { call: CallOf<"exec"> },
): Promise<void> {
  const { follows = [], tools = [] } = call;
  const result = await session.lease.session.exec(call.code, {
    ...fromExecCall(call, parts),
    ...(call.last && rewinds && { then: "rewind" }),
    signal: run.signal,
    tools: run.toHostTools(tools),
    ...(follows.includes("output") && { onOutput: run.output.bind(run) }),
    ...(follows.includes("display") && { onDisplay: run.display.bind(run) }),
  });
  if (call.last) {
    await session[Symbol.asyncDispose]();
    await nextTurn(); // a rewound session is offered again before the caller can ask for the next session
  } else if (call.then) await session.kept?.clear();
  const { head, parts: files } = toResultReply(result);
  await run.reply(head, files);
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

async function shell(
  session: NodeSession,
  { call, run }: SessionCallOptions & { call: CallOf<"shell"> },
): Promise<void> {
  const { command, follows = [] } = call;
  const onOutput = follows.length > 0 ? run.output.bind(run) : undefined;
  const options = { ...SHELL_FIELDS.fromMessage(call), onOutput, signal: run.signal };
  await run.reply({ kind: "result", result: await session.lease.session.shell(command, options) });
}

async function restore(
  { lease: { session: python }, kept, owner }: NodeSession,
  { call, parts, run: { signal } }: SessionCallOptions & { call: CallOf<"restore"> },
): Promise<void> {
  const { scope = owner, reseed, seed } = call;
  await python.restore(await readCheckpoint(partAt(parts, 0)), { owner: scope, reseed, seed, signal });
  await kept?.restart(await python.checkpoint({ owner, signal })); // as the owner may restore the checkpoint
}
