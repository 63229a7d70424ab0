import { createMemoryRuns } from '../../src/registry/memory-runs.ts';
import { describeRunStore } from './run-store-contract.ts';

describeRunStore('memory', createMemoryRuns);
