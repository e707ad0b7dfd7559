import { PolicyError } from "../errors.ts";
import type { Policy } from "./policy.ts";
import { assistantTurns } from "./turns.ts";

/** A policy that plays each task's own `replies`, whatever comes back. */
export function scriptedPolicy(): Policy {
  return {
    // deno-lint-ignore require-await
    async reply(history, { task }) {
      const { id, replies = [] } = task;
      const turn = assistantTurns(history);
      const reply = replies[turn];
      if (reply === undefined) {
        throw new PolicyError(
          `Cannot play task '${id}' as it needs a reply for turn ${turn + 1}: it has ${replies.length}`,
        );
      }
      return reply;
    },
  };
}
