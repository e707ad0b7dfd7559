/**
 * Plays an episode with a tool and a user, and prints the result for a trainer: tokens, loss mask, log-probabilities
 * and reward.
 *
 * The model is a script behind a server with SGLang's `/generate` API, and the tokenizer encodes bytes. For a real
 * model, use the address of its SGLang server and `await loadTokenizer(dir)`.
 */
import { scriptedUser, type ToolUserEnv, USER_STOP } from "@paddock/paddock/tau-bench";
import { sglangPolicy, type Tokenizer, trainingRollout } from "@paddock/paddock";

const [START, END] = ["<|im_start|>", "<|im_end|>"];

/** Tokenizer of bytes, with two special tokens that open and close a turn. */
const tokenizer: Tokenizer = {
  name: "bytes",
  eosToken: END,
  specialTokens: [START, END],
  encode: (text) =>
    text.split(/(<\|im_(?:start|end)\|>)/).flatMap((piece) => {
      if (piece === START) return [256];
      return piece === END ? [257] : [...new TextEncoder().encode(piece)];
    }),
  decode: (ids) => {
    const marks = ids.flatMap((id, at) => id < 256 ? [] : [at]);
    const pieces = [...marks, ids.length].map((end, at) =>
      new TextDecoder().decode(new Uint8Array(ids.slice(at === 0 ? 0 : (marks[at - 1] ?? 0) + 1, end)))
    );
    return pieces.reduce((text, piece, at) => text + (ids[marks[at - 1] ?? 0] === 256 ? START : END) + piece);
  },
};

/** Env with a lamp that must be on at the end. */
class LampEnv implements ToolUserEnv {
  readonly name = "lamp/test";
  readonly taskCount = 1;
  readonly wiki = "You look after a lamp.";
  readonly rules = [];
  readonly terminateTools = [];
  readonly toolsInfo = [{
    type: "function" as const,
    function: {
      name: "set_lamp",
      description: "Turns the lamp on or off.",
      parameters: { type: "object", properties: { on: { type: "boolean" } }, required: ["on"] },
    },
  }];
  readonly #user = scriptedUser(["Hello, I would like some light.", `Thank you. ${USER_STOP}`]);
  #isOn = false;

  reset: ToolUserEnv["reset"] = async (index, options) => {
    this.#isOn = false;
    const observation = await this.#user.reset({ index, instruction: "You want light." }, options);
    return { observation, info: { source: "user" } };
  };

  step: ToolUserEnv["step"] = async ({ name, kwargs }, options) => {
    if (name === "set_lamp") {
      this.#isOn = kwargs.on === true;
      const observation = JSON.stringify({ on: this.#isOn });
      return { observation, reward: 0, done: false, info: { source: name } };
    }
    const observation = await this.#user.step(String(kwargs.content), options);
    const done = observation.includes(USER_STOP);
    return { observation, reward: done && this.#isOn ? 1 : 0, done, info: { source: "user" } };
  };

  [Symbol.asyncDispose] = () => Promise.resolve();
}

const replies = [
  '<tool_call>\n{"name": "set_lamp", "arguments": {"on": true}}\n</tool_call>',
  "The lamp is on.",
];
await using server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, () => {
  const text = replies.shift() ?? "";
  const output_ids = tokenizer.encode(text + END);
  const output_token_logprobs = output_ids.map((id) => [-0.1, id, null]);
  return Response.json({
    text,
    output_ids,
    meta_info: { finish_reason: { type: "stop" }, output_token_logprobs },
  });
});

await using env = new LampEnv();
const policy = sglangPolicy({
  url: `http://127.0.0.1:${server.addr.port}`,
  samplingParams: { temperature: 0, max_new_tokens: 512 },
});
const result = await trainingRollout(env, policy, tokenizer, { taskIndex: 0, maxSteps: 8, family: "qwen" });

const { status, reward, tokens, loss_mask, response_length, errors } = result;
const sampled = tokens.slice(-response_length).filter((_id, at) => loss_mask[at] === 1);
const expected =
  `<tool_call>\n{"name": "set_lamp", "arguments": {"on": true}}\n</tool_call>${END}The lamp is on.${END}`;
if (status !== "completed" || reward !== 1 || tokenizer.decode(sampled) !== expected) {
  throw new Error(JSON.stringify({ status, reward, errors, sampled: tokenizer.decode(sampled) }));
}
// The JSON line for a trainer:
await Deno.stdout.write(new TextEncoder().encode(`${JSON.stringify(result)}\n`));
