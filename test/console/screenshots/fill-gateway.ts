/** A gateway as it is after a month in use. */
export interface Filled {
  url: string;
  key: string;
  /** Moves the gateway's clock back. */
  setDaysAgo: (days: number) => void;
}

const people = ['Ada', 'Grace', 'Edsger', 'Barbara', 'Alan', 'Margaret', 'Donald', 'Radia', 'Niklaus', 'Frances', 'Tim', 'Anita'];
const days = 28;

/** Keys, people, presets, accounts to connect, and usage of a month. */
export async function fillGateway({ url, key, setDaysAgo }: Filled): Promise<void> {
  const send = async (route: string, body: object, headers: Record<string, string> = {}): Promise<Record<string, unknown>> => {
    const [method = '', path = ''] = route.split(' ', 2);
    const answer = await fetch(url + path, {
      method,
      headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(await answer.text());
    return (await answer.json()) as Record<string, unknown>;
  };
  const users = { from: 'header', name: 'x-openwebui-user-id', name_header: 'x-name', email_header: 'x-email' };
  const openWebUi = await send('POST /api/keys', {
    name: 'Open WebUI',
    role: 'user',
    users,
    limits: { requests_per_minute: 600, tokens_per_day: 200_000 },
    total_limits: { concurrent_runs: 40 },
  });
  const script = await send('POST /api/keys', {
    name: 'nightly reports',
    role: 'user',
    models: ['demo'],
    tools: ['server:time'],
    expires_at: '2099-12-31',
  });
  await send('POST /api/keys', { name: 'Ops team', role: 'admin' });
  await send('POST /api/presets', {
    id: 'clerk',
    name: 'Town clerk',
    base_model: 'demo',
    system: 'You are a clerk.',
    description: 'Answers questions about forms.',
  });
  await send('POST /api/presets', { id: 'translator', base_model: 'demo', tools: [], description: 'Translates, and calls nothing.' });
  const spec = {
    openapi: '3.1.0',
    info: { title: 'Mail', version: '1' },
    paths: { '/send': { post: { operationId: 'send', responses: {} } } },
  };
  for (const name of ['Mail', 'Calendar'])
    await send('POST /api/tool-servers', {
      id: name.toLowerCase(),
      url: 'http://127.0.0.1:9',
      spec,
      auth_type: 'bearer',
      per_user: true,
      info: { name },
    });
  await send('PUT /api/credentials/mail', { key: 'a key of my own' });
  for (let ago = days; ago >= 0; ago--) {
    setDaysAgo(ago);
    for (let index = 0; index < 1 + ((ago * 7) % 5); index++) {
      const name = people[(index * 5 + ago) % people.length] ?? '';
      const asks = ago % 7 < 2 ? { 'x-api-key': String(script['key']) } : personOf(name, String(openWebUi['key']));
      const content = index % 2 === 0 ? 'What time is it in Osaka?' : 'What can you do for me?';
      const model = index % 3 === 2 && !('x-api-key' in asks && ago % 7 < 2) ? 'clerk' : 'demo';
      await send('POST /v1/chat/completions', { model, messages: [{ role: 'user', content }] }, asks);
    }
  }
}

function personOf(name: string, key: string): Record<string, string> {
  const id = name.toLowerCase();
  return { 'x-api-key': key, 'x-openwebui-user-id': `${id}-5f1c`, 'x-name': name, 'x-email': `${id}@example.com` };
}
