import { newId } from '../app/app-context.ts';
import { buildApp } from '../app/build-app.ts';
import { readConfig } from '../app/config/config.ts';
import { startTaskServer } from '../demo/task-server.ts';
import { runDemonstration } from '../demo/print-runs.ts';
import { startTimeServer } from '../demo/time-server.ts';
import { openLogger } from '../observability/logger.ts';
import { createMemoryStores } from '../storage/open-stores.ts';

/** Demonstrates tool calls end to end in a terminal: starts its own servers on free ports and does some runs. Exit code 1 if one of them fails. */
export async function runDemo(): Promise<void> {
  const time = await startTimeServer({ host: '127.0.0.1', port: 0 });
  const taskServer = await startTaskServer();
  const config = readConfig({ TOOLWHARF_DEMO: 'true', DRAIN_TIMEOUT_MS: '1000' }, () => undefined);
  const stores = createMemoryStores({ secret: newId() });
  const app = await buildApp(config, { stores, logger: await openLogger({ level: 'error', format: 'pretty' }) });
  const gatewayUrl = await app.server.listen({ host: '127.0.0.1', port: 0 });
  try {
    const print = (line: string): void => void process.stdout.write(`${line}\n`);
    const useColor = process.stdout.isTTY;
    const isComplete = await runDemonstration({ gatewayUrl, timeServerUrl: time.url, taskServer, print, useColor });
    print(
      isComplete
        ? '\nEverything works. Start the gateway with: npm start'
        : '\nThe demonstration is incomplete: a tool call, a source or an answer is missing.',
    );
    if (!isComplete) process.exitCode = 1;
  } finally {
    await app.close();
    await stores.database.close();
    await Promise.all([time.close(), taskServer.close()]);
  }
}
