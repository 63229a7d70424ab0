import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { driveGateway, type DrivenGateway, type StartedScenario } from './drive-gateway.ts';

/** The suite starts a program for each scenario, fifty at a time: this one only tells the process of the test, where everything is loaded. */
const program = fileURLToPath(new URL('tell-driver.js', import.meta.url));

/** Until the test has ended. Gives the command for the suite. */
export async function startDriver(gateway: DrivenGateway): Promise<string> {
  const driver = createServer((request, response) => {
    void json(request)
      .then((scenario) => driveGateway(gateway, scenario as StartedScenario))
      .then(
        (happened) => response.end(happened),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
  });
  await new Promise<void>((resolve) => driver.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    driver.closeAllConnections();
    driver.close();
  });
  return `${process.execPath} ${program} http://127.0.0.1:${(driver.address() as AddressInfo).port}`;
}
