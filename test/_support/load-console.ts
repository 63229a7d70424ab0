/** What a browser gets of the console of a running gateway: the page, and every file that it or another file names. */
export interface LoadedConsole {
  page: { status: number; type: string | null };
  /** By name; the media type of each, or the status where it is not there. */
  files: Map<string, string>;
}

export async function loadConsole(url: string): Promise<LoadedConsole> {
  const response = await fetch(url, { headers: { accept: 'text/html' } });
  const files = new Map<string, string>();
  const follow = async (text: string): Promise<void> => {
    for (const [, name = ''] of text.matchAll(/["'`](?:(?:\.|\/?console\/assets)\/)?([\w-]+-[\w-]{8}\.\w+)["'`]/g)) {
      if (files.has(name)) continue;
      const file = await fetch(new URL(`/console/assets/${name}`, url));
      files.set(name, file.ok ? (file.headers.get('content-type') ?? '') : String(file.status));
      await follow(await file.text());
    }
  };
  const page = { status: response.status, type: response.headers.get('content-type') };
  await follow(await response.text());
  return { page, files };
}
