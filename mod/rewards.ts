/**
 * Graders: functions that score an episode.
 *
 * @module
 */
export { GraderError } from "../src/errors.ts";
export type { GradeContext, Grader, Score } from "../src/rewards/grader.ts";
export {
  defineGrader,
  type GraderDefinition,
  type GraderInput,
  type PluginContext,
  type PluginTask,
} from "../src/plugins/definitions.ts";
export { type GraderFile, graderFile } from "../src/plugins/grader_file.ts";
export type { PluginFileOptions } from "../src/plugins/plugin_host.ts";
export {
  PYTHON_FILE_PRELOAD,
  PythonFileError,
  type PythonFileOptions,
} from "../src/plugins/python/python_file.ts";
export { pythonGrader, type PythonGraderOptions } from "../src/plugins/python/python_grader.ts";
export { countdown } from "../src/rewards/countdown.ts";
export { countdownTasks, type CountdownTasksOptions } from "../src/rewards/countdown_tasks.ts";
export {
  exactMatch,
  numberMatch,
  patternMatch,
  type PatternMatchOptions,
} from "../src/rewards/text_match.ts";
export { family, type FamilyOptions } from "../src/rewards/family.ts";
export { gsm8k, type Gsm8kOptions } from "../src/rewards/gsm8k.ts";
export {
  CANDIDATE_PRELOAD,
  type CandidateNames,
  checkHiddenTests,
  HIDDEN_TESTS_PRELOAD,
  hiddenTests,
  type HiddenTestsOptions,
} from "../src/rewards/hidden_tests.ts";
export { ifeval, type IfevalOptions } from "../src/rewards/ifeval.ts";
export { judge, type JudgeOptions } from "../src/rewards/judge.ts";
export { GraderPool, type GraderPoolOptions, type GuardOptions } from "../src/rewards/worker/grader_pool.ts";
export {
  type GradedTask,
  type GraderOrigin,
  replyGrader,
  type ReplyGrading,
} from "../src/rewards/reply_grader.ts";
export type { TieredScoreOptions } from "../src/rewards/tiered_score.ts";
export { math, type MathOptions } from "../src/rewards/math.ts";
export type { MathVerifyGrader, MathVerifyOptions } from "../src/rewards/math/math_verify/verified_math.ts";
export { rubric, type RubricGrader, type RubricItem, type RubricOptions } from "../src/rewards/rubric.ts";
