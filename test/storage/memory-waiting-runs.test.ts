import { createMemoryWaitingRuns } from '../../src/storage/memory-waiting-runs.ts';
import { describeWaitingRunStore } from './waiting-run-contract.ts';

describeWaitingRunStore('memory', createMemoryWaitingRuns);
