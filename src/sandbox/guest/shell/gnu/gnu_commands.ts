import { type GnuCommand, UsageError } from "./command.ts";
import type { GnuName } from "./gnu_names.ts";
import { bc } from "./data/bc.ts";
import { cat, tee } from "./text/cat.ts";
import { date } from "./date.ts";
import { cmp, diff } from "./text/diff/diff.ts";
import { env } from "./env.ts";
import { expr } from "./expr.ts";
import { cp, mv } from "./files/copy.ts";
import { ln, mkdir, mktemp, rmdir, touch } from "./files/create.ts";
import { du } from "./files/du.ts";
import { find } from "./files/find.ts";
import { egrep, fgrep, grep } from "./text/grep.ts";
import { head, tail } from "./text/head_tail.ts";
import { ls } from "./files/ls.ts";
import { sed } from "./text/sed.ts";
import { sort, uniq } from "./text/sort.ts";
import { chmod } from "./files/mode.ts";
import { rm } from "./files/remove.ts";
import { basename, dirname, readlink, realpath } from "./files/resolve.ts";
import { stat } from "./files/stat.ts";
import { tree } from "./files/tree.ts";
import { seq } from "./seq.ts";
import { column } from "./text/column.ts";
import { cut } from "./text/cut.ts";
import { fold } from "./text/fold.ts";
import { comm, join } from "./text/join.ts";
import { nl, tac } from "./text/lines.ts";
import { tr } from "./text/tr.ts";
import { nohup } from "./wrappers.ts";
import { nproc, paste, wc } from "./text/paste_wc.ts";
import { patch } from "./text/patch.ts";
import { xargs } from "./xargs.ts";

/**
 * The module of most commands. A session loads it when it runs the first of them.
 */
export { formatPrintf } from "./printf.ts";

/** Nested expressions of `find`, which are read by recursion on the thread's stack. */
const MAX_FIND_DEPTH = 1000;

/** The commands by name. */
export const GNU_COMMANDS: Readonly<Record<GnuName, GnuCommand>> = {
  bc,
  cat,
  cmp,
  date,
  diff,
  egrep,
  fgrep,
  grep,
  find: (args, context) => {
    if (args.filter((word) => word === "(" || word === "!" || word === "-not").length <= MAX_FIND_DEPTH) {
      return find(args, context);
    }
    throw new UsageError(`more than ${MAX_FIND_DEPTH} nested expressions`, { hasHint: false });
  },
  basename,
  chmod,
  column,
  comm,
  cp,
  cut,
  dirname,
  du,
  env,
  expr,
  fold,
  join,
  ln,
  mkdir,
  mktemp,
  mv,
  nl,
  nohup,
  readlink,
  realpath,
  rm,
  rmdir,
  seq,
  tac,
  touch,
  tr,
  tree,
  head,
  ls,
  nproc,
  paste,
  patch,
  sed,
  sort,
  stat,
  tail,
  tee,
  uniq,
  wc,
  xargs,
};
