// deno-lint-ignore-file no-console -- an example shows what it does
/**
 * Plays the same task twice: a model that calls a tool for each of eight cities, and a model that writes one program that
 * calls it. Prints the messages of the program's episode, the calls in its row, and the tokens of both episodes.
 *
 * The model is a script, and the tokenizer encodes bytes. For a real model, use `await loadTokenizer(dir)`.
 */
import {
  ChatEnv,
  EndOnFinalReply,
  IncrementalTokenizer,
  loadProfile,
  messageText,
  type Policy,
  PythonInterpreter,
  rollout,
  SandboxPool,
  type Tokenizer,
  tool,
  ToolTransform,
  TransformedEnv,
} from "@paddock/paddock";
import { z } from "zod";

const CITIES = ["Oslo", "Bergen", "Narvik", "Bodo", "Molde", "Hamar", "Larvik", "Alta"];
const forecast = tool({
  name: "forecast",
  description: "Returns tomorrow's weather of a city.",
  parameters: z.object({ city: z.enum(CITIES).describe("A city of Norway.") }),
  allowedCallers: ["model", "code"],
  run: ({ city }) => ({ high: 10 + CITIES.indexOf(city), rain: city === "Bergen" }),
});

const tokenizer: Tokenizer = {
  name: "bytes",
  eosToken: "<|im_end|>",
  specialTokens: [],
  chatTemplate: "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}" +
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
  encode: (text) => [...new TextEncoder().encode(text)],
  decode: (ids) => new TextDecoder().decode(new Uint8Array(ids)),
};

/** A model that replies with these texts, and counts their tokens. */
function modelOf(replies: string[]): Policy {
  const left = [...replies];
  return {
    name: "script",
    reply: () => {
      const content = left.shift() ?? "";
      return Promise.resolve({
        message: { role: "assistant", content },
        tokens: { ids: tokenizer.encode(`${content}<|im_end|>`) },
        finishReason: "stop",
      });
    },
  };
}

await using pool = new SandboxPool({ profile: await loadProfile("tools"), size: 1 });

async function play(replies: string[]) {
  await using env = new TransformedEnv(new ChatEnv(), [
    new ToolTransform({ tools: [forecast] }),
    new PythonInterpreter({ pool }),
    new IncrementalTokenizer({ tokenizer }),
    new EndOnFinalReply(),
  ]);
  return await rollout(env, modelOf(replies), {
    id: "warmest",
    query: "Which city is the warmest tomorrow?",
  });
}

const program = `\`\`\`python
from paddock import tools
highs = {city: tools.forecast(city)["high"] for city in ${JSON.stringify(CITIES)}}
print(max(highs, key=highs.get))
\`\`\``;
const inCode = await play([program, "It is Alta."]);
const inReplies = await play([
  ...CITIES.map((city) => `<tool>forecast\n${JSON.stringify({ city })}</tool>`),
  "It is Alta.",
]);

for (const { role, content } of inCode.messages) console.log(`${role}: ${messageText({ role, content })}\n`);
for (const { tool, arguments: args, result } of inCode.toolResults[0]?.calls ?? []) {
  console.log(`${tool}(${JSON.stringify(args)}) → ${result}`);
}
for (const [name, { tokens, turns }] of Object.entries({ program: inCode, replies: inReplies })) {
  const sampled = tokens?.lossMask.filter((mask) => mask === 1).length;
  console.log(`${name}: ${turns} turns, ${sampled} sampled tokens of ${tokens?.ids.length}`);
}
if (inCode.toolResults[0]?.calls?.length !== CITIES.length) throw new Error("a call is missing in the row");
if (inCode.error !== undefined || inReplies.error !== undefined) throw new Error("an episode failed");
