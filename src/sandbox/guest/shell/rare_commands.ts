import { git } from "./git/git.ts";
import { awk } from "./gnu/awk/awk.ts";
import { base32, cksum, sum } from "./gnu/bytes/checksums.ts";
import { md5sum, sha1sum, sha256sum, sha384sum, sha512sum } from "./gnu/bytes/digests.ts";
import { hexdump, xxd } from "./gnu/bytes/hexdump.ts";
import { od } from "./gnu/bytes/od.ts";
import { type CommandContext, type GnuCommand, UsageError } from "./gnu/command.ts";
import { factor } from "./gnu/data/factor.ts";
import { numfmt } from "./gnu/data/numfmt.ts";
import { dd } from "./gnu/files/dd.ts";
import { df } from "./gnu/files/df.ts";
import { pgrep, pkill } from "./jobs/pgrep.ts";
import { ps } from "./jobs/ps.ts";
import { top } from "./jobs/top.ts";
import { csplit } from "./gnu/files/csplit.ts";
import { file } from "./gnu/files/file.ts";
import { chgrp, chown } from "./gnu/files/owner.ts";
import { split } from "./gnu/files/split.ts";
import { truncate } from "./gnu/files/truncate.ts";
import { rg } from "./gnu/ripgrep/ripgrep.ts";
import { fmt } from "./gnu/text/fmt.ts";
import { iconv } from "./gnu/text/iconv.ts";
import { less, more } from "./gnu/text/pager.ts";
import { shuf } from "./gnu/text/shuf.ts";
import { zegrep, zfgrep, zgrep, zless, zmore } from "./gnu/text/zgrep.ts";
import { arch, nice, setsid, stdbuf, tty } from "./gnu/wrappers.ts";
import { tsort } from "./gnu/text/tsort.ts";

const COMMANDS = {
  arch,
  awk,
  base32,
  chgrp,
  chown,
  cksum,
  csplit,
  dd,
  df,
  factor,
  file,
  fmt,
  gawk: awk,
  git,
  hexdump,
  iconv,
  less,
  md5sum,
  more,
  nawk: awk,
  nice,
  numfmt,
  od,
  pgrep,
  pkill,
  ps,
  rg,
  sha1sum,
  sha256sum,
  sha384sum,
  sha512sum,
  setsid,
  shuf,
  split,
  stdbuf,
  sum,
  top,
  truncate,
  tsort,
  tty,
  xxd,
  zegrep,
  zfgrep,
  zgrep,
  zless,
  zmore,
} as const satisfies Readonly<Record<string, GnuCommand>>;

/** Name of a command that is loaded when it is first run, so that a session without it starts as fast. */
export type RareCommand = keyof typeof COMMANDS;

/** The parts of a {@linkcode UsageError}, whose class this module and the shell's do not share. */
export type UsageFailure = Pick<UsageError, "message" | "exitCode" | "hasHint">;

/** Runs a command. Returns its exit code, or what is wrong with its arguments. */
export async function runRareCommand(
  name: RareCommand,
  args: readonly string[],
  context: CommandContext,
): Promise<number | UsageFailure> {
  try {
    const command: GnuCommand = COMMANDS[name];
    return await command(args, context);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const { message, exitCode, hasHint } = error;
    return { message, exitCode, hasHint };
  }
}
