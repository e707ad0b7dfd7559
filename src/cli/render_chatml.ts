import type { History } from "../history.ts";
import { messageText } from "../message.ts";

/** Writes a conversation as ChatML, up to where the assistant speaks. No content can write a turn of its own. */
export function renderChatml(history: History): string {
  const turns = [...history].map((message) => {
    const text = messageText(message).replaceAll("<|im_start|>", "<|im_start |>")
      .replaceAll("<|im_end|>", "<|im_end |>");
    return `<|im_start|>${message.role}\n${text}<|im_end|>\n`;
  });
  return `${turns.join("")}<|im_start|>assistant\n`;
}
