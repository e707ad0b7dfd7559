/** A transform that runs code of the task: a function body for each hook. */
const AsyncFunction = (async () => {}).constructor as new (...names: string[]) => (
  ...values: unknown[]
) => Promise<unknown>;

interface Input {
  readonly task: { readonly fields?: Readonly<Record<string, string>> };
}

const hook = (name: string) => async (input: Input): Promise<unknown> => {
  return await new AsyncFunction("input", input.task.fields?.[name] ?? "")(input);
};

export default { name: "hostile", task: hook("task"), step: hook("step"), reward: hook("reward") };
