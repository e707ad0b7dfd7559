import { requireKnownOptions } from "../options.ts";
import type { Observation, Step } from "../envs/env.ts";
import type { Transform } from "./transform.ts";

/** Options of {@linkcode PolicyVersion}. */
export interface PolicyVersionOptions {
  /**
   * Type of versions: integers from 0, or a new UUID each time.
   * @default "int"
   */
  versionType?: "int" | "uuid" | undefined;
}

/**
 * Adds the version of the acting policy to observations and steps, as `policyVersion`.
 *
 * Several envs can share an instance: the trainer increments the version once after a weight update.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { ChatEnv, PolicyVersion, TransformedEnv } from "@paddock/paddock";
 *
 * const version = new PolicyVersion();
 * await using env = new TransformedEnv(new ChatEnv(), [version]);
 * version.incrementVersion(); // after each weight update
 * const observation = await env.reset({ id: "1", query: "Hello" });
 * assertEquals(observation.policyVersion, 1);
 * ```
 */
export class PolicyVersion implements Transform {
  readonly #history: (number | string)[];

  /**
   * @throws {TypeError} when `versionType` is unknown.
   */
  constructor(options: PolicyVersionOptions = {}) {
    requireKnownOptions("create PolicyVersion", options, { versionType: true });
    const { versionType = "int" } = options;
    if (versionType !== "int" && versionType !== "uuid") {
      throw new TypeError(
        `Cannot count versions as 'versionType' must be 'int' or 'uuid': current value is '${versionType}'`,
      );
    }
    this.#history = [versionType === "int" ? 0 : crypto.randomUUID()];
  }

  /** Current version. */
  get version(): number | string {
    return this.#history[this.#history.length - 1] ?? 0;
  }

  /** All versions, the current version last. */
  get versionHistory(): readonly (number | string)[] {
    return [...this.#history];
  }

  /** Starts and returns a new version. */
  incrementVersion(): number | string {
    const { version } = this;
    this.#history.push(typeof version === "number" ? version + 1 : crypto.randomUUID());
    return this.version;
  }

  reset(observation: Observation): Observation {
    return { ...observation, policyVersion: this.version };
  }

  step(step: Step): Step {
    return { ...step, policyVersion: this.version };
  }
}
