import type { CutScore } from "../../rollout/episode/episode_score.ts";
import type { TokenMode } from "../../rollout/tokens/turn_writers.ts";
import type { RewardAuditOptions } from "../../transforms/reward_audit.ts";
import type { SandboxFlags } from "../sandbox_options.ts";
import type { BranchFlags } from "./branches.ts";
import type { FileEnvFlags } from "./envs.ts";
import type { HarborFlags } from "./envs/harbor.ts";
import type { FamilyFlags } from "./envs/families.ts";
import type { ReasoningGymFlags } from "./envs/reasoning_gym.ts";
import type { TauBenchFlags } from "./envs/tau_bench.ts";
import type { WorkspaceFlags } from "./envs/workspace.ts";
import type { GraderFlags } from "./graders.ts";
import type { TransformFlags } from "./plugins.ts";
import type { SamplingFlags } from "./policies/server_policies.ts";
import type { ToolFlags } from "./tools.ts";
import type { ColumnFlags } from "./trajectory_file.ts";

/** Options of `paddock rollout`. */
export interface RolloutFlags
  extends
    SandboxFlags,
    ToolFlags,
    GraderFlags,
    TauBenchFlags,
    WorkspaceFlags,
    HarborFlags,
    Pick<FamilyFlags, "difficulty">,
    ReasoningGymFlags,
    TransformFlags,
    ColumnFlags,
    FileEnvFlags,
    SamplingFlags,
    Pick<BranchFlags, "branch"> {
  limit?: number;
  env: string;
  policy: string;
  /** Permissions of the file of a policy. */
  policyAllow?: readonly string[];
  /** Values of `--grader`, such as `gsm8k=0.8`. */
  grader?: readonly string[];
  cutScore: CutScore;
  /** What an audit of hacks does. Without a value, nothing is audited. */
  audit?: NonNullable<RewardAuditOptions["onHack"]>;
  model?: string;
  temperature?: number;
  maxTokens?: number;
  requestTimeoutMs?: number;
  /** Seconds that the run waits for a server that is away. */
  serverWait: number;
  maxErrors?: number;
  episodeTokens?: number;
  episodeSeconds?: number;
  /** False for none. */
  system?: string | false;
  /** True if the configuration file asks for no system message. */
  noSystem?: boolean;
  samples: number;
  seed?: number;
  tokenizer?: string;
  concurrency?: number;
  poolSize?: number;
  reset: "rewind" | "fresh";
  /** Value of `--time-scale`. */
  timeScale?: string;
  maxTurns?: number;
  runUnlabeled?: boolean;
  runThoughts?: boolean;
  json?: boolean;
  out?: string;
  trainOut?: string;
  tokenMode: TokenMode;
  resume?: boolean;
  force?: boolean;
  show?: boolean;
  showFirst?: number;
  /** Arguments of the command line, for the record of the run. */
  args?: readonly string[];
}
