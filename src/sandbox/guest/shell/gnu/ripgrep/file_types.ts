/** Globs of the types of `rg --type`. */
const FILE_TYPES: Readonly<Record<string, string>> = {
  asciidoc: "*.adoc, *.asc, *.asciidoc",
  asm: "*.S, *.asm, *.s",
  awk: "*.awk",
  bat: "*.bat",
  bazel: "*.BUILD, *.bazel, *.bazelrc, *.bzl, BUILD, WORKSPACE",
  c: "*.[chH], *.[chH].in, *.cats",
  clojure: "*.clj, *.cljc, *.cljs, *.cljx",
  cmake: "*.cmake, CMakeLists.txt",
  config: "*.cfg, *.conf, *.config, *.ini",
  cpp:
    "*.[ChH], *.[ChH].in, *.[ch]pp, *.[ch]pp.in, *.[ch]xx, *.[ch]xx.in, *.cc, *.cc.in, *.hh, *.hh.in, *.inl",
  cs: "*.cs",
  css: "*.css, *.scss",
  csv: "*.csv",
  cython: "*.pxd, *.pxi, *.pyx",
  dart: "*.dart",
  diff: "*.diff, *.patch",
  docker: "*Dockerfile*",
  elixir: "*.eex, *.ex, *.exs, *.heex, *.leex, *.livemd",
  erlang: "*.erl, *.hrl",
  fortran: "*.F, *.F77, *.F90, *.F95, *.f, *.f77, *.f90, *.f95, *.pfo",
  fsharp: "*.fs, *.fsi, *.fsx",
  go: "*.go",
  gradle: "*.gradle",
  graphql: "*.graphql, *.graphqls",
  groovy: "*.gradle, *.groovy",
  h: "*.h, *.hh, *.hpp",
  haskell: "*.c2hs, *.cpphs, *.hs, *.hsc, *.lhs",
  html: "*.ejs, *.htm, *.html",
  java: "*.java, *.jsp, *.jspx, *.properties",
  jl: "*.jl",
  js: "*.js, *.jsx, *.vue, *.cjs, *.mjs",
  json: "*.json, composer.lock",
  jsonl: "*.jsonl",
  julia: "*.jl",
  jupyter: "*.ipynb, *.jpynb",
  kotlin: "*.kt, *.kts",
  less: "*.less",
  license:
    "*[.-]LICEN[CS]E*, AGPL-*[0-9]*, APACHE-*[0-9]*, BSD-*[0-9]*, CC-BY-*, COPYING, COPYING[.-]*, COPYRIGHT, COPYRIGHT[.-]*, EULA, EULA[.-]*, GFDL-*[0-9]*, GNU-*[0-9]*, GPL-*[0-9]*, LGPL-*[0-9]*, LICEN[CS]E, LICEN[CS]E[.-]*, MIT-*[0-9]*, MPL-*[0-9]*, NOTICE, NOTICE[.-]*, OFL-*[0-9]*, PATENTS, PATENTS[.-]*, UNLICEN[CS]E, UNLICEN[CS]E[.-]*, agpl[.-]*, gpl[.-]*, lgpl[.-]*, licen[cs]e, licen[cs]e.*",
  lisp: "*.el, *.jl, *.lisp, *.lsp, *.sc, *.scm",
  log: "*.log",
  lua: "*.lua",
  make:
    "*.mak, *.mk, [Gg][Nn][Uu]makefile, [Gg][Nn][Uu]makefile.am, [Gg][Nn][Uu]makefile.in, [Mm]akefile, [Mm]akefile.am, [Mm]akefile.in",
  markdown: "*.markdown, *.md, *.mdown, *.mdwn, *.mdx, *.mkd, *.mkdn",
  matlab: "*.m",
  md: "*.markdown, *.md, *.mdown, *.mdwn, *.mdx, *.mkd, *.mkdn",
  mk: "mkfile",
  nim: "*.nim, *.nimf, *.nimble, *.nims",
  nix: "*.nix",
  objc: "*.h, *.m",
  ocaml: "*.ml, *.mli, *.mll, *.mly",
  org: "*.org, *.org_archive",
  pdf: "*.pdf",
  perl: "*.PL, *.perl, *.pl, *.plh, *.plx, *.pm, *.t",
  php: "*.php, *.php3, *.php4, *.php5, *.php7, *.php8, *.pht, *.phtml",
  protobuf: "*.proto",
  ps: "*.cdxml, *.ps1, *.ps1xml, *.psd1, *.psm1",
  py: "*.py",
  r: "*.R, *.Rmd, *.Rnw, *.r",
  readme: "*README, README*",
  rst: "*.rst",
  ruby: "*.gemspec, *.rb, *.rbw, .irbrc, Gemfile, Rakefile, config.ru",
  rust: "*.rs",
  sass: "*.sass, *.scss",
  scala: "*.sbt, *.scala",
  sh:
    "*.bash, *.bashrc, *.csh, *.cshrc, *.ksh, *.kshrc, *.sh, *.tcsh, *.zsh, .bash_login, .bash_logout, .bash_profile, .bashrc, .cshrc, .kshrc, .login, .logout, .profile, .tcshrc, .zlogin, .zlogout, .zprofile, .zshenv, .zshrc, bash_login, bash_logout, bash_profile, bashrc, profile, zlogin, zlogout, zprofile, zshenv, zshrc",
  sql: "*.psql, *.sql",
  svg: "*.svg",
  swift: "*.swift",
  systemd:
    "*.automount, *.conf, *.device, *.link, *.mount, *.path, *.scope, *.service, *.slice, *.socket, *.swap, *.target, *.timer",
  tcl: "*.tcl",
  tex: "*.bib, *.cls, *.dtx, *.ins, *.ltx, *.sty, *.tex",
  tf: "*.auto.tfvars, *.tf, *.tfrc, *.tfvars, terraform.rc",
  thrift: "*.thrift",
  toml: "*.toml, Cargo.lock",
  ts: "*.cts, *.mts, *.ts, *.tsx",
  txt: "*.txt",
  typescript: "*.cts, *.mts, *.ts, *.tsx",
  vim: "*.vim, .gvimrc, .vimrc, _gvimrc, _vimrc, gvimrc, vimrc",
  vue: "*.vue",
  xml: "*.dtd, *.rng, *.sch, *.xhtml, *.xjb, *.xml, *.xml.dist, *.xsd, *.xsl, *.xslt",
  yaml: "*.yaml, *.yml",
  zig: "*.zig",
  zsh: "*.zsh, .zlogin, .zlogout, .zprofile, .zshenv, .zshrc, zlogin, zlogout, zprofile, zshenv, zshrc",
};

/** The file types of a call, with the types of `--type-add`. */
export class FileTypes {
  readonly #globs = new Map(
    Object.entries(FILE_TYPES).map(([name, globs]) => [name, globs.split(", ")]),
  );

  /** Adds a glob, as `name:glob` or `name:include:other,other`. Returns false if the text is neither. */
  add(definition: string): boolean {
    const [name = "", middle, ...rest] = definition.split(":");
    if (!/^[\p{L}\p{N}]+$/u.test(name) || middle === undefined) return false;
    const others = middle === "include" ? rest.join(":").split(",") : undefined;
    const added = others ? others.flatMap((other) => this.globs(other) ?? []) : [[middle, ...rest].join(":")];
    if (added.length === 0) return false;
    this.#globs.set(name, [...this.#globs.get(name) ?? [], ...added]);
    return true;
  }

  clear(name: string): void {
    this.#globs.delete(name);
  }

  globs(name: string): readonly string[] | undefined {
    return this.#globs.get(name);
  }

  /** Returns the lines of `--type-list`. */
  lines(): string[] {
    return [...this.#globs].toSorted(([a], [b]) => a < b ? -1 : 1)
      .map(([name, globs]) => `${name}: ${globs.toSorted().join(", ")}`);
  }
}
