import type { ExecResult, MimeBundle } from "./contract/exec.ts";

/** An object that a program showed. */
export interface ShownBundle {
  readonly bundle: MimeBundle;
  /** True if it is the value of the program's last expression. */
  readonly isMain: boolean;
}

/** Returns what a program showed, in order. A value that has no other form than its repr is the last one. */
export function shownBundlesOf(result: ExecResult): ShownBundle[] {
  const { display = [] } = result;
  const value = result.status === "ok" ? result.value : undefined;
  if (value === undefined) return display.map((bundle) => ({ bundle, isMain: false }));
  const main = display.findLastIndex((bundle) => !("text/plain" in bundle));
  const shown = display.map((bundle, index) => ({
    bundle: index === main ? { "text/plain": value, ...bundle } : bundle,
    isMain: index === main,
  }));
  return main >= 0 ? shown : [...shown, { bundle: { "text/plain": value }, isMain: true }];
}

/** Returns the approximate length of what a program showed as JSON, in characters. */
export function displayCharacters({ display = [] }: Pick<ExecResult, "display">): number {
  const forms = display.flatMap((bundle) => Object.values(bundle));
  return forms.reduce<number>((sum, form) => {
    return sum + (typeof form === "string" ? form.length : JSON.stringify(form).length);
  }, 0);
}
