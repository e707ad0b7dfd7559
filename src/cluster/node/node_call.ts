import * as z from "zod";
import { abortable, Deadline } from "../../async/abort.ts";
import { parseUntrustedJson } from "../../json.ts";
import type { HostTool, HostToolContext } from "../../sandbox/host_tool.ts";
import { STREAM_QUEUE_BYTES } from "../../server/limits.ts";
import { NoSlotError } from "../call_codec.ts";
import type { Call, CallOf, CallReply, Control } from "../calls.ts";
import { encodeMessage } from "../nats/message.ts";
import type { NatsPeer } from "../nats/nats_peer.ts";

/** Characters of output in a message. */
const OUTPUT_CHARACTERS = 128 * 1024;
/** Milliseconds that a slot waits for the caller after the slot has taken a call. */
const GO_MS = 5_000;
const decoder = new TextDecoder();

interface ToolAnswer {
  readonly error?: string | undefined;
  readonly value?: Uint8Array | undefined;
}

/** A call that runs on this node. The call sends output and calls of host tools to the caller. */
export class NodeCall {
  readonly caller: string;
  readonly #peer: NatsPeer;
  readonly #inbox: string;
  readonly #abort = new AbortController();
  readonly #answers = new Map<number, PromiseWithResolvers<ToolAnswer>>();
  #toolCalls = 0;
  /** Characters of output that the caller has not read. */
  #unread = 0;
  #room: PromiseWithResolvers<void> | undefined;
  readonly #go = Promise.withResolvers<void>();

  constructor(peer: NatsPeer, { caller, call }: Pick<Call, "caller" | "call">) {
    this.#peer = peer;
    this.caller = caller;
    this.#inbox = peer.subjects.inbox(caller, call);
  }

  /** Aborts when the caller gives up or is lost. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Stops the program of the call. */
  abort(): void {
    this.#abort.abort(new DOMException("The caller has given up the call", "AbortError"));
    this.#room?.resolve();
  }

  /**
   * Reports to the caller that a slot has taken the call, and waits until the caller gives the call to this node. The
   * caller may have given up this attempt and sent the call to another slot, so that nothing may run before.
   *
   * @throws {NoSlotError} if the caller does not answer in time.
   * @throws the reason of `signal` if it aborts.
   */
  async claim(signal: AbortSignal): Promise<void> {
    this.#peer.post(this.#inbox, { kind: "taken" } satisfies CallReply);
    using wait = new Deadline(GO_MS, {
      signal: AbortSignal.any([this.signal, signal]),
      reason: () => new NoSlotError(`the caller did not confirm the call within ${GO_MS} ms`),
    });
    await abortable(this.#go.promise, wait.signal);
  }

  /** Sends a reply, in chunks if the reply is large. A lost caller gets no reply. */
  async reply(head: CallReply, parts: readonly Uint8Array[] = []): Promise<void> {
    await this.#peer.send(this.#inbox, encodeMessage(head, parts)).catch(() => {}); // the caller is lost
  }

  /** Sends output. Returns a promise while the caller has too much output to read. */
  output(stream: "stdout" | "stderr", text: string): Promise<void> | undefined {
    for (let at = 0; at < text.length; at += OUTPUT_CHARACTERS) {
      this.#peer.post(this.#inbox, { kind: "output", stream, text: text.slice(at, at + OUTPUT_CHARACTERS) });
    }
    return this.#hold(text.length);
  }

  /** Sends what a program shows. */
  async display(bundle: Extract<CallReply, { kind: "display" }>["bundle"]): Promise<void> {
    const message = encodeMessage({ kind: "display", bundle });
    await this.#peer.send(this.#inbox, message).catch(() => {}); // the caller is lost
    await this.#hold(message.length);
  }

  /** Takes a message of the caller about this call. */
  control(control: Exclude<Control, { op: "disown" }>, parts: readonly Uint8Array[]): void {
    if (control.op === "abort") this.abort();
    else if (control.op === "go") this.#go.resolve();
    else if (control.op === "credit") this.#credit(control.characters);
    else this.#answers.get(control.toolCall)?.resolve({ error: control.error, value: parts[0] });
  }

  /** Returns the host tools of an exec, whose calls the caller runs. */
  toHostTools(specs: NonNullable<CallOf<"exec">["tools"]>): HostTool[] {
    return specs.map(({ name, description, parameters }) => ({
      name,
      description,
      parameters: z.looseObject({}).meta(parameters), // the caller checks arguments by the caller's schema
      run: (args, context) => this.#callTool(name, args, context),
    }));
  }

  async #callTool(
    name: string,
    args: Record<string, unknown>,
    { signal }: HostToolContext,
  ): Promise<unknown> {
    const toolCall = ++this.#toolCalls;
    const answered = Promise.withResolvers<ToolAnswer>();
    this.#answers.set(toolCall, answered);
    const onAbort = () => {
      this.#peer.post(this.#inbox, { kind: "toolEnd", toolCall });
      answered.resolve({ error: "the program has ended" });
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const head: CallReply = { kind: "tool", toolCall, name, arguments: args };
      await this.#peer.send(this.#inbox, encodeMessage(head), { signal });
      const { error, value } = await answered.promise;
      if (error !== undefined) throw new Error(error);
      return value === undefined ? null : parseUntrustedJson(decoder.decode(value));
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#answers.delete(toolCall);
    }
  }

  #hold(characters: number): Promise<void> | undefined {
    this.#unread += characters;
    if (this.#unread <= STREAM_QUEUE_BYTES || this.signal.aborted) return undefined;
    this.#room ??= Promise.withResolvers();
    return this.#room.promise;
  }

  #credit(characters: number): void {
    this.#unread = Math.max(0, this.#unread - characters);
    if (this.#unread > STREAM_QUEUE_BYTES) return;
    this.#room?.resolve();
    this.#room = undefined;
  }
}
