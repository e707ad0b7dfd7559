import type { JinjaTemplate } from "./jinja_template.ts";

/** The words between turns that are no special tokens. */
export interface TurnMarkers {
  /** Marked by more than letters: they open or close a turn wherever they stand. */
  readonly controls: readonly string[];
  /** Words that stand before a colon. */
  readonly speakers: readonly string[];
}

const SAID = "\ue000";
const TALK = ["user", "assistant", "user"].map((role) => ({ role, content: SAID }));
const CHATS = [[{ role: "system", content: SAID }, ...TALK], TALK];
const NONE: TurnMarkers = { controls: [], speakers: [] };

/**
 * Finds what a template writes between turns, by letting it write a few: `[/INST]`, `### Response:`, `USER:`.
 * Special tokens are not among them, nor bare words, which mean something only next to such tokens.
 */
export function turnMarkers(
  template: JinjaTemplate,
  variables: Readonly<Record<string, unknown>>,
  specialTokens: readonly string[],
): TurnMarkers {
  for (const messages of CHATS) {
    try {
      const text = template.render({ messages, tools: null, ...variables });
      return markersOf(text.split(SAID).slice(1, -1), specialTokens);
    } catch {
      // some templates have no place for a system's message: they are asked without one
    }
  }
  return NONE;
}

function markersOf(separators: readonly string[], specialTokens: readonly string[]): TurnMarkers {
  const words = specialTokens.reduce((text, token) => text.replaceAll(token, "\n"), separators.join("\n"));
  const marked = words.split("\n").map((word) => word.trim()).filter((word) => /[^\p{L}\p{N}\s]/u.test(word));
  const spoken = marked.filter((word) => SPEAKER.test(word));
  return {
    controls: marked.filter((word) => !spoken.includes(word)),
    speakers: spoken.map((word) => word.slice(0, -1).trim()),
  };
}

const SPEAKER = /^[\p{L}\p{N}][\p{L}\p{N} _-]*:$/u;
