/**
 * Entry point of the child's main thread, the only thread that reads from the host. It reads the assets, gives up its
 * permissions, starts a worker for each session, and forwards frames. The worker of the only session of a process
 * writes its frames to the host itself; this thread then blocks while it waits for the host.
 */
import { encodeFrame, encodeLost, type Frame, FrameKind, FrameSplitter } from "../../protocol.ts";
import { type Assets, type BootPlan, loadAssets } from "../assets.ts";
import { confine } from "./confine.ts";
import { WorkerLink } from "../worker_link.ts";

const decoder = new TextDecoder();
const sessions = new Map<number, WorkerLink>();
let assets: Assets | undefined;
let isDirect = false;
/** The only session, once it has received a frame. From then on nothing but the host's frames needs this thread. */
let only: WorkerLink | undefined;

/** A large frame of which a part has been passed on. */
let passing: { readonly link: WorkerLink; restBytes: number } | undefined;

const splitter = new FrameSplitter();
const piece = new Uint8Array(64 * 1024);
for (;;) {
  const count = only && !only.isBehind ? Deno.stdin.readSync(piece) : await Deno.stdin.read(piece);
  if (count === null) break; // the host has closed the pipe or died
  receive(piece.subarray(0, count));
}
Deno.exit(0);

/** Handles whole frames. A large frame is passed on during arrival: a buffer for it would be garbage of its size. */
function receive(bytes: Uint8Array): void {
  const rest = passing ? passOn(passing, bytes) : bytes;
  for (const frame of splitter.push(rest)) handle(frame);
  const { started } = splitter;
  const link = started && sessions.get(started.session);
  if (!link) return;
  link.send(started.bytes);
  passing = { link, restBytes: started.restBytes };
  splitter.dropStarted();
}

/** Passes on the bytes that belong to a frame. Returns those after it. */
function passOn(frame: NonNullable<typeof passing>, bytes: Uint8Array): Uint8Array {
  const part = bytes.subarray(0, frame.restBytes);
  frame.link.send(part);
  frame.restBytes -= part.length;
  if (frame.restBytes === 0) passing = undefined;
  return bytes.subarray(part.length);
}

function handle({ kind, session, payload }: Frame): void {
  const link = sessions.get(session);
  if (kind === FrameKind.boot) boot(JSON.parse(decoder.decode(payload)));
  else if (kind === FrameKind.open) open(session, JSON.parse(decoder.decode(payload)));
  else if (kind === FrameKind.interrupt) link?.interrupt();
  else if (kind === FrameKind.pause) link?.pause();
  else if (kind === FrameKind.resume) link?.resume();
  else if (kind === FrameKind.flush) link?.flush();
  else {
    link?.send(encodeFrame(kind as FrameKind, 0, payload));
    if (isDirect) only = link;
  }
  if (kind === FrameKind.close) sessions.delete(session);
}

async function boot(plan: BootPlan): Promise<void> {
  isDirect = (plan.sessionsPerProcess ?? 1) === 1;
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
  const link = new WorkerLink(session, { sendToHost, isDirect });
  sessions.set(session, link);
  link.start(assets, options).catch((error) => {
    sendToHost(encodeFrame(FrameKind.lost, session, encodeLost(String(error))));
  });
}

function sendToHost(bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) done += Deno.stdout.writeSync(bytes.subarray(done));
}
