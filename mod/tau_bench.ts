/**
 * tau-bench: environments with tools and a simulated user.
 *
 * @module
 */
export { EnvError, UserError } from "../src/errors.ts";
export { humanUser, type HumanUserOptions } from "../src/users/human_user.ts";
export { llmUser, type LlmUserOptions, type UserStrategyName } from "../src/users/llm_user.ts";
export {
  resumedUser,
  USER_STOP,
  type UserFactory,
  type UserInput,
  type UserSimulator,
  type UserTask,
  type UserTurnOptions,
} from "../src/users/user_simulator.ts";
export { scriptedUser, type UserScript } from "../src/users/scripted_user.ts";
export { ToolUserChat, type ToolUserChatOptions, toolUserTask } from "../src/envs/tool_user_chat.ts";
export {
  isToolUserEnv,
  RESPOND,
  respondAction,
  type RewardInfo,
  type ToolInfo,
  type ToolUserAction,
  type ToolUserEnv,
  type ToolUserInfo,
  type ToolUserReset,
  type ToolUserResetOptions,
  type ToolUserStep,
  type ToolUserStepOptions,
} from "../src/envs/tool_user_env.ts";
export { TauBenchDomain, type TauBenchDomainOptions } from "../src/envs/tau_bench/tau_bench_domain.ts";
export { TauBenchEnv, type TauBenchEnvOptions } from "../src/envs/tau_bench/tau_bench_env.ts";
export {
  type EpisodeCut,
  type InteractionCall,
  type InteractionCodeCall,
  type InteractionResult,
  type InteractionStatus,
  type InteractionTurn,
  parseInteraction,
  toInteractionResult,
} from "../src/rollout/interaction_result.ts";
