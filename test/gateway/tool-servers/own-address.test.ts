import { expect, it, onTestFinished } from 'vitest';
import { listen, testApp } from '../../_support/build-app.ts';

it('says of the API of a gateway that it is none of a tool server, and where its functions are', async () => {
  const app = await testApp({ TOOLWHARF_ADMIN_KEY: 'sk-tw-administrator' }, { backends: [] });
  onTestFinished(() => app.close());
  const url = await listen(app);
  const answer = await fetch(`${url}/api/tool-servers/verify`, {
    method: 'POST',
    headers: { 'x-api-key': 'sk-tw-administrator', 'content-type': 'application/json' },
    body: JSON.stringify({ url }),
  });
  const { warnings } = (await answer.json()) as { warnings: string[] };
  expect(warnings).toContainEqual(expect.stringMatching(/API of a toolwharf.*delete the connection.*\/api\/tools\/openapi\.json\.$/));
});
