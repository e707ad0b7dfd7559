import type { Trajectory } from "../rollout/trajectory.ts";
import { escapeLine } from "./printable.ts";

/** So many episodes in a row are no bad luck. */
const MANY = 8;

/** Sees when a run has begun with nothing but failures of one sort: no server there, or one that refuses all. */
export class StartupFailureWarning {
  #seen = 0;
  #over = false;

  /** Takes note of an episode and gives a warning, once, when it is called for. */
  add({ error }: Trajectory): string | undefined {
    if (this.#over) return undefined;
    const isVain = error?.fault === "unreachable" || error?.fault === "refused";
    this.#over = !isVain || ++this.#seen >= MANY;
    if (!isVain || !this.#over) return undefined;
    return `warning: the first ${MANY} episodes all failed: ${
      escapeLine(error.message)
    }. Ctrl-C ends the run.\n`;
  }
}
