/** Returns the name of a profile as programs see it: without the host's path if the profile is a file. */
export function guestName(name: string): string {
  return name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1).replace(/\.jsonc?$/, "");
}
