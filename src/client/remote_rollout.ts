import * as z from "zod";
import { MAX_TIMER_MS } from "../async/abort.ts";
import { SandboxError } from "../errors.ts";
import type { InteractionResult } from "../rollout/interaction.ts";
import type { Trajectory } from "../rollout/trajectory.ts";
import { requestErrorSchema } from "../wire/v1.ts";
import {
  rolloutEndSchema,
  rolloutEpisodeSchema,
  rolloutGroupSchema,
  rolloutInfoSchema,
  rolloutStartSchema,
} from "../wire/v1_rollouts.ts";
import { toRefusalError } from "./attempt.ts";
import type { RemoteRollout, RemoteRolloutItem, RemoteRolloutOptions } from "./client_options.ts";
import { readEvents, type ServerEvent } from "./event_stream.ts";
import { Handoff } from "./handoff.ts";
import { type BodyChunks, parseResponse } from "./responses.ts";
import type { ServerApi } from "./server_api.ts";

const ACTION = "roll out";

/** Reads a rollout of a server, and sends the changes of its reader. */
export class RolloutReader implements RemoteRollout {
  readonly #api: ServerApi;
  readonly #options: RemoteRolloutOptions;
  readonly #signal: AbortSignal;
  readonly #id = Promise.withResolvers<string>();
  #isRead = false;

  constructor(api: ServerApi, { signal, ...options }: RemoteRolloutOptions & { signal: AbortSignal }) {
    this.#api = api;
    this.#options = options;
    this.#signal = signal;
    this.#id.promise.catch(() => {}); // the reader of the items receives the error
  }

  /** {@inheritDoc RemoteRollout.setWeightVersion} */
  async setWeightVersion(version: number | string): Promise<void> {
    await this.#api.post(`/rollouts/${await this.#id.promise}/version`, { weightVersion: version }, {
      action: "set version",
      schema: z.optional(rolloutInfoSchema),
      signal: this.#signal,
      onMissing: () => undefined,
    });
  }

  /** {@inheritDoc RemoteRollout.stop} */
  async stop(): Promise<void> {
    const path = `/rollouts/${await this.#id.promise}`;
    await this.#api.delete(path, { action: "stop rollout", signal: this.#signal, onMissing: () => {} });
  }

  /** Yields the items. It can be called once. */
  async *[Symbol.asyncIterator](): AsyncGenerator<RemoteRolloutItem> {
    if (this.#isRead) throw new TypeError("Cannot read rollout as it can be read once: it was read before");
    this.#isRead = true;
    const leave = new AbortController();
    const handoff = new Handoff<ServerEvent>();
    const read = async (body: BodyChunks) => {
      for await (const event of readEvents(ACTION, body)) await handoff.give(event);
    };
    const signal = AbortSignal.any([leave.signal, this.#signal]);
    const request = this.#api.stream("/rollouts", this.#options, {
      action: ACTION,
      timeoutMs: MAX_TIMER_MS,
      signal,
      read,
    });
    const failure = request.then(() => undefined, (error: unknown) => ({ error })).finally(() =>
      handoff.end()
    );
    try {
      for await (const event of handoff) {
        const item = this.#itemOf(event);
        if (item === "end") return;
        if (item !== undefined) yield item;
      }
      const failed = await failure;
      throw failed?.error ??
        new SandboxError(`Cannot ${ACTION} as the server's response ended before the last event`);
    } catch (error) {
      this.#id.reject(error);
      throw error;
    } finally {
      leave.abort();
      handoff.end();
      await failure;
    }
  }

  #itemOf({ name, data }: ServerEvent): RemoteRolloutItem | "end" | undefined {
    if (name === "start") this.#id.resolve(parseResponse(ACTION, data, rolloutStartSchema).id);
    if (name === "group") return { kind: "group", ...parseResponse(ACTION, data, rolloutGroupSchema) };
    if (name === "episode" || name === "partial") {
      const { group, trajectory, row } = parseResponse(ACTION, data, rolloutEpisodeSchema);
      return {
        kind: name,
        group,
        // the schema checks what distinguishes an episode; the rest is the server's record of it
        ...(trajectory !== undefined && { trajectory: trajectory as unknown as Trajectory }),
        ...(row !== undefined && { row: row as unknown as InteractionResult }),
      };
    }
    if (name === "error") {
      const refusal = parseResponse(ACTION, data, requestErrorSchema);
      throw toRefusalError(ACTION, { status: "an error", ...refusal });
    }
    if (name !== "end") return undefined;
    parseResponse(ACTION, data, rolloutEndSchema);
    return "end";
  }
}
