import { countdown } from "../../rewards/countdown.ts";
import { exactMatch } from "../../rewards/exact_match.ts";
import type { Grader } from "../../rewards/grader.ts";
import { gsm8k } from "../../rewards/gsm8k.ts";
import { ifeval } from "../../rewards/ifeval.ts";
import { math } from "../../rewards/math.ts";
import { numberMatch } from "../../rewards/number_match.ts";

/** What runs the programs of one grader, apart from the server. */
export const SANDBOXED = "hidden_tests";

/** The graders that need nothing but their input. */
export function plainGraders(): Map<string, Grader> {
  const graders = [numberMatch(), gsm8k(), math(), countdown(), ifeval(), exactMatch()];
  return new Map(graders.map((grader) => [grader.name, grader]));
}
