from tau_bench.envs.library_desk.env import LibraryDeskEnv as LibraryDeskEnv
