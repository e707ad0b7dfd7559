/**
 * Graders: functions that score an episode.
 *
 * @module
 */
export { GraderError } from "../errors.ts";
export type { GradeContext, Grader, Score } from "../rewards/grader.ts";
export { countdown } from "../rewards/countdown.ts";
export { countdownTasks, type CountdownTasksOptions } from "../rewards/countdown_tasks.ts";
export { exactMatch, numberMatch, patternMatch, type PatternMatchOptions } from "../rewards/text_match.ts";
export { gsm8k, type Gsm8kOptions } from "../rewards/gsm8k.ts";
export { hiddenTests, type HiddenTestsOptions } from "../rewards/hidden_tests.ts";
export { ifeval, type IfevalOptions } from "../rewards/ifeval.ts";
export { judge, type JudgeOptions } from "../rewards/judge.ts";
export type { TieredScoreOptions } from "../rewards/tiered_score.ts";
export { math } from "../rewards/math.ts";
export { rubric, type RubricItem, type RubricOptions } from "../rewards/rubric.ts";
