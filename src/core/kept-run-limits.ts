/** The limits of the log of runs; a part of `limits`. */
export const keptRunLimits = {
  /** How long a run can be read after its end (`GET /api/runs`). */
  keptRunMs: 24 * 60 * 60 * 1000,
  /** Seven a minute for a day; beyond it the oldest go first, because the log must never crowd out what is registered. */
  keptRuns: 10_000,
  /** The same for their size, mostly results of tools: an eighth of the largest database. */
  keptRunsCharacters: 128 * 1024 * 1024,
  /** One text within an event of a kept run: enough to see what was asked and answered. The model reads the whole. */
  keptTextCharacters: 4_000,
  /** One event of a kept run, however many texts it has. */
  keptEventCharacters: 16_000,
  /** The events of one kept run: all rounds of an ordinary answer. */
  keptRunCharacters: 128 * 1024,
  keptRunEvents: 1_000,
  /** Reports of progress are many and say little; they must not displace results. */
  keptProgressEvents: 100,
  /** Names of functions told with one question; the start of the run has all that were on offer then. */
  keptFunctionNames: 32,
  /** Runs that wait for a store that cannot be written just now. */
  unsavedRuns: 5_000,
} as const;
