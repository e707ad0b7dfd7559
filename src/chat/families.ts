import type { ChatTemplate } from "./chat_template.ts";
import { parseChatml } from "./parse_chatml.ts";
import { parseLines } from "./parse_lines.ts";
import { parseLlama } from "./parse_llama.ts";
import { parseSpeakers } from "./parse_speakers.ts";
import chatml from "./templates/chatml.jinja" with { type: "text" };
import deepseek from "./templates/deepseek.jinja" with { type: "text" };
import dialogpt from "./templates/dialogpt.jinja" with { type: "text" };
import falcon from "./templates/falcon.jinja" with { type: "text" };
import llama from "./templates/llama.jinja" with { type: "text" };
import qwen from "./templates/qwen.jinja" with { type: "text" };

const CHATML_CONTROLS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"];
const DEEPSEEK_BOUNDS = [
  { bosToken: "<｜begin▁of▁sentence｜>", eosToken: "<｜end▁of▁sentence｜>" },
  { bosToken: "<s>", eosToken: "</s>" },
] as const;
const SPEAKERS = ["User", "Assistant", "Tool", "System"];

/** The chatml template, used for unknown models. */
export const CHATML: ChatTemplate = {
  name: "chatml",
  source: chatml,
  controls: CHATML_CONTROLS,
  inverseParser: (text) => parseChatml(text),
};

/** The built-in families, in the order in which they are compared with a tokenizer's name. */
export const FAMILIES: readonly ChatTemplate[] = [
  {
    name: "qwen",
    source: qwen,
    keywords: ["qwen"],
    controls: CHATML_CONTROLS,
    inverseParser: (text) => parseChatml(text, { dropEmptyTail: true }),
  },
  {
    name: "dialogpt",
    source: dialogpt,
    keywords: ["dialogpt"],
    controls: ["<|endoftext|>"],
    speakers: SPEAKERS,
    inverseParser: parseLines,
  },
  {
    name: "falcon",
    source: falcon,
    keywords: ["falcon"],
    controls: ["<|endoftext|>"],
    speakers: SPEAKERS,
    inverseParser: (text) => parseSpeakers(text),
  },
  {
    name: "deepseek",
    source: deepseek,
    keywords: ["deepseek"],
    controls: Object.values(DEEPSEEK_BOUNDS[0]),
    speakers: SPEAKERS,
    inverseParser: (text, tokens) => parseSpeakers(text, { ...tokens, bounds: DEEPSEEK_BOUNDS }),
  },
  {
    name: "llama",
    source: llama,
    keywords: ["llama"],
    controls: ["<|header_start|>", "<|header_end|>", "<|eot|>", "<|begin_of_text|>", "<|end_of_text|>"],
    inverseParser: parseLlama,
  },
  CHATML,
];
