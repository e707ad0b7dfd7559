import type { Observation, Step } from "../envs/env.ts";
import type { Transform } from "./transform.ts";

/** How a {@linkcode PolicyVersion} counts. */
export interface PolicyVersionOptions {
  /** Whole numbers from 0, or a new UUID each time. */
  versionType?: "int" | "uuid" | undefined;
}

/**
 * Writes the version of the policy that acts into what it is shown and what it did, as `policyVersion`.
 *
 * One may be part of many envs: the trainer counts it up once, when the weights have changed.
 */
export class PolicyVersion implements Transform {
  readonly #history: (number | string)[];

  /** @throws {TypeError} when there is no such type of version. */
  constructor(options: PolicyVersionOptions = {}) {
    const { versionType = "int" } = options;
    if (versionType !== "int" && versionType !== "uuid") {
      throw new TypeError(
        `Cannot count versions as 'versionType' must be 'int' or 'uuid': current value is '${versionType}'`,
      );
    }
    this.#history = [versionType === "int" ? 0 : crypto.randomUUID()];
  }

  /** The version that acts now. */
  get version(): number | string {
    return this.#history[this.#history.length - 1] ?? 0;
  }

  /** Every version there has been, the one that acts now last. */
  get versionHistory(): readonly (number | string)[] {
    return [...this.#history];
  }

  /** Says that the policy is another one from now on; gives its version. */
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
