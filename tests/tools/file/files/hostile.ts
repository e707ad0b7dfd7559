/** Runs the argument `code`, as a tool that is worse than any model. */
export const name = "hostile";

const wait = () => new Promise(() => {});
let calls = 0;

export default async function (
  { code }: { code: string },
  { signal }: { signal: AbortSignal },
): Promise<unknown> {
  const run = new Function("wait", "calls", "signal", `return (async () => { ${code} })()`);
  return await run(wait, ++calls, signal);
}
