import { copyPlainData } from "../../episode_checkpoint.ts";
import { ArgumentTypeError } from "../../errors.ts";
import type { Tool } from "../tool.ts";
import { type BlockTools, CodeTools, type CodeToolsOptions } from "./code_tools.ts";
import type { CodeToolSpec } from "./python_names.ts";
import { type SharedTools, type ToolGroup, toolsByCaller } from "./shared_tools.ts";

/** Gives tools when an episode starts, as `McpClients` does. */
export interface ToolSource {
  /** Returns the tools. */
  tools(signal?: AbortSignal): Promise<Tool[]>;
}

/** Options of {@linkcode EpisodeTools}. */
export interface EpisodeToolsOptions extends CodeToolsOptions {
  readonly tools?: Iterable<Tool> | undefined;
  readonly source?: ToolSource | undefined;
}

/** The tools that the code of an episode calls: own tools, tools of a source, and tools that other transforms share. */
export class EpisodeTools {
  readonly #options: EpisodeToolsOptions;
  readonly #own: readonly Tool[];
  #sourced: readonly Tool[] = [];
  #state: Record<string, unknown> = {};
  /** What the tools of the last block were made of, as most blocks have the same. */
  #known: { readonly tools: readonly Tool[]; readonly code: CodeTools };

  /**
   * @throws {TypeError} if two tools have the same name, a tool cannot be described, or the model may call a tool too.
   * @throws {RangeError} if a limit is out of range.
   */
  constructor(options: EpisodeToolsOptions) {
    this.#options = { ...options, tools: [...options.tools ?? []] };
    this.#own = requireCodeOnly([...options.tools ?? []]);
    this.#known = { tools: this.#own, code: new CodeTools(this.#own, options) };
  }

  /** Starts an episode. Returns the tools, as a model may be told of them. */
  async reset(shared: SharedTools | undefined, signal?: AbortSignal): Promise<readonly CodeToolSpec[]> {
    this.#state = {};
    this.#sourced = await this.#options.source?.tools(signal) ?? [];
    return this.#codeTools(shared?.groups ?? []).specs;
  }

  /** Returns the tools of a block. */
  forBlock(idPrefix: string, shared: SharedTools | undefined): BlockTools {
    const groups = shared?.groups ?? [];
    const code = this.#codeTools(groups);
    const stateOf = (name: string) =>
      groups.find(({ tools }) => tools.some((tool) => tool.name === name))?.state ?? this.#state;
    return code.forBlock({ idPrefix, stateOf });
  }

  /**
   * Returns a function that copies the tools with what they keep of the episode.
   *
   * @throws {CheckpointError} if the state of the tools is not plain data.
   */
  checkpoint(): () => EpisodeTools {
    const state = copyPlainData(this.#state, "the state of tools");
    return () => {
      const copy = new EpisodeTools(this.#options);
      copy.#sourced = this.#sourced;
      copy.#state = structuredClone(state);
      return copy;
    };
  }

  #codeTools(groups: readonly ToolGroup[]): CodeTools {
    const tools = [...this.#own, ...this.#sourced, ...groups.flatMap((group) => group.tools)];
    const isKnown = tools.length === this.#known.tools.length &&
      tools.every((tool, at) => tool === this.#known.tools[at]);
    if (!isKnown) this.#known = { tools, code: new CodeTools(tools, this.#options) };
    return this.#known.code;
  }
}

function requireCodeOnly(tools: readonly Tool[]): readonly Tool[] {
  const [other] = toolsByCaller(tools, ["code"]).ofModel;
  if (other === undefined) return tools;
  throw new ArgumentTypeError(
    `Cannot grant tool '${other.name}' to code as its 'allowedCallers' must be ["code"] here: a tool that the model calls, ` +
      "too, is given to ToolTransform",
  );
}
