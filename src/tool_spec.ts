/** The description of a tool for a model or a chat template. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Converts a tool description to the format of OpenAI's API, which chat templates expect. */
export function toOpenaiTool({ name, description, parameters }: ToolSpec): object {
  return { type: "function", function: { name, description, parameters } };
}
