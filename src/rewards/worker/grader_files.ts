// Written by `deno task guest-manifest`, which follows the imports of the files. Do not edit.
import harmony from "../../chat/replies/harmony.ts" with { type: "text" };
import thoughts from "../../chat/replies/thoughts.ts" with { type: "text" };
import errors from "../../errors.ts" with { type: "text" };
import json from "../../json.ts" with { type: "text" };
import message from "../../message.ts" with { type: "text" };
import decimal from "../../numbers/decimal.ts" with { type: "text" };
import exactNumbers from "../../numbers/exact_numbers.ts" with { type: "text" };
import options from "../../options.ts" with { type: "text" };
import arithmetic from "../../policy/arithmetic.ts" with { type: "text" };
import boxes from "../boxes.ts" with { type: "text" };
import countdown from "../countdown.ts" with { type: "text" };
import extractAnswer from "../extract_answer.ts" with { type: "text" };
import finalReply from "../final_reply.ts" with { type: "text" };
import grader from "../grader.ts" with { type: "text" };
import gsm8k from "../gsm8k.ts" with { type: "text" };
import ifeval from "../ifeval.ts" with { type: "text" };
import checker from "../ifeval/checker.ts" with { type: "text" };
import detectableFormat from "../ifeval/detectable_format.ts" with { type: "text" };
import instructions from "../ifeval/instructions.ts" with { type: "text" };
import language from "../ifeval/language.ts" with { type: "text" };
import sentences from "../ifeval/sentences.ts" with { type: "text" };
import math from "../math.ts" with { type: "text" };
import backslashes from "../math/backslashes.ts" with { type: "text" };
import choice from "../math/choice.ts" with { type: "text" };
import clock from "../math/clock.ts" with { type: "text" };
import exact from "../math/exact.ts" with { type: "text" };
import expression from "../math/expression.ts" with { type: "text" };
import forms from "../math/forms.ts" with { type: "text" };
import functions from "../math/functions.ts" with { type: "text" };
import latex from "../math/latex.ts" with { type: "text" };
import verifiedMath from "../math/math_verify/verified_math.ts" with { type: "text" };
import wheels from "../math/math_verify/wheels.ts" with { type: "text" };
import points from "../math/points.ts" with { type: "text" };
import sameAnswer from "../math/same_answer.ts" with { type: "text" };
import shape from "../math/shape.ts" with { type: "text" };
import unicode from "../math/unicode.ts" with { type: "text" };
import units from "../math/units.ts" with { type: "text" };
import words from "../math/words.ts" with { type: "text" };
import plainNumber from "../plain_number.ts" with { type: "text" };
import replyGrader from "../reply_grader.ts" with { type: "text" };
import textMatch from "../text_match.ts" with { type: "text" };
import tieredScore from "../tiered_score.ts" with { type: "text" };
import graderWorker from "./grader_worker.ts" with { type: "text" };
import cacheDir from "../../sandbox/image/cache_dir.ts" with { type: "text" };

/** Texts of the files of a grader worker by name, each after those that it imports. */
export const GRADER_FILES: Readonly<Record<string, string>> = {
  errors,
  options,
  arithmetic,
  boxes,
  decimal,
  plain_number: plainNumber,
  extract_answer: extractAnswer,
  json,
  exact_numbers: exactNumbers,
  harmony,
  thoughts,
  message,
  final_reply: finalReply,
  reply_grader: replyGrader,
  tiered_score: tieredScore,
  countdown,
  gsm8k,
  grader,
  checker,
  detectable_format: detectableFormat,
  language,
  sentences,
  instructions,
  ifeval,
  choice,
  clock,
  exact,
  functions,
  latex,
  expression,
  points,
  forms,
  shape,
  unicode,
  units,
  words,
  same_answer: sameAnswer,
  backslashes,
  cache_dir: cacheDir,
  wheels,
  verified_math: verifiedMath,
  math,
  text_match: textMatch,
  grader_worker: graderWorker,
};
