// Written by `deno task guest-manifest`, which follows the imports of the files. Do not edit.
import assets from "../guest/assets.ts" with { type: "text" };
import build from "../guest/build.ts" with { type: "text" };
import callGuard from "../guest/call_guard.ts" with { type: "text" };
import channel from "../guest/channel.ts" with { type: "text" };
import fileTree from "../guest/checkpoint/file_tree.ts" with { type: "text" };
import guestCheckpoint from "../guest/checkpoint/guest_checkpoint.ts" with { type: "text" };
import heapDelta from "../guest/checkpoint/heap_delta.ts" with { type: "text" };
import monotonicClock from "../guest/checkpoint/monotonic_clock.ts" with { type: "text" };
import openFiles from "../guest/checkpoint/open_files.ts" with { type: "text" };
import parts from "../guest/checkpoint/parts.ts" with { type: "text" };
import denials from "../guest/denials.ts" with { type: "text" };
import devices from "../guest/devices.ts" with { type: "text" };
import entropy from "../guest/entropy.ts" with { type: "text" };
import errno from "../guest/errno.ts" with { type: "text" };
import bootId from "../guest/files/boot_id.ts" with { type: "text" };
import fileQuota from "../guest/files/file_quota.ts" with { type: "text" };
import fileSnapshot from "../guest/files/file_snapshot.ts" with { type: "text" };
import homeFiles from "../guest/files/home_files.ts" with { type: "text" };
import readOnlyFiles from "../guest/files/read_only_files.ts" with { type: "text" };
import workingFolder from "../guest/files/working_folder.ts" with { type: "text" };
import heapImage from "../guest/heap_image.ts" with { type: "text" };
import moduleUrls from "../guest/module_urls.ts" with { type: "text" };
import outbox from "../guest/outbox.ts" with { type: "text" };
import interpreter from "../guest/python/interpreter.ts" with { type: "text" };
import linker from "../guest/python/linker.ts" with { type: "text" };
import localTime from "../guest/python/local_time.ts" with { type: "text" };
import mainFunctions from "../guest/python/main_functions.ts" with { type: "text" };
import maxThreads from "../guest/python/max_threads.ts" with { type: "text" };
import moduleState from "../guest/python/module_state.ts" with { type: "text" };
import sideModule from "../guest/python/side_module.ts" with { type: "text" };
import signals from "../guest/python/signals.ts" with { type: "text" };
import stack from "../guest/python/stack.ts" with { type: "text" };
import threads from "../guest/python/threads.ts" with { type: "text" };
import realm from "../guest/realm.ts" with { type: "text" };
import rewind from "../guest/rewind.ts" with { type: "text" };
import ring from "../guest/ring.ts" with { type: "text" };
import session from "../guest/session.ts" with { type: "text" };
import builtin from "../guest/shell/builtins/builtin.ts" with { type: "text" };
import builtins from "../guest/shell/builtins/builtins.ts" with { type: "text" };
import controlFlow from "../guest/shell/builtins/control_flow.ts" with { type: "text" };
import declaredArrays from "../guest/shell/builtins/declared_arrays.ts" with { type: "text" };
import echo from "../guest/shell/builtins/echo.ts" with { type: "text" };
import enable from "../guest/shell/builtins/enable.ts" with { type: "text" };
import exec from "../guest/shell/builtins/exec.ts" with { type: "text" };
import functionText from "../guest/shell/builtins/function_text.ts" with { type: "text" };
import functions from "../guest/shell/builtins/functions.ts" with { type: "text" };
import hash from "../guest/shell/builtins/hash.ts" with { type: "text" };
import kill from "../guest/shell/builtins/kill.ts" with { type: "text" };
import limits from "../guest/shell/builtins/limits.ts" with { type: "text" };
import nodes from "../guest/shell/builtins/nodes.ts" with { type: "text" };
import readOptions from "../guest/shell/builtins/read_options.ts" with { type: "text" };
import rewrittenCommands from "../guest/shell/builtins/rewritten_commands.ts" with { type: "text" };
import select from "../guest/shell/builtins/select.ts" with { type: "text" };
import shellOptions from "../guest/shell/builtins/shell_options.ts" with { type: "text" };
import signalNames from "../guest/shell/builtins/signal_names.ts" with { type: "text" };
import test from "../guest/shell/builtins/test.ts" with { type: "text" };
import variables from "../guest/shell/builtins/variables.ts" with { type: "text" };
import clock from "../guest/shell/clock.ts" with { type: "text" };
import commands from "../guest/shell/commands.ts" with { type: "text" };
import consoleScripts from "../guest/shell/console_scripts.ts" with { type: "text" };
import engine from "../guest/shell/engine.ts" with { type: "text" };
import files from "../guest/shell/files.ts" with { type: "text" };
import add from "../guest/shell/git/commands/add.ts" with { type: "text" };
import apply from "../guest/shell/git/commands/apply.ts" with { type: "text" };
import branch from "../guest/shell/git/commands/branch.ts" with { type: "text" };
import checkout from "../guest/shell/git/commands/checkout.ts" with { type: "text" };
import clean from "../guest/shell/git/commands/clean.ts" with { type: "text" };
import commandWords from "../guest/shell/git/commands/command_words.ts" with { type: "text" };
import commit from "../guest/shell/git/commands/commit.ts" with { type: "text" };
import config from "../guest/shell/git/commands/config.ts" with { type: "text" };
import init from "../guest/shell/git/commands/init.ts" with { type: "text" };
import blame from "../guest/shell/git/commands/listing/blame.ts" with { type: "text" };
import dateText from "../guest/shell/git/commands/listing/date_text.ts" with { type: "text" };
import gitDiff from "../guest/shell/git/commands/listing/git_diff.ts" with { type: "text" };
import gitGrep from "../guest/shell/git/commands/listing/git_grep.ts" with { type: "text" };
import graph from "../guest/shell/git/commands/listing/graph.ts" with { type: "text" };
import log from "../guest/shell/git/commands/listing/log.ts" with { type: "text" };
import pretty from "../guest/shell/git/commands/listing/pretty.ts" with { type: "text" };
import status from "../guest/shell/git/commands/listing/status.ts" with { type: "text" };
import merge from "../guest/shell/git/commands/merge.ts" with { type: "text" };
import move from "../guest/shell/git/commands/move.ts" with { type: "text" };
import plumbing from "../guest/shell/git/commands/plumbing.ts" with { type: "text" };
import remote from "../guest/shell/git/commands/remote.ts" with { type: "text" };
import reset from "../guest/shell/git/commands/reset.ts" with { type: "text" };
import stash from "../guest/shell/git/commands/stash.ts" with { type: "text" };
import tag from "../guest/shell/git/commands/tag.ts" with { type: "text" };
import diffOptions from "../guest/shell/git/compare/diff_options.ts" with { type: "text" };
import filePairs from "../guest/shell/git/compare/file_pairs.ts" with { type: "text" };
import gitPatch from "../guest/shell/git/compare/git_patch.ts" with { type: "text" };
import lineChanges from "../guest/shell/git/compare/line_changes.ts" with { type: "text" };
import mergeTrees from "../guest/shell/git/compare/merge_trees.ts" with { type: "text" };
import names from "../guest/shell/git/compare/names.ts" with { type: "text" };
import patchOutput from "../guest/shell/git/compare/patch_output.ts" with { type: "text" };
import renames from "../guest/shell/git/compare/renames.ts" with { type: "text" };
import slideChanges from "../guest/shell/git/compare/slide_changes.ts" with { type: "text" };
import statOutput from "../guest/shell/git/compare/stat_output.ts" with { type: "text" };
import git from "../guest/shell/git/git.ts" with { type: "text" };
import commitObject from "../guest/shell/git/store/commit_object.ts" with { type: "text" };
import configFile from "../guest/shell/git/store/config_file.ts" with { type: "text" };
import gitError from "../guest/shell/git/store/git_error.ts" with { type: "text" };
import indexFile from "../guest/shell/git/store/index_file.ts" with { type: "text" };
import objectStore from "../guest/shell/git/store/object_store.ts" with { type: "text" };
import packFile from "../guest/shell/git/store/pack_file.ts" with { type: "text" };
import references from "../guest/shell/git/store/references.ts" with { type: "text" };
import repository from "../guest/shell/git/store/repository.ts" with { type: "text" };
import revisions from "../guest/shell/git/store/revisions.ts" with { type: "text" };
import sha1 from "../guest/shell/git/store/sha1.ts" with { type: "text" };
import treeObject from "../guest/shell/git/store/tree_object.ts" with { type: "text" };
import changes from "../guest/shell/git/worktree/changes.ts" with { type: "text" };
import ignoreRules from "../guest/shell/git/worktree/ignore_rules.ts" with { type: "text" };
import lineEnds from "../guest/shell/git/worktree/line_ends.ts" with { type: "text" };
import pathSpec from "../guest/shell/git/worktree/path_spec.ts" with { type: "text" };
import switchTree from "../guest/shell/git/worktree/switch_tree.ts" with { type: "text" };
import wildmatch from "../guest/shell/git/worktree/wildmatch.ts" with { type: "text" };
import workTree from "../guest/shell/git/worktree/work_tree.ts" with { type: "text" };
import awk from "../guest/shell/gnu/awk/awk.ts" with { type: "text" };
import builtinFunctions from "../guest/shell/gnu/awk/builtin_functions.ts" with { type: "text" };
import code from "../guest/shell/gnu/awk/code.ts" with { type: "text" };
import compile from "../guest/shell/gnu/awk/compile.ts" with { type: "text" };
import expressionParser from "../guest/shell/gnu/awk/expression_parser.ts" with { type: "text" };
import expressions from "../guest/shell/gnu/awk/expressions.ts" with { type: "text" };
import format from "../guest/shell/gnu/awk/format.ts" with { type: "text" };
import lexer from "../guest/shell/gnu/awk/lexer.ts" with { type: "text" };
import operators from "../guest/shell/gnu/awk/operators.ts" with { type: "text" };
import order from "../guest/shell/gnu/awk/order.ts" with { type: "text" };
import parser from "../guest/shell/gnu/awk/parser.ts" with { type: "text" };
import random from "../guest/shell/gnu/awk/random.ts" with { type: "text" };
import records from "../guest/shell/gnu/awk/records.ts" with { type: "text" };
import runtime from "../guest/shell/gnu/awk/runtime.ts" with { type: "text" };
import statements from "../guest/shell/gnu/awk/statements.ts" with { type: "text" };
import streams from "../guest/shell/gnu/awk/streams.ts" with { type: "text" };
import substitute from "../guest/shell/gnu/awk/substitute.ts" with { type: "text" };
import syntax from "../guest/shell/gnu/awk/syntax.ts" with { type: "text" };
import time from "../guest/shell/gnu/awk/time.ts" with { type: "text" };
import values from "../guest/shell/gnu/awk/values.ts" with { type: "text" };
import checksums from "../guest/shell/gnu/bytes/checksums.ts" with { type: "text" };
import digests from "../guest/shell/gnu/bytes/digests.ts" with { type: "text" };
import hexdump from "../guest/shell/gnu/bytes/hexdump.ts" with { type: "text" };
import hexdumpFormat from "../guest/shell/gnu/bytes/hexdump_format.ts" with { type: "text" };
import md5 from "../guest/shell/gnu/bytes/md5.ts" with { type: "text" };
import od from "../guest/shell/gnu/bytes/od.ts" with { type: "text" };
import command from "../guest/shell/gnu/command.ts" with { type: "text" };
import bc from "../guest/shell/gnu/data/bc.ts" with { type: "text" };
import bcSyntax from "../guest/shell/gnu/data/bc_syntax.ts" with { type: "text" };
import decimal from "../guest/shell/gnu/data/decimal.ts" with { type: "text" };
import decimalFunctions from "../guest/shell/gnu/data/decimal_functions.ts" with { type: "text" };
import factor from "../guest/shell/gnu/data/factor.ts" with { type: "text" };
import numfmt from "../guest/shell/gnu/data/numfmt.ts" with { type: "text" };
import date from "../guest/shell/gnu/date.ts" with { type: "text" };
import env from "../guest/shell/gnu/env.ts" with { type: "text" };
import expr from "../guest/shell/gnu/expr.ts" with { type: "text" };
import copy from "../guest/shell/gnu/files/copy.ts" with { type: "text" };
import create from "../guest/shell/gnu/files/create.ts" with { type: "text" };
import csplit from "../guest/shell/gnu/files/csplit.ts" with { type: "text" };
import dd from "../guest/shell/gnu/files/dd.ts" with { type: "text" };
import df from "../guest/shell/gnu/files/df.ts" with { type: "text" };
import du from "../guest/shell/gnu/files/du.ts" with { type: "text" };
import file from "../guest/shell/gnu/files/file.ts" with { type: "text" };
import fileFormat from "../guest/shell/gnu/files/file_format.ts" with { type: "text" };
import fileKinds from "../guest/shell/gnu/files/file_kinds.ts" with { type: "text" };
import find from "../guest/shell/gnu/files/find.ts" with { type: "text" };
import ls from "../guest/shell/gnu/files/ls.ts" with { type: "text" };
import mode from "../guest/shell/gnu/files/mode.ts" with { type: "text" };
import operands from "../guest/shell/gnu/files/operands.ts" with { type: "text" };
import owner from "../guest/shell/gnu/files/owner.ts" with { type: "text" };
import remove from "../guest/shell/gnu/files/remove.ts" with { type: "text" };
import resolve from "../guest/shell/gnu/files/resolve.ts" with { type: "text" };
import split from "../guest/shell/gnu/files/split.ts" with { type: "text" };
import stat from "../guest/shell/gnu/files/stat.ts" with { type: "text" };
import textEncoding from "../guest/shell/gnu/files/text_encoding.ts" with { type: "text" };
import tree from "../guest/shell/gnu/files/tree.ts" with { type: "text" };
import truncate from "../guest/shell/gnu/files/truncate.ts" with { type: "text" };
import glob from "../guest/shell/gnu/glob.ts" with { type: "text" };
import gnuCommands from "../guest/shell/gnu/gnu_commands.ts" with { type: "text" };
import gnuNames from "../guest/shell/gnu/gnu_names.ts" with { type: "text" };
import options from "../guest/shell/gnu/options.ts" with { type: "text" };
import printf from "../guest/shell/gnu/printf.ts" with { type: "text" };
import regularExpression from "../guest/shell/gnu/regular_expression.ts" with { type: "text" };
import candidates from "../guest/shell/gnu/ripgrep/candidates.ts" with { type: "text" };
import expression from "../guest/shell/gnu/ripgrep/expression.ts" with { type: "text" };
import fileTypes from "../guest/shell/gnu/ripgrep/file_types.ts" with { type: "text" };
import jsonOutput from "../guest/shell/gnu/ripgrep/json_output.ts" with { type: "text" };
import printer from "../guest/shell/gnu/ripgrep/printer.ts" with { type: "text" };
import ripgrep from "../guest/shell/gnu/ripgrep/ripgrep.ts" with { type: "text" };
import search from "../guest/shell/gnu/ripgrep/search.ts" with { type: "text" };
import settings from "../guest/shell/gnu/ripgrep/settings.ts" with { type: "text" };
import seq from "../guest/shell/gnu/seq.ts" with { type: "text" };
import cat from "../guest/shell/gnu/text/cat.ts" with { type: "text" };
import column from "../guest/shell/gnu/text/column.ts" with { type: "text" };
import cut from "../guest/shell/gnu/text/cut.ts" with { type: "text" };
import contextDiff from "../guest/shell/gnu/text/diff/context_diff.ts" with { type: "text" };
import diff from "../guest/shell/gnu/text/diff/diff.ts" with { type: "text" };
import lineFormats from "../guest/shell/gnu/text/diff/line_formats.ts" with { type: "text" };
import lineGroups from "../guest/shell/gnu/text/diff/line_groups.ts" with { type: "text" };
import sideBySide from "../guest/shell/gnu/text/diff/side_by_side.ts" with { type: "text" };
import unifiedDiff from "../guest/shell/gnu/text/diff/unified_diff.ts" with { type: "text" };
import fmt from "../guest/shell/gnu/text/fmt.ts" with { type: "text" };
import fold from "../guest/shell/gnu/text/fold.ts" with { type: "text" };
import grep from "../guest/shell/gnu/text/grep.ts" with { type: "text" };
import headTail from "../guest/shell/gnu/text/head_tail.ts" with { type: "text" };
import iconv from "../guest/shell/gnu/text/iconv.ts" with { type: "text" };
import join from "../guest/shell/gnu/text/join.ts" with { type: "text" };
import lines from "../guest/shell/gnu/text/lines.ts" with { type: "text" };
import pager from "../guest/shell/gnu/text/pager.ts" with { type: "text" };
import pasteWc from "../guest/shell/gnu/text/paste_wc.ts" with { type: "text" };
import patch from "../guest/shell/gnu/text/patch.ts" with { type: "text" };
import sed from "../guest/shell/gnu/text/sed.ts" with { type: "text" };
import shuf from "../guest/shell/gnu/text/shuf.ts" with { type: "text" };
import sort from "../guest/shell/gnu/text/sort.ts" with { type: "text" };
import tr from "../guest/shell/gnu/text/tr.ts" with { type: "text" };
import tsort from "../guest/shell/gnu/text/tsort.ts" with { type: "text" };
import zgrep from "../guest/shell/gnu/text/zgrep.ts" with { type: "text" };
import timeZone from "../guest/shell/gnu/time_zone.ts" with { type: "text" };
import wrappers from "../guest/shell/gnu/wrappers.ts" with { type: "text" };
import xargs from "../guest/shell/gnu/xargs.ts" with { type: "text" };
import backgroundJob from "../guest/shell/jobs/background_job.ts" with { type: "text" };
import coproc from "../guest/shell/jobs/coproc.ts" with { type: "text" };
import jobs from "../guest/shell/jobs/jobs.ts" with { type: "text" };
import pgrep from "../guest/shell/jobs/pgrep.ts" with { type: "text" };
import ps from "../guest/shell/jobs/ps.ts" with { type: "text" };
import top from "../guest/shell/jobs/top.ts" with { type: "text" };
import programs from "../guest/shell/programs.ts" with { type: "text" };
import coprocInput from "../guest/shell/programs/coproc_input.ts" with { type: "text" };
import engineCommand from "../guest/shell/programs/engine_command.ts" with { type: "text" };
import printfCommand from "../guest/shell/programs/printf_command.ts" with { type: "text" };
import refusedArguments from "../guest/shell/programs/refused_arguments.ts" with { type: "text" };
import shells from "../guest/shell/programs/shells.ts" with { type: "text" };
import substitutions from "../guest/shell/programs/substitutions.ts" with { type: "text" };
import system from "../guest/shell/programs/system.ts" with { type: "text" };
import timeout from "../guest/shell/programs/timeout.ts" with { type: "text" };
import umask from "../guest/shell/programs/umask.ts" with { type: "text" };
import rareCommands from "../guest/shell/rare_commands.ts" with { type: "text" };
import aliasLines from "../guest/shell/script/alias_lines.ts" with { type: "text" };
import aliasText from "../guest/shell/script/alias_text.ts" with { type: "text" };
import commandTrace from "../guest/shell/script/command_trace.ts" with { type: "text" };
import hashOrder from "../guest/shell/script/hash_order.ts" with { type: "text" };
import mergedStreams from "../guest/shell/script/merged_streams.ts" with { type: "text" };
import messageLines from "../guest/shell/script/message_lines.ts" with { type: "text" };
import outerDescriptors from "../guest/shell/script/outer_descriptors.ts" with { type: "text" };
import pathNames from "../guest/shell/script/path_names.ts" with { type: "text" };
import processState from "../guest/shell/script/process_state.ts" with { type: "text" };
import scriptEnd from "../guest/shell/script/script_end.ts" with { type: "text" };
import scriptScope from "../guest/shell/script/script_scope.ts" with { type: "text" };
import shortLived from "../guest/shell/script/short_lived.ts" with { type: "text" };
import scriptEngine from "../guest/shell/script_engine.ts" with { type: "text" };
import shell from "../guest/shell/shell.ts" with { type: "text" };
import shellCommand from "../guest/shell/shell_command.ts" with { type: "text" };
import shellImage from "../guest/shell/shell_image.ts" with { type: "text" };
import terminal from "../guest/shell/terminal.ts" with { type: "text" };
import traps from "../guest/shell/traps.ts" with { type: "text" };
import zlib from "../guest/shell/zlib.ts" with { type: "text" };
import stdin from "../guest/stdin.ts" with { type: "text" };
import allowedCalls from "../guest/supervisor/allowed_calls.ts" with { type: "text" };
import confine from "../guest/supervisor/confine.ts" with { type: "text" };
import supervisor from "../guest/supervisor/supervisor.ts" with { type: "text" };
import wallClock from "../guest/wall_clock.ts" with { type: "text" };
import worker from "../guest/worker.ts" with { type: "text" };
import workerLink from "../guest/worker_link.ts" with { type: "text" };
import protocol from "../protocol.ts" with { type: "text" };

/** Texts of the guest's files by name, each after those that it imports. */
export type GuestSources = Readonly<Record<string, string>>;

/** Files of the process that holds the workers. */
export const SUPERVISOR_FILES: GuestSources = {
  protocol,
  module_urls: moduleUrls,
  assets,
  allowed_calls: allowedCalls,
  confine,
  ring,
  outbox,
  worker_link: workerLink,
  supervisor,
};

/** Files of an interpreter's worker. */
export const WORKER_FILES: GuestSources = {
  realm,
  protocol,
  call_guard: callGuard,
  ring,
  read_only_files: readOnlyFiles,
  denials,
  side_module: sideModule,
  linker,
  local_time: localTime,
  main_functions: mainFunctions,
  stack,
  max_threads: maxThreads,
  signals,
  threads,
  heap_image: heapImage,
  heap_delta: heapDelta,
  wall_clock: wallClock,
  interpreter,
  build,
  outbox,
  channel,
  monotonic_clock: monotonicClock,
  home_files: homeFiles,
  stdin,
  devices,
  entropy,
  file_quota: fileQuota,
  working_folder: workingFolder,
  boot_id: bootId,
  parts,
  open_files: openFiles,
  file_snapshot: fileSnapshot,
  module_state: moduleState,
  rewind,
  file_tree: fileTree,
  guest_checkpoint: guestCheckpoint,
  errno,
  session,
  worker,
};

/** Files of the shell that the worker has not. */
export const SHELL_FILES: GuestSources = {
  command,
  git_error: gitError,
  pack_file: packFile,
  sha1,
  object_store: objectStore,
  tree_object: treeObject,
  glob,
  wildmatch,
  ignore_rules: ignoreRules,
  path_spec: pathSpec,
  file_pairs: filePairs,
  index_file: indexFile,
  line_ends: lineEnds,
  work_tree: workTree,
  options,
  regular_expression: regularExpression,
  commit_object: commitObject,
  revisions,
  command_words: commandWords,
  add,
  operands,
  unified_diff: unifiedDiff,
  names,
  slide_changes: slideChanges,
  line_changes: lineChanges,
  patch_output: patchOutput,
  git_patch: gitPatch,
  stat_output: statOutput,
  time_zone: timeZone,
  date,
  config_file: configFile,
  references,
  repository,
  apply,
  renames,
  changes,
  branch,
  switch_tree: switchTree,
  status,
  checkout,
  clean,
  date_text: dateText,
  commit,
  config,
  blame,
  diff_options: diffOptions,
  git_diff: gitDiff,
  move,
  grep,
  git_grep: gitGrep,
  init,
  graph,
  pretty,
  log,
  merge,
  plumbing,
  remote,
  reset,
  merge_trees: mergeTrees,
  stash,
  tag,
  git,
  code,
  syntax,
  values,
  operators,
  lexer,
  expressions,
  printf,
  format,
  random,
  records,
  streams,
  runtime,
  compile,
  order,
  substitute,
  time,
  builtin_functions: builtinFunctions,
  expression_parser: expressionParser,
  parser,
  statements,
  awk,
  checksums,
  md5,
  digests,
  od,
  hexdump_format: hexdumpFormat,
  hexdump,
  factor,
  numfmt,
  dd,
  df,
  system,
  ps,
  pgrep,
  top,
  csplit,
  text_encoding: textEncoding,
  file_kinds: fileKinds,
  file,
  file_format: fileFormat,
  owner,
  split,
  truncate,
  expression,
  candidates,
  json_output: jsonOutput,
  printer,
  search,
  file_types: fileTypes,
  settings,
  ripgrep,
  fmt,
  iconv,
  pager,
  shuf,
  zgrep,
  wrappers,
  tsort,
  rare_commands: rareCommands,
  clock,
  path_names: pathNames,
  files,
  builtin,
  control_flow: controlFlow,
  echo,
  enable,
  hash_order: hashOrder,
  hash,
  nodes,
  exec,
  function_text: functionText,
  functions,
  signal_names: signalNames,
  kill,
  limits,
  read_options: readOptions,
  shell_options: shellOptions,
  test,
  variables,
  select,
  alias_text: aliasText,
  script_end: scriptEnd,
  short_lived: shortLived,
  alias_lines: aliasLines,
  builtins,
  declared_arrays: declaredArrays,
  rewritten_commands: rewrittenCommands,
  shell_image: shellImage,
  process_state: processState,
  coproc,
  terminal,
  background_job: backgroundJob,
  jobs,
  console_scripts: consoleScripts,
  gnu_names: gnuNames,
  coproc_input: coprocInput,
  substitutions,
  engine_command: engineCommand,
  printf_command: printfCommand,
  refused_arguments: refusedArguments,
  shells,
  timeout,
  umask,
  decimal,
  bc_syntax: bcSyntax,
  decimal_functions: decimalFunctions,
  bc,
  cat,
  context_diff: contextDiff,
  line_groups: lineGroups,
  line_formats: lineFormats,
  side_by_side: sideBySide,
  diff,
  env,
  expr,
  resolve,
  copy,
  mode,
  create,
  du,
  find,
  head_tail: headTail,
  ls,
  sed,
  sort,
  remove,
  stat,
  tree,
  seq,
  column,
  cut,
  fold,
  join,
  lines,
  tr,
  paste_wc: pasteWc,
  patch,
  xargs,
  gnu_commands: gnuCommands,
  programs,
  command_trace: commandTrace,
  message_lines: messageLines,
  merged_streams: mergedStreams,
  outer_descriptors: outerDescriptors,
  script_scope: scriptScope,
  traps,
  script_engine: scriptEngine,
  shell_command: shellCommand,
  commands,
  shell,
};

/** Files that are bundled into the shell's engine. */
export const SHELL_ENGINE_FILES: GuestSources = {
  engine,
  zlib,
};
