import { mayAdminister } from '../../api/access.ts';
import { useQuery } from '../../api/use-query.ts';
import { pages } from '../../pages.ts';
import type { IconName } from '../../parts/icon.tsx';
import { savedChats } from '../../pages/chat/state/saved-chats.ts';

export interface Entry {
  kind: 'Page' | 'Chat' | 'Model' | 'Tool server' | 'Function';
  name: string;
  path: string;
  icon: IconName;
}

/** Further matches are found by more words. */
const maxShown = 50;

/** Everything that can be opened, in the order in which it is listed. */
export function usePaletteEntries(): readonly Entry[] {
  const isAdministrator = mayAdminister.value === true;
  const models = useQuery('GET /api/models', { isCached: true }).data?.data ?? [];
  const tools = useQuery('GET /api/tools', { isCached: true }).data?.data ?? [];
  const servers = [...new Set(isAdministrator ? tools.flatMap(({ server }) => (typeof server === 'string' ? [server] : [])) : [])];
  return [
    { kind: 'Page', name: 'New chat', path: '/', icon: 'add' },
    ...savedChats.value.map(({ id, title }): Entry => ({ kind: 'Chat', name: title, path: `/console/chats/${id}`, icon: 'chat' })),
    ...pages
      .filter(({ path, isForAdministrators }) => path !== '/' && (isForAdministrators !== true || isAdministrator))
      .map(({ title, path, icon }): Entry => ({ kind: 'Page', name: title, path, icon })),
    ...models.map(({ id, name }): Entry => ({ kind: 'Model', name, path: `/?model=${encodeURIComponent(id)}`, icon: 'preset' })),
    ...servers.map((server): Entry => ({ kind: 'Tool server', name: server, path: serverPath(server), icon: 'plug' })),
    ...(isAdministrator ? tools : []).flatMap(({ name, server }): Entry[] =>
      typeof server === 'string' ? [{ kind: 'Function', name, path: serverPath(server), icon: 'tool' }] : [],
    ),
  ];
}

function serverPath(server: string): string {
  return `/console/tool-servers/${encodeURIComponent(server)}`;
}

/** The entries whose names contain all of these words. Names that begin with the first word come first. */
export function findEntries(entries: readonly Entry[], search: string): readonly Entry[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const [first = ''] = words;
  const isFirst = ({ name }: Entry): boolean => first !== '' && name.toLowerCase().startsWith(first);
  return entries
    .filter(({ name, kind }) => words.every((word) => `${name} ${kind}`.toLowerCase().includes(word)))
    .toSorted((one, other) => Number(isFirst(other)) - Number(isFirst(one)))
    .slice(0, maxShown);
}
