import type { JinjaTemplate } from "./jinja_template.ts";

/** Texts that a template writes between turns and that are not special tokens. */
export interface TurnMarkers {
  /** Texts with other characters than letters, such as `[/INST]`. They mark a turn at any position. */
  readonly controls: readonly string[];
  /** Words that are followed by a colon. */
  readonly speakers: readonly string[];
}

const PLACEHOLDER = "\ue000";
const TALK = ["user", "assistant", "user"].map((role) => ({ role, content: PLACEHOLDER }));
const CHATS = [[{ role: "system", content: PLACEHOLDER }, ...TALK], TALK];
const NONE: TurnMarkers = { controls: [], speakers: [] };

/**
 * Finds the texts that a template writes between turns, such as `[/INST]`, `### Response:` or `USER:`, by
 * rendering a small chat. Special tokens are excluded, and so are plain words, which mark a turn only next to
 * such tokens.
 */
export function findTurnMarkers(
  template: JinjaTemplate,
  variables: Readonly<Record<string, unknown>>,
  specialTokens: readonly string[],
): TurnMarkers {
  for (const messages of CHATS) {
    try {
      const text = template.render({ messages, tools: null, ...variables });
      return markersOf(text.split(PLACEHOLDER).slice(1, -1), specialTokens);
    } catch {
      // Some templates reject a system message, so the next chat has none.
    }
  }
  return NONE;
}

function markersOf(separators: readonly string[], specialTokens: readonly string[]): TurnMarkers {
  const words = specialTokens.reduce((text, token) => text.replaceAll(token, "\n"), separators.join("\n"));
  const markers = words.split("\n").map((word) => word.trim()).filter((word) =>
    /[^\p{L}\p{N}\s]/u.test(word)
  );
  const speakers = markers.filter((word) => SPEAKER.test(word));
  return {
    controls: markers.filter((word) => !speakers.includes(word)),
    speakers: speakers.map((word) => word.slice(0, -1).trim()),
  };
}

const SPEAKER = /^[\p{L}\p{N}][\p{L}\p{N} _-]*:$/u;
