/** The values of an option that may be given several times. */
export function collectValues(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value];
}
