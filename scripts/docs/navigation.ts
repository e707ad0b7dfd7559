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
      page("Installation", "install"),
      page("Gallery", "gallery"),
    ],
  },
  {
    title: "Guides",
    pages: [
      page("Trainers", "trainers"),
      page("Train your own agent", "gateway"),
      page("Rollouts", "rollouts"),
      page("Chat templates", "templates"),
      page("Agents and MCP", "agents"),
      page("E2B", "e2b"),
      page("Environments", "envs"),
      page("MLGym's tasks", "mlgym"),
      page("Packages", "packages"),
      page("Profiles", "profiles"),
      page("Your own parts", "extend"),
      page("Your own parts in Python", "python_parts"),
      page("Library", "library"),
      page("Code mode", "code_mode"),
      page("Checkpoints", "checkpoints"),
      page("Command line", "cli"),
      page("Server", "server"),
      page("Cluster", "cluster"),
      page("Upgrades", "upgrades"),
      page("Edge", "edge"),
      page("Viewer", "viewer"),
      page("Python", "python"),
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
