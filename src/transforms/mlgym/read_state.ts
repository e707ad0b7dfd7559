import type { Observation } from "../../envs/env.ts";
import { workspaceViewOf } from "../../envs/workspace/workspace_view.ts";
import type { Transform } from "../transform.ts";
import { addToMLGymRecord } from "./mlgym_record.ts";

/** Adds the state of the workspace after each step, as unparsed JSON. */
export class ReadState implements Transform {
  reset(observation: Observation): Observation {
    return withState(observation);
  }

  step<T extends Observation>(step: T): T {
    return withState(step);
  }
}

function withState<T extends Observation>(observation: T): T {
  return addToMLGymRecord(observation, { state: workspaceViewOf(observation)?.state ?? "" });
}
