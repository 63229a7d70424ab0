import { call } from './request.ts';

/** Opens the page where this person connects to a tool server in a new tab. @throws ApiError */
export async function openConnectPage(server: string): Promise<void> {
  // Opened at once, because browsers block tabs that open later as pop-ups.
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
