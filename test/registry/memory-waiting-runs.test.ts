import { createMemoryWaitingRuns } from '../../src/registry/memory-waiting-runs.ts';
import { describeWaitingRunStore } from './waiting-run-contract.ts';

describeWaitingRunStore('memory', createMemoryWaitingRuns);
