import { z } from "zod";
import type { ToolInfo, ToolUserAction } from "../tool_user_env.ts";

/** A task as its domain has it. */
export interface DomainTask {
  readonly user_id: string;
  readonly instruction: string;
  /** What is to be done; the text of the arguments is Python's own. */
  readonly actions: readonly (ToolUserAction & { readonly kwargsText: string })[];
  /** What the user wants to hear. */
  readonly outputs: readonly string[];
}

/** What a domain says of itself. */
export interface DomainDescription {
  readonly tools_info: readonly ToolInfo[];
  readonly wiki: string;
  readonly rules: readonly string[];
  readonly terminate_tools: readonly string[];
  /** The tasks of each split. */
  readonly tasks: Readonly<Record<string, readonly DomainTask[]>>;
}

const actionSchema = z.object({ name: z.string(), kwargs: z.string() }).transform(({ name, kwargs }) => ({
  name,
  kwargs: z.record(z.string(), z.unknown()).parse(JSON.parse(kwargs)),
  kwargsText: kwargs,
}));

const taskSchema: z.ZodType<DomainTask> = z.object({
  user_id: z.string(),
  instruction: z.string(),
  actions: z.array(actionSchema),
  outputs: z.array(z.string()),
});

const toolShape = z.object({
  type: z.literal("function"),
  function: z.object({
    name: z.string(),
    description: z.string(),
    parameters: z.record(z.string(), z.unknown()),
  }),
});

/** A tool as it is: chat templates show its keys in their order, those that nobody knows among them. */
const toolSchema = z.custom<ToolInfo>((value) => toolShape.safeParse(value).success, "must be a tool");

/** Checks what a domain says of itself. */
export const descriptionSchema: z.ZodType<DomainDescription> = z.object({
  tools_info: z.array(toolSchema),
  wiki: z.string(),
  rules: z.array(z.string()),
  terminate_tools: z.array(z.string()),
  tasks: z.record(z.string(), z.array(taskSchema)),
});
