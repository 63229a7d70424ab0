import { call } from './request.ts';

/** Opens the page on which this person gives a tool server a credential, in a tab of its own. @throws ApiError */
export async function openConnectPage(server: string): Promise<void> {
  // Opened at once: after the answer a browser would take it for an advertisement.
  const tab = globalThis.open('', '_blank');
  try {
    const { url } = await call('POST /api/credentials/:server/connect', { params: { server } });
    if (tab === null) location.assign(url);
    else tab.location.replace(url);
  } catch (error) {
    tab?.close();
    throw error;
  }
}
