import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { gatewayOf } from '../gateway/gateway.ts';

async function useAndClose(): Promise<WeakRef<object>> {
  const gateway = await gatewayOf({});
  await gateway.ask();
  await gateway.get('/metrics');
  await gateway.app.close();
  return new WeakRef(gateway.app.server);
}

it('a closed gateway is let go of', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const closed: WeakRef<object>[] = [];
  while (closed.length < 5) closed.push(await useAndClose());
  await turn();
  collectGarbage();
  // Of the last one, variables may still know.
  expect(closed.filter((server) => server.deref() !== undefined).length).toBeLessThanOrEqual(1);
});
