import type { Message } from "../message.ts";
import type { ToolSpec } from "../tool_spec.ts";
import { newReply } from "../tools/new_reply.ts";
import type { AnsweredCalls } from "../tools/tool_caller.ts";
import type { Action, Observation, Step } from "./env.ts";

/** The observation with these tools offered behind those that it offers already. */
export function offerTools<Seen extends Observation>(observation: Seen, specs: readonly ToolSpec[]): Seen {
  const offered = observation.tools ?? [];
  const fresh = specs.filter(({ name }) => !offered.some((other) => other.name === name));
  return fresh.length === 0 ? observation : { ...observation, tools: [...offered, ...fresh] };
}

/** The names of the tools that the policy was offered, but for these. */
export function offeredByOthers(
  observation: Observation | undefined,
  specs: readonly ToolSpec[],
): ReadonlySet<string> {
  const names = observation?.tools?.map(({ name }) => name) ?? [];
  return new Set(names.filter((name) => !specs.some((spec) => spec.name === name)));
}

/** What the assistant said in a step; nothing when the env did not take it. */
export function stepReply(
  step: Step,
  { observation, action }: { readonly observation?: Observation; readonly action?: Action },
): Message | undefined {
  if (action?.skip) return undefined;
  const said = action?.history?.full ?? step.history.prompt;
  return newReply(said, observation?.history.prompt.length ?? Infinity);
}

/** The step with the answers of tools behind its messages. */
export function answeredStep(step: Step, answered: AnsweredCalls): Step {
  return {
    ...step,
    history: { prompt: step.history.prompt.extend(answered.messages) },
    terminated: step.terminated || answered.ended,
    toolResults: [...step.toolResults, ...answered.toolResults],
  };
}
