import { RefusedError, type Tenant } from "./tenant.ts";

/** Requests of an honest tenant with known answers. */
export type HonestKind =
  | "health"
  | "exec"
  | "grade"
  | "run_code"
  | "error"
  | "files"
  | "batch"
  | "hidden_tests"
  | "env"
  | "jupyter"
  | "piston"
  | "nemo"
  | "checkpoint";

/** Kinds that watch a server while a case attacks it. */
export const WATCH_KINDS: readonly HonestKind[] = ["health", "exec", "grade", "run_code"];

/** What the requests of an honest tenant refer to. */
export interface HonestContext {
  readonly tenant: Tenant;
  /** Path of its session, in which `marker` is set. */
  readonly session: string;
  readonly marker: number;
  /** Path of its env. */
  readonly env: string;
}

/** Status of a response of SandboxFusion that reports a failed or missing sandbox. */
const UNAVAILABLE = 503;
const FOUR = { answer: "4" };

/** Sends a request of each kind and returns what was wrong with its response, if anything. */
export const HONEST_REQUESTS: Readonly<
  Record<
    HonestKind,
    (context: HonestContext, number: number, signal: AbortSignal) => Promise<string | undefined>
  >
> = {
  async health({ tenant }, _, signal) {
    const { status } = await tenant.json("/v1/health", {}, { method: "GET", signal });
    return expect(status, "ok");
  },
  async exec({ tenant, session, marker }, number, signal) {
    const { value } = await tenant.json(`${session}/exec`, { code: `marker + ${number}` }, { signal });
    return expect(value, String(marker + number));
  },
  async grade({ tenant }, number, signal) {
    const content = number % 2 === 0 ? "It is \\boxed{4}" : "It is \\boxed{5}";
    const body = { grader: "math", task: FOUR, messages: [{ role: "assistant", content }] };
    const { parts } = await tenant.json("/v1/grade", body, { signal });
    return expect(parts?.reward_right, number % 2 === 0 ? 1 : 0);
  },
  async run_code({ tenant }, number, signal) {
    const { status, run_result } = await tenant.json("/run_code", {
      code: `print(${number} * 3)`,
      language: "python",
    }, {
      signal,
    });
    if (status === "SandboxError") throw new RefusedError("/run_code", UNAVAILABLE, status);
    return expect(run_result?.stdout, `${number * 3}\n`);
  },
  async error({ tenant, session }, _, signal) {
    const { error } = await tenant.json(`${session}/exec`, { code: "1 / 0" }, { signal });
    return expect(error?.type, "ZeroDivisionError");
  },
  async files({ tenant, session }, number, signal) {
    const [text, copy] = [`file ${number}`, "open('b.txt', 'w').write(open('a.txt').read() * 2)"];
    const body = { code: copy, files: { "a.txt": btoa(text) }, fetchFiles: ["b.txt"] };
    const { files } = await tenant.json(`${session}/exec`, body, { signal });
    return expect(files?.["b.txt"], btoa(text + text));
  },
  async batch({ tenant }, number, signal) {
    const items = [{ code: `${number} + 1` }, { code: `${number} + 2` }];
    const { results } = await tenant.json("/v1/exec:batch", { items }, { signal });
    const answers: { status: number; result?: { value?: string } }[] = results;
    for (const { status } of answers) if (status >= 300) throw new RefusedError("/v1/exec:batch", status, "");
    return expect(answers.map(({ result }) => result?.value).join(), `${number + 1},${number + 2}`);
  },
  async hidden_tests({ tenant }, number, signal) {
    const content = `\`\`\`python\ndef f(x):\n    return x + ${number % 2}\n\`\`\``;
    const task = { fields: { entry_point: "f", tests: ["assert f(1) == 2"] } };
    const body = { grader: "hidden_tests", task, messages: [{ role: "assistant", content }] };
    const { score } = await tenant.json("/v1/grade", body, { signal });
    return expect(score, number % 2);
  },
  async env({ tenant, env }, number, signal) {
    await tenant.json(`${env}/reset`, { task: { query: "?", answer: String(number) } }, { signal });
    const reply = `\`\`\`python\nprint(${number})\n\`\`\``;
    const first = await tenant.json(`${env}/step`, { reply }, { signal });
    if (first.terminated) return "an episode ended at its first step";
    const { reward, terminated } = await tenant.json(`${env}/step`, { reply: `The answer is ${number}` }, {
      signal,
    });
    return expect([reward, terminated].join(), "1,true");
  },
  async jupyter({ tenant }, number, signal) {
    const cells = [`x = ${number}`, "print(x * 2)"];
    const { status, cells: results } = await tenant.json("/run_jupyter", { cells }, { signal });
    if (status === "SandboxError") throw new RefusedError("/run_jupyter", UNAVAILABLE, status);
    return expect(results?.[1]?.stdout, `${number * 2}\n`);
  },
  async piston({ tenant }, number, signal) {
    const files = [{ content: "print(input())" }];
    const body = { language: "python", version: "*", files, stdin: `line ${number}` };
    const { run } = await tenant.json("/api/v2/execute", body, { signal });
    return expect(run?.stdout, `line ${number}\n`);
  },
  async nemo({ tenant }, number, signal) {
    const body = { generated_code: `print(${number} + 5)`, language: "python", timeout: 30 };
    const { stdout } = await tenant.json("/execute", body, { signal });
    return expect(String(stdout).trim(), String(number + 5));
  },
  async checkpoint({ tenant, session }, _, signal) {
    const { id } = await tenant.json(`${session}/checkpoint`, {}, { signal });
    await tenant.json(`${session}/restore`, { checkpoint: id }, { signal });
    const { status } = await tenant.post(`/v1/checkpoints/${id}`, "", { method: "DELETE", signal });
    return expect(status, 204);
  },
};

/** All kinds. */
export const HONEST_KINDS = Object.keys(HONEST_REQUESTS) as HonestKind[];

function expect(found: unknown, needed: string | number): string | undefined {
  return found === needed ? undefined : `expected ${needed}, found ${JSON.stringify(found)?.slice(0, 200)}`;
}
