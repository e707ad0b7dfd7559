import type { History } from "../history.ts";
import type { Message, ToolSpec } from "../message.ts";
import type { CallContext, CallResponses, ToolCaller } from "../tools/tool_caller.ts";
import type { Action } from "./action.ts";
import type { Observation, Step } from "./env.ts";

/** Returns the observation with these tools added after the tools that it already has. */
export function offerTools<T extends Observation>(observation: T, specs: readonly ToolSpec[]): T {
  const present = observation.tools ?? [];
  const added = specs.filter(({ name }) => !present.some((other) => other.name === name));
  return added.length === 0 ? observation : { ...observation, tools: [...present, ...added] };
}

/** Returns the names of the offered tools, without these. */
function otherToolNames(
  observation: Observation | undefined,
  specs: readonly ToolSpec[],
): ReadonlySet<string> {
  const names = observation?.tools?.map(({ name }) => name) ?? [];
  return new Set(names.filter((name) => !specs.some((spec) => spec.name === name)));
}

/** Observation and action of a step. */
interface StepContext {
  readonly observation?: Observation;
  readonly action?: Action;
}

/** Options of {@linkcode answerCalls}. */
export interface AnswerCallsOptions extends Pick<CallContext, "idPrefix" | "state"> {
  readonly caller: ToolCaller;
  /** Tools of the caller. The calls of other tools are left to their transforms. */
  readonly specs: readonly ToolSpec[];
}

/** Runs the calls of the assistant's message of a step, appends their results, and offers the tools. */
export async function answerCalls(
  step: Step,
  context: StepContext & Pick<CallContext, "signal">,
  { caller, specs, idPrefix, state }: AnswerCallsOptions,
): Promise<Step> {
  const offered = offerTools(step, specs);
  const reply = replyOfStep(step, context);
  if (reply === undefined) return offered;
  const { responses, callsInThoughts } = await caller.answer(reply, {
    idPrefix,
    state,
    foreignTools: otherToolNames(context.observation, specs),
    earlierResults: step.toolResults,
    signal: context.signal,
  });
  const recorded = withCallsInThoughts(offered, callsInThoughts);
  return responses === undefined ? recorded : appendToolMessages(recorded, responses);
}

/** Returns the step with the count of calls in thoughts, which several transforms can find in the same reply. */
export function withCallsInThoughts<T extends Step>(step: T, count: number): T {
  const { blocksNotRun = [] } = step;
  const isCounted = blocksNotRun.some(({ reason }) => reason === "thought_call");
  if (count === 0 || isCounted) return step;
  return { ...step, blocksNotRun: [...blocksNotRun, { reason: "thought_call", tag: "", count }] };
}

/** Returns the assistant's message of a step; `undefined` if the env skipped the step. */
export function replyOfStep(
  step: Step,
  { observation, action }: StepContext,
): Message | undefined {
  if (action?.skip) return undefined;
  const history = action?.history?.full ?? step.history.prompt;
  return latestReply(history, observation?.history.prompt.length ?? Infinity);
}

/** Returns the step with the tool messages appended. */
export function appendToolMessages(step: Step, answered: CallResponses): Step {
  return {
    ...step,
    history: { prompt: step.history.prompt.extend(answered.messages) },
    terminated: step.terminated || answered.endsEpisode,
    toolResults: [...step.toolResults, ...answered.toolResults],
  };
}

/**
 * Returns the last assistant message that a step added. `history` is the conversation that the policy
 * returned, `before` the number of messages before the step. Tool messages after the reply are skipped, and
 * replies of earlier steps are ignored.
 */
function latestReply(history: History, before: number): Message | undefined {
  // A policy may return a shortened conversation; its last message is then the new one.
  const start = Math.min(before, history.length - 1);
  return [...history].findLast(({ role }, at) => at >= start && role === "assistant");
}
