import type { Preload } from "../../../sandbox/profile/profile.ts";
import editor from "./guest/editor.py" with { type: "text" };
import lint from "./guest/lint.py" with { type: "text" };
import main from "./guest/main.py" with { type: "text" };
import search from "./guest/search.py" with { type: "text" };
import textFile from "./guest/text_file.py" with { type: "text" };

/** Python module behind the agent's commands. Every session of a workspace has it imported. */
export const COMMANDS_PRELOAD: Preload = {
  module: "paddock_commands",
  source: [lint, textFile, editor, search, main].join("\n\n"),
  ignoresMounts: true,
};
