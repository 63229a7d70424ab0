import type { ConsolePage } from './shell/page.ts';

/** Every page, in the order of the navigation. A page joins with an entry here. */
export const pages: readonly ConsolePage[] = [
  {
    path: '/',
    routes: ['/', '/console/chats/:id'],
    title: 'Chat',
    icon: 'chat',
    group: 'use',
    load: async () => ({ Page: (await import('./pages/chat/chat-page.tsx')).ChatPage }),
  },
];
