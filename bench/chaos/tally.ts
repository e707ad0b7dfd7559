/** What became of the requests of a server whose sandboxes are being killed. */
export class Tally {
  /** Answered as if nothing had been. */
  right = 0;
  /** Told that their sandbox was lost. */
  honest = 0;
  /** What was said to those who were told anything else. */
  readonly wrong: string[] = [];

  get all(): number {
    return this.right + this.honest + this.wrong.length;
  }
}
