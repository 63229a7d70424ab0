import { createMemoryRuns } from '../../src/storage/memory-runs.ts';
import { describeRunStore } from './run-store-contract.ts';

describeRunStore('memory', createMemoryRuns);
