import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';

/** The program that tests start: the sources, or their bundle in the project `bundle`. */
export const program = inject('bundle') ?? fileURLToPath(new URL('../../src/toolwharf.js', import.meta.url));
