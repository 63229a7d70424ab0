/** `fact`: neither good nor bad. `note`: worth knowing. `warning`: works, but maybe not as intended. `broken`: something does not work until it is repaired. */
export type Level = 'ok' | 'fact' | 'note' | 'warning' | 'broken';

/** What the doctor says about one thing. */
export interface Finding {
  level: Level;
  /** Names the thing; contains no secret. */
  text: string;
  /** What to do about it. */
  cure?: string;
}

/** The findings about one part of an installation. */
export interface Section {
  title: string;
  findings: Finding[];
}
