/** Page of the site. */
export interface Page {
  /** Name in the navigation. */
  readonly title: string;
  /** Path of its Markdown in the repository. A page without one is generated. */
  readonly source?: string;
  /** Path in the site, without `.html`. */
  readonly slug: string;
}

/** Part of the navigation. */
export interface Section {
  readonly title: string;
  readonly pages: readonly Page[];
}

function page(title: string, slug: string): Page {
  return { title, slug, source: `docs/${slug}.md` };
}

/** All pages of the site, in the order of its navigation. */
export const SECTIONS: readonly Section[] = [
  {
    title: "Start",
    pages: [
      page("Paddock", "index"),
      page("First steps", "start"),
      page("Your own data", "researchers"),
      page("Concepts", "concepts"),
      page("Choosing", "choosing"),
      page("Installation", "install"),
      page("Gallery", "gallery"),
    ],
  },
  {
    title: "Guides",
    pages: [
      page("Trainers", "trainers"),
      page("Rollouts", "rollouts"),
      page("Environments", "envs"),
      page("Agents and MCP", "agents"),
      page("Train your own agent", "gateway"),
      page("Server", "server"),
      page("Packages", "packages"),
    ],
  },
  {
    title: "Subjects",
    pages: [
      page("Profiles", "profiles"),
      page("Library", "library"),
      page("Command line", "cli"),
      page("Python", "python"),
      page("Code mode", "code_mode"),
      page("Checkpoints", "checkpoints"),
      page("Exact episodes", "exact"),
      page("Chat templates", "templates"),
      page("Your own parts", "extend"),
      page("Your own parts in Python", "python_parts"),
      page("E2B", "e2b"),
      page("MLGym's tasks", "mlgym"),
      page("Cluster", "cluster"),
      page("Edge", "edge"),
      page("Viewer", "viewer"),
      page("Upgrades", "upgrades"),
      page("Truth", "truth"),
    ],
  },
  {
    title: "Reference",
    pages: [
      { title: "Commands", slug: "reference/commands" },
      { title: "HTTP", slug: "reference/http" },
      { title: "Statuses, errors, limits", slug: "reference/facts" },
      { title: "TypeScript", slug: "reference/typescript" },
      { title: "Profile files", slug: "reference/profile" },
      { title: "Configuration file", slug: "reference/config" },
      { title: "Rows", slug: "reference/rows" },
    ],
  },
  {
    title: "Security",
    pages: [
      page("Security", "security"),
      page("Hardening", "hardening"),
      { title: "Reporting and promises", source: "SECURITY.md", slug: "security-policy" },
    ],
  },
  { title: "Benchmarks", pages: [page("Benchmarks", "benchmarks")] },
  {
    title: "Project",
    pages: [
      { title: "Contributing", source: "CONTRIBUTING.md", slug: "contributing" },
      page("Architecture", "architecture"),
      { title: "Tests", source: "tests/README.md", slug: "tests" },
      { title: "Changes", source: "CHANGELOG.md", slug: "changelog" },
    ],
  },
];
