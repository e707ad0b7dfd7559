import { refuse } from "../../store/git_error.ts";

/** What the next line of the graph shows. */
type LineKind = "commit" | "merge" | "collapse" | "padding";

/** A commit with the parents that the graph may show. */
export interface GraphCommit {
  readonly id: string;
  readonly parents: readonly string[];
}

const NONE = -1;
/** Signs of the edges to the parents of a merge: to the left, straight down, and to the right. */
const EDGES = ["/", "|", "\\"] as const;

/**
 * Draws the lines of history beside the text of commits, as `git log --graph` does. Each column is a line of history
 * that leads to a commit which has not been shown. A column takes two characters.
 */
export class HistoryGraph {
  #commit: GraphCommit = { id: "", parents: [] };
  /** Commits to which the columns lead before and behind the current commit. */
  #before: string[] = [];
  #after: string[] = [];
  /** Column that each character leads to, now and in the line before. */
  #targets: number[] = [];
  #oldTargets: number[] = [];
  #width = 0;
  #index = 0;
  #lastIndex = 0;
  /** Columns that the merge adds, and those that the commit before added. */
  #added = 0;
  #lastAdded = 0;
  /** Where the first parent of a merge is: 0 to the left of the commit, 1 below it. */
  #layout = NONE;
  #next: LineKind = "padding";
  #last: LineKind = "padding";

  /** Begins the next commit. */
  start(commit: GraphCommit): void {
    if (commit.parents.length > 2) refuse("--graph of a merge of more than two histories");
    this.#commit = commit;
    this.#lastIndex = this.#index;
    this.#lastAdded = this.#added;
    this.#before = this.#after;
    this.#after = [];
    this.#targets = [];
    this.#width = 0;
    this.#added = 0;
    for (const id of this.#columnsWithCommit()) {
      if (id === commit.id) this.#addParents(commit);
      else this.#addColumn(id, false);
    }
    this.#next = "commit";
  }

  /** Returns the line that separates the commit from the one before. */
  separator(): string {
    this.#last = "padding";
    return this.#padded(this.#before.map(() => "| ").join(""));
  }

  /** True if no line of the commit is left. */
  get isFinished(): boolean {
    return this.#next === "padding";
  }

  /** Returns the next line: the line of the commit, the lines of the edges, and then lines that only go on. */
  nextLine(): string {
    if (this.#next === "commit") return this.#padded(this.#commitLine());
    if (this.#next === "merge") return this.#padded(this.#mergeLine());
    if (this.#next === "collapse") return this.#padded(this.#collapseLine());
    return this.#padded(this.#after.map(() => "| ").join(""));
  }

  #padded(text: string): string {
    return text.padEnd(this.#width);
  }

  /** Returns the columns with the column of the commit, which is new unless a column leads to the commit. */
  #columnsWithCommit(): readonly string[] {
    const { id } = this.#commit;
    return this.#before.includes(id) ? this.#before : [...this.#before, id];
  }

  #addParents({ id, parents }: GraphCommit): void {
    this.#index = this.#columnsWithCommit().indexOf(id);
    this.#layout = NONE;
    for (const parent of parents) this.#addColumn(parent, true);
    if (parents.length === 0) this.#width += 2;
  }

  #addColumn(id: string, isParent: boolean): void {
    if (!this.#after.includes(id)) this.#after.push(id);
    const column = this.#after.indexOf(id);
    const { parents } = this.#commit;
    let at = this.#width;
    if (parents.length > 1 && isParent && this.#layout === NONE) {
      const distance = this.#index - column;
      const shift = distance > 1 ? 2 * distance - 3 : 1;
      this.#layout = distance > 0 ? 0 : 1;
      this.#added = parents.length + this.#layout - 2;
      at = this.#width + (this.#layout - 1) * shift;
      this.#width += 2 * this.#layout;
    } else if (this.#added > 0 && column === this.#targets[this.#width - 2]) {
      at = this.#width - 2;
      this.#added = -1;
    } else this.#width += 2;
    this.#targets[at] = column;
  }

  #target(at: number): number {
    return this.#targets[at] ?? NONE;
  }

  #isSettled(): boolean {
    return Array.from(this.#targets).every((target = NONE, at) =>
      target < 0 || target === Math.floor(at / 2)
    );
  }

  #enter(next: LineKind): void {
    this.#last = this.#next;
    this.#next = next;
  }

  #commitLine(): string {
    let line = "";
    let isBehind = false;
    for (const [at, id] of this.#columnsWithCommit().entries()) {
      if (id === this.#commit.id) {
        isBehind = true;
        line += "*";
      } else if (isBehind && this.#added > 1) line += "\\";
      else if (isBehind && this.#added === 1) {
        line += this.#last === "merge" && this.#lastAdded > 0 && this.#lastIndex < at ? "\\" : "|";
      } else if (
        this.#last === "collapse" && (this.#oldTargets[2 * at + 1] ?? NONE) === at &&
        this.#target(2 * at) < at
      ) line += "/";
      else line += "|";
      line += " ";
    }
    this.#enter(this.#commit.parents.length > 1 ? "merge" : this.#isSettled() ? "padding" : "collapse");
    return line;
  }

  #mergeLine(): string {
    let line = "";
    const { id: commit, parents } = this.#commit;
    let isBehind = false;
    let leadsToParent = false;
    for (const [at, id] of this.#columnsWithCommit().entries()) {
      if (id === commit) {
        isBehind = true;
        let edge = this.#layout;
        for (let parent = 0; parent < parents.length; parent++) {
          line += EDGES[edge] ?? "";
          if (edge < 2) edge++;
          else if (this.#added > 0 || parent < parents.length - 1) line += " ";
        }
        if (this.#added === 0) line += " ";
      } else if (isBehind) line += this.#added > 0 ? "\\ " : "| ";
      else {
        line += "|";
        if (this.#layout !== 0 || at !== this.#index - 1) line += leadsToParent ? "_" : " ";
      }
      if (id === parents[0]) leadsToParent = true;
    }
    this.#enter(this.#isSettled() ? "padding" : "collapse");
    return line;
  }

  /** Moves each line of history to the left, by one character or across the line beside it. */
  #collapseLine(): string {
    const old = Array.from(this.#targets, (target = NONE) => target);
    const targets: number[] = old.map(() => NONE);
    let [horizontal, horizontalTarget] = [NONE, NONE];
    const extend = (from: number, target: number, edge: number) => {
      if (horizontal !== NONE) return;
      horizontal = edge;
      horizontalTarget = target;
      for (let at = 2 * target + 3; at < from - 2; at += 2) targets[at] = target;
    };
    for (const [at, target] of old.entries()) {
      if (target < 0) continue;
      if (target * 2 === at) targets[at] = target;
      else if ((targets[at - 1] ?? NONE) < 0) {
        targets[at - 1] = target;
        extend(at, target, at);
      } else if (targets[at - 1] !== target) {
        targets[at - 2] = target;
        extend(at, target, at - 1);
      }
    }
    this.#oldTargets = [...targets];
    if (targets.at(-1) === NONE) targets.pop();
    this.#targets = targets;
    const text = this.#drawTargets(horizontal, horizontalTarget);
    this.#enter(this.#isSettled() ? "padding" : "collapse");
    return text;
  }

  #drawTargets(horizontal: number, horizontalTarget: number): string {
    let line = "";
    let hasHorizontal = false;
    for (const [at, target] of [...this.#targets].entries()) {
      if (target < 0) line += " ";
      else if (target * 2 === at) line += "|";
      else if (target === horizontalTarget && at !== horizontal - 1) {
        if (at !== target * 2 + 3) this.#targets[at] = NONE;
        hasHorizontal = true;
        line += "_";
      } else {
        if (hasHorizontal && at < horizontal) this.#targets[at] = NONE;
        line += "/";
      }
    }
    return line;
  }
}
