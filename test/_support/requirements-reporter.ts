import type { Reporter } from 'vitest/node';

const reporter: Reporter = {};
export default reporter;
