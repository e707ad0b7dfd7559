import type { Observation, Step } from "../../envs/env.ts";
import { workspaceViewOf } from "../../envs/workspace/evaluation.ts";
import type { TemplateValue } from "../../envs/workspace/task.ts";
import { EnvError } from "../../errors.ts";
import { type Message, messageText } from "../../message.ts";
import type { Transform, TransformContext } from "../transform.ts";
import { addToMLGymRecord, mlgymRecordOf } from "./mlgym_record.ts";
import { fillTemplate, type MLGymTasks, type TemplateFields, templateFieldsOf } from "./template_values.ts";
import { isJsonObject, parseUntrustedJson } from "../../json.ts";

/** A template with the template's name in the agent YAML. */
interface Named {
  readonly name: string;
  readonly template: string;
}

/**
 * Renders a step with the agent's templates: first the task, then the output of a command, a message that
 * there was none, or a message that the reply has no command. Each includes the current state.
 */
export class StateToMessage implements Transform {
  readonly #played: MLGymTasks;

  constructor(options: MLGymTasks) {
    this.#played = options;
  }

  /** @throws {EnvError} if the state is not JSON, or a template uses an unknown name. */
  reset(observation: Observation, context: TransformContext): Observation {
    const { agent } = this.#played;
    const fields = this.#fields(observation, context);
    const demonstrations = agent.putDemosInHistory ? [] : agent.demonstrations.map((demonstration) => {
      const demonstrationText = [...demonstration].map((message: Message) => messageText(message)).join("\n");
      const template = agent.demonstrationTemplate ?? "";
      return fillTemplate("demonstration_template", template, {
        ...fields,
        demonstration: demonstrationText,
      });
    });
    const templates: Named[] = [{ name: "task_template", template: agent.taskTemplate }];
    if (agent.strategyTemplate !== undefined) {
      templates.push({ name: "strategy_template", template: agent.strategyTemplate });
    }
    const texts = templates.map(({ name, template }) => fillTemplate(name, template, fields));
    return addToMLGymRecord(observation, { message: [...demonstrations, ...texts].join("\n") });
  }

  /** @throws {EnvError} if the state is not JSON, or a template uses an unknown name. */
  step(step: Step, context: TransformContext): Step {
    const { name, template } = this.#next(step);
    return addToMLGymRecord(step, { message: fillTemplate(name, template, this.#fields(step, context)) });
  }

  #next(step: Step): Named {
    const { agent } = this.#played;
    const { retry, observation: output } = mlgymRecordOf(step);
    if (retry) return { name: "format_error_template", template: agent.formatErrorTemplate };
    if ((output ?? "").trim() !== "") {
      return { name: "next_step_template", template: agent.nextStepTemplate };
    }
    return { name: "next_step_no_output_template", template: agent.nextStepNoOutputTemplate };
  }

  #fields(observation: Observation, { task }: TransformContext): TemplateFields {
    const { currentStep = 0, maxSteps = 0 } = workspaceViewOf(observation) ?? {};
    const record = mlgymRecordOf(observation);
    return {
      ...templateFieldsOf(task, this.#played),
      ...parseState(record.state ?? ""),
      current_step: currentStep,
      remaining_steps: Math.max(0, maxSteps - currentStep),
      observation: record.observation ?? "",
      format_fault: record.formatFault ?? "",
    };
  }
}

function parseState(state: string): Record<string, TemplateValue> {
  let value: unknown;
  try {
    value = parseUntrustedJson(state);
  } catch {
    value = undefined; // reported below
  }
  if (isJsonObject(value)) {
    return value as Record<string, TemplateValue>;
  }
  throw new EnvError(`State '${state}' is not valid json. This is an internal error, please report it.`);
}

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
