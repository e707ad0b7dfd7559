import type { PackageFile } from "../../sandbox/profile/packages.ts";
import type { Profile } from "../../sandbox/profile/profile.ts";
import { isStored } from "../../sandbox/image/package_store.ts";
import { UsageError } from "../cli_errors.ts";
import { currentIo, type Io } from "../io.ts";
import { writeText } from "../output.ts";
import { downloadPackages, type Installation } from "./install.ts";

/**
 * Downloads the packages of a profile that are missing, after the user has agreed: in a prompt, or with `--yes`.
 *
 * @throws {UsageError} if the user does not agree, cannot be asked, or a file cannot be downloaded.
 */
export async function downloadAtFirstUse(
  profile: Profile,
  { isAgreed, ...installation }: Installation & { isAgreed: boolean },
): Promise<void> {
  const missing: PackageFile[] = [];
  for (const file of profile.packages) {
    if (file.kind === "stored" && !await isStored(installation.cacheDir, file.sha256)) missing.push(file);
  }
  if (missing.length === 0) return;
  const names = missing.map(({ name, stored }) => `${name} ${stored?.version}`).join(", ");
  const count = missing.length === 1 ? "a package that is" : `${missing.length} packages that are`;
  if (
    !isAgreed && !await confirmDownload(`Profile '${profile.name}' needs ${count} not downloaded: ${names}\n`)
  ) {
    throw new UsageError(
      `Cannot use profile '${profile.name}' as it needs ${count} not downloaded: ${names}; add --yes, or run ` +
        `'paddock packages lock --profile ${profile.name}'`,
    );
  }
  const { offerDistribution } = installation;
  await downloadPackages(missing, {
    ...installation,
    offerDistribution: (names) =>
      offerDistribution?.(names, { isAgreed: true }) ?? Promise.resolve(undefined),
  });
}

/** Returns true if the user at the terminal agrees. Without a terminal the answer is no. */
export async function confirmDownload(text: string, io: Io = currentIo()): Promise<boolean> {
  if (!io.stdin.isTerminal() || !io.stderr.isTerminal()) return false;
  await writeText(io.stderr, `${text}Download? [y/N] `);
  const reader = io.stdin.readable.getReader();
  try {
    const { value } = await reader.read(); // a terminal gives a whole line
    return /^\s*y(es)?\s*$/i.test(new TextDecoder().decode(value));
  } finally {
    reader.releaseLock();
  }
}
