import { expect, it, onTestFinished } from 'vitest';
import { runDemonstration } from '../../src/demo/print-runs.ts';
import { startTaskServer } from '../../src/demo/task-server.ts';
import { startTimeServer } from '../../src/demo/time-server.ts';
import { listen, testApp } from '../_support/build-app.ts';

async function demonstrate(): Promise<{ isComplete: boolean; lines: string[] }> {
  const time = await startTimeServer({ host: '127.0.0.1', port: 0, now: () => Date.parse('2030-05-01T10:00:00Z') });
  const taskServer = await startTaskServer();
  const app = await testApp({ TOOLWHARF_DEMO: 'true', OLLAMA_BASE_URLS: 'http://127.0.0.1:1' });
  onTestFinished(async () => {
    await app.close();
    await Promise.all([time.close(), taskServer.close()]);
  });
  const lines: string[] = [];
  const isComplete = await runDemonstration({
    gatewayUrl: await listen(app),
    timeServerUrl: time.url,
    taskServer,
    print: (line) => void lines.push(...line.split('\n')),
    useColor: false,
  });
  return { isComplete, lines };
}

it('the demonstration asks without tools and with them, in each way, and fits a terminal', async () => {
  const { isComplete, lines } = await demonstrate();
  expect(isComplete).toBe(true);
  expect(lines.length).toBeLessThanOrEqual(60);
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  const text = lines.join('\n');
  // Read by one function and changed by another one, three times over.
  expect(text.match(/tool call {2}add_task \{"task":"Call the hotel"\}/g)).toHaveLength(3);
  expect(text.match(/source 1 {3}\{"formatted_time":"2030-05-01 12:00:00"\}/g)).toHaveLength(3);
  expect(text).toContain('task list  was empty before, and now has "Call the hotel"');
  expect(text).toMatch(/Without functions it can look\s.*\n.*nothing up and change nothing/);
  expect(text.match(/browser {4}sends POST/g)).toHaveLength(2);
  expect(text).toContain('2030-05-01 19:00:00');
  expect(text).not.toMatch(/error|undefined|failed/i);
});
