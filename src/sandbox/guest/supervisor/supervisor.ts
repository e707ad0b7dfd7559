/**
 * Entry point of the child's main thread, the only one with the pipe to the host. It reads the assets, gives up
 * its permissions, starts a worker for each session, and forwards frames.
 */
import { encodeFrame, encodeLost, type Frame, FrameKind, FrameSplitter } from "../../protocol.ts";
import { type Assets, type BootPlan, loadAssets } from "../assets.ts";
import { confine } from "./confine.ts";
import { WorkerLink } from "../worker_link.ts";

const decoder = new TextDecoder();
const sessions = new Map<number, WorkerLink>();
let assets: Assets | undefined;

for await (const frame of hostFrames()) handle(frame);
Deno.exit(0);

/** Yields the host's frames. Ends when the host closes the pipe or dies. */
async function* hostFrames(): AsyncGenerator<Frame> {
  const splitter = new FrameSplitter();
  const piece = new Uint8Array(64 * 1024);
  for (let count; (count = await Deno.stdin.read(piece)) !== null;) {
    yield* splitter.push(piece.subarray(0, count));
  }
}

function handle({ kind, session, payload }: Frame): void {
  const link = sessions.get(session);
  if (kind === FrameKind.boot) boot(JSON.parse(decoder.decode(payload)));
  else if (kind === FrameKind.open) open(session, JSON.parse(decoder.decode(payload)));
  else if (kind === FrameKind.interrupt) link?.interrupt();
  else if (kind === FrameKind.pause) link?.pause();
  else if (kind === FrameKind.resume) link?.resume();
  else link?.send(encodeFrame(kind as FrameKind, 0, payload));
  if (kind === FrameKind.close) sessions.delete(session);
}

async function boot(plan: BootPlan): Promise<void> {
  if (plan.confine) confine(plan.confine);
  Deno.permissions.revokeSync({ name: "ffi" });
  try {
    assets = loadAssets(plan);
    await assets.forWorkers;
    sendToHost(encodeFrame(FrameKind.booted, 0));
  } catch (error) {
    sendToHost(encodeFrame(FrameKind.damaged, 0, String(error)));
  }
}

/** Starts a session. Its worker loads while the assets are still being read. */
function open(session: number, options: { seed?: number }): void {
  if (!assets) return;
  const link = new WorkerLink(session, sendToHost);
  sessions.set(session, link);
  link.start(assets, options).catch((error) => {
    sendToHost(encodeFrame(FrameKind.lost, session, encodeLost(String(error))));
  });
}

function sendToHost(bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += Deno.stdout.writeSync(bytes.subarray(done));
}
