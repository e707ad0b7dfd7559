import { Command, Option } from "commander";
import { isIntact } from "../../sandbox/image/package_store.ts";
import { normalizeName, type PackageFile } from "../../sandbox/profile/packages.ts";
import { EXIT, runCommand } from "../run_command.ts";
import { UsageError } from "../cli_errors.ts";
import { currentIo } from "../io.ts";
import { toSinkText, writeText } from "../output.ts";
import { cacheDirectory, flagsOf, profileOption, type SandboxFlags } from "../sandbox_options.ts";
import { removeRequirements, whyLines } from "./graph.ts";
import { checkPackages, downloadPackages, resolvePackages } from "./install.ts";
import { type EditableProfile, readEditableProfile, writePackages } from "./profile_file.ts";
import { requirementName } from "./requirement.ts";
import { createInstallation, type SourceFlags } from "./sources.ts";

type PackageFlags = SandboxFlags & SourceFlags;

const NOTES = `
Examples:
  paddock packages add msgspec 'pydantic>=2'
  paddock packages add numpy --pyodide-url https://mirror.example/pyodide/
  paddock packages why typing-extensions
  paddock packages remove msgspec

The profile is the user's own copy of a shipped profile, in the folder paddock of the user's configuration, or a file.
Every command with the same --profile uses it. pip, or uv, chooses and downloads with its own configuration; without
both, --index names a package index.

Exit codes: 0 ok, 2 wrong usage, or packages that cannot be resolved or downloaded, 130 interrupted.`;

/** Returns the command `packages`, which changes and shows the packages of a profile. */
export function packagesCommand(): Command {
  const command = new Command("packages")
    .description("Add, show and remove the Python packages of a profile")
    .addHelpText("after", NOTES);
  command.addCommand(
    withSources(subcommand("add", "add packages with all that they need, and download them"))
      .argument("<requirements...>", "names with optional versions, such as msgspec==0.22.0")
      .action((requirements: string[], _: object, self: Command) =>
        runCommand((signal) => runAdd(requirements, flagsOf(self), signal))
      ),
  );
  command.addCommand(
    subcommand("remove", "remove packages, and those that only they need")
      .argument("<names...>", "names of packages")
      .action((names: string[], _: object, self: Command) =>
        runCommand(() => runRemove(names, flagsOf(self)))
      ),
  );
  command.addCommand(
    subcommand("list", "print the packages of the profile")
      .action((_: object, self: Command) => runCommand(() => runList(flagsOf(self)))),
  );
  command.addCommand(
    subcommand("why", "print which packages need a package")
      .argument("<name>", "name of a package")
      .action((name: string, _: object, self: Command) => runCommand(() => runWhy(name, flagsOf(self)))),
  );
  command.addCommand(
    withSources(
      subcommand("lock", "download what the profile lists and check it, so that it needs no network"),
    )
      .action((_: object, self: Command) => runCommand((signal) => runLock(flagsOf(self), signal))),
  );
  return command;
}

function subcommand(name: string, description: string): Command {
  return new Command(name).description(description).addOption(profileOption());
}

function withSources(command: Command): Command {
  return command
    .addOption(new Option("--index <url>", "package index in the form of PEP 503 (default: that of pip)"))
    .addOption(
      new Option(
        "--pyodide-url <url>",
        "address or folder of the files of Pyodide's distribution (default: $PADDOCK_PYODIDE_URL, " +
          "else the address that Pyodide's npm package states, after a prompt or with --yes)",
      ),
    );
}

async function runAdd(
  requirements: readonly string[],
  flags: PackageFlags,
  signal: AbortSignal,
): Promise<number> {
  const names = requirements.map(requirementName);
  const editable = await readEditableProfile(flags.profile);
  const before = storedPackages(editable);
  requireUnlisted(editable, names);
  const installation = createInstallation(flags, { cacheDir: cacheDirectory(flags.cacheDir), signal });
  const earlier = before.flatMap(({ stored }) => stored?.requirement ?? []);
  const pinned = before.filter(({ name }) => !names.includes(name));
  const after = await resolvePackages({ requirements: [...earlier, ...requirements], pinned }, installation);
  await downloadPackages(after, installation);
  await checkPackages([...after, ...listedPackages(editable)], installation.cacheDir);
  await writePackages(editable, after);
  await print([...changeLines(before, after), `Profile '${editable.name}' is ${editable.path}`]);
  return EXIT.ok;
}

async function runRemove(names: readonly string[], flags: PackageFlags): Promise<number> {
  const editable = await readEditableProfile(flags.profile);
  const before = storedPackages(editable);
  const after = removeRequirements(before, names.map(normalizeName), editable.name);
  await writePackages(editable, after);
  await print([...changeLines(before, after), `Profile '${editable.name}' is ${editable.path}`]);
  return EXIT.ok;
}

async function runList(flags: PackageFlags): Promise<number> {
  const { profile, name } = await readEditableProfile(flags.profile);
  if (profile.packages.length === 0) {
    await writeText(currentIo().stderr, `Profile '${name}' has no packages\n`);
  }
  const cacheDir = cacheDirectory(flags.cacheDir);
  const rows = await Promise.all(profile.packages.map((file) => listRow(file, cacheDir)));
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  await print(
    rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()),
  );
  return EXIT.ok;
}

async function listRow(
  { name, kind, path, sha256, stored }: PackageFile,
  cacheDir: string,
): Promise<string[]> {
  if (stored === undefined) return [name, "", kind, path];
  const missing = await isIntact(cacheDir, sha256) ? "" : " (not downloaded)";
  const reason = stored.requirement ?? `needed by ${stored.neededBy.join(", ")}`;
  return [name, stored.version, stored.source, `${reason}${missing}`];
}

async function runWhy(name: string, flags: PackageFlags): Promise<number> {
  const editable = await readEditableProfile(flags.profile);
  await print(whyLines(storedPackages(editable), normalizeName(name), editable.name));
  return EXIT.ok;
}

async function runLock(flags: PackageFlags, signal: AbortSignal): Promise<number> {
  const { profile, name } = await readEditableProfile(flags.profile);
  const installation = createInstallation(flags, { cacheDir: cacheDirectory(flags.cacheDir), signal });
  const fetched = await downloadPackages(profile.packages, installation);
  await checkPackages(profile.packages, installation.cacheDir);
  const total = profile.packages.length;
  await print([`Profile '${name}' has ${total} packages: ${fetched.length} downloaded, all hashes checked`]);
  return EXIT.ok;
}

function storedPackages({ profile }: EditableProfile): PackageFile[] {
  return profile.packages.filter(({ kind }) => kind === "stored");
}

/** Returns the packages that the user has listed with files of the host. */
function listedPackages({ profile }: EditableProfile): PackageFile[] {
  return profile.packages.filter(({ kind }) => kind !== "stored");
}

function requireUnlisted(editable: EditableProfile, names: readonly string[]): void {
  const listed = listedPackages(editable).find(({ name }) => names.includes(name));
  if (listed === undefined) return;
  throw new UsageError(
    `Cannot add '${listed.name}' as profile '${editable.name}' lists it with '${listed.kind}': remove that entry first`,
  );
}

/** Returns a line for each package that is new, gone or has another version. */
function changeLines(before: readonly PackageFile[], after: readonly PackageFile[]): string[] {
  const lineOf = ({ name, stored }: PackageFile) => `${name} ${stored?.version}`;
  const [old, now] = [new Set(before.map(lineOf)), new Set(after.map(lineOf))];
  return [
    ...[...old.difference(now)].map((line) => `- ${line}`),
    ...[...now.difference(old)].map((line) => `+ ${line}`),
  ];
}

async function print(lines: readonly string[]): Promise<void> {
  const { stdout } = currentIo();
  if (lines.length > 0) await writeText(stdout, toSinkText(stdout, `${lines.join("\n")}\n`));
}
