import * as z from "zod";
import { errorMessage } from "../errors.ts";
import type { ExecOptions } from "../sandbox/contract/exec.ts";
import type { HostTool } from "../sandbox/host_tool.ts";
import type { CallReply } from "./calls.ts";
import type { SendControl } from "./caller.ts";

/** Handlers of the events of a running call. */
export type FollowedOptions = Pick<ExecOptions, "onOutput" | "onDisplay" | "tools">;

const encoder = new TextEncoder();

/** Events of a running call before its result: output, which `onOutput` may hold back, and calls of host tools. */
export class CallEvents {
  readonly signal: AbortSignal | undefined;
  readonly #followed: FollowedOptions;
  readonly #failed = new AbortController();
  readonly #stop = new AbortController();
  #last: Promise<void> = Promise.resolve();

  constructor(
    followed: FollowedOptions,
    signal: AbortSignal | undefined,
  ) {
    this.#followed = followed;
    const { onOutput, onDisplay } = followed;
    const isFollowed = onOutput !== undefined || onDisplay !== undefined;
    this.signal = isFollowed ? AbortSignal.any([this.#failed.signal, ...signal ? [signal] : []]) : signal;
  }

  /** Takes a reply that comes before the last reply. */
  receive(reply: CallReply, send: SendControl): void {
    if (reply.kind === "output") {
      const { stream, text } = reply;
      this.#follow(() => this.#followed.onOutput?.(stream, text), text.length, send);
    } else if (reply.kind === "display") {
      const { bundle } = reply;
      this.#follow(() => this.#followed.onDisplay?.(bundle), JSON.stringify(bundle).length, send);
    } else if (reply.kind === "tool") this.#callTool(reply, send);
  }

  /** Waits until all output is taken. Throws the error of a callback. */
  async settle(): Promise<void> {
    await this.#last;
    this.#failed.signal.throwIfAborted();
  }

  /** Aborts the host tools that still run. */
  end(): void {
    if (this.#followed.tools === undefined) return; // to make an error takes time
    this.#stop.abort(new DOMException("The exec that made the call has ended", "AbortError"));
  }

  #follow(take: () => unknown, characters: number, send: SendControl): void {
    this.#last = this.#last.then(async () => {
      if (this.#failed.signal.aborted) return;
      try {
        await take();
        await send({ op: "credit", characters });
      } catch (error) {
        this.#failed.abort(error);
      }
    });
  }

  async #callTool(reply: CallReply & { kind: "tool" }, send: SendControl): Promise<void> {
    const { toolCall, name, arguments: args } = reply;
    try {
      const tool = this.#followed.tools?.find((tool) => tool.name === name);
      const json = await runTool(tool, { name, args, signal: this.#stop.signal });
      await send({ op: "answer", toolCall }, [encoder.encode(json)]);
    } catch (error) {
      const message = errorMessage(error).slice(0, 65_536);
      await send({ op: "answer", toolCall, error: message }).catch(() => {}); // the node is lost: so is the call
    }
  }
}

async function runTool(
  tool: HostTool | undefined,
  { name, args, signal }: { name: string; args: Record<string, unknown>; signal: AbortSignal },
): Promise<string> {
  if (!tool) throw new Error(`no host tool '${name}' is granted to this block`);
  const parsed = tool.parameters.safeParse(args);
  if (!parsed.success) throw new Error(`wrong arguments for '${name}': ${z.prettifyError(parsed.error)}`);
  return JSON.stringify(await tool.run(parsed.data, { signal })) ?? "null";
}
