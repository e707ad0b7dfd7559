import type { Grader } from "../../../src/rewards/grader.ts";
import { replyGrader } from "../../../src/rewards/reply_grader.ts";

/** Returns a grader whose memory grows without end for the reply `bomb`, and that scores any other reply 1. */
export function fillsMemory(): Grader {
  return replyGrader({
    name: "fills_memory",
    origin: { file: import.meta.url, factory: "fillsMemory", options: undefined },
    gradeReply(reply) {
      const lists: number[][] = [];
      while (reply === "bomb") lists.push(new Array(100_000).fill(0));
      return 1 + lists.length;
    },
  });
}

/** Returns a grader that never ends for the reply `loop`, and that scores any other reply 1. */
export function neverEnds(): Grader {
  return replyGrader({
    name: "never_ends",
    origin: { file: import.meta.url, factory: "neverEnds", options: undefined },
    gradeReply(reply) {
      let rounds = 0;
      while (reply === "loop") rounds++;
      return 1 + rounds;
    },
  });
}
