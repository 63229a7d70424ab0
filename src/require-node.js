// For scripts that go on with the Node they were started with.
import { complaint, isNewEnough } from './needed-node.js';

if (!isNewEnough(process.versions.node)) {
  console.error(complaint);
  process.exit(1);
}
