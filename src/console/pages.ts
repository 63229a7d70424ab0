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
  {
    path: '/console/tool-servers',
    routes: ['/console/tool-servers', '/console/tool-servers/:id'],
    title: 'Tool servers',
    icon: 'plug',
    group: 'use',
    load: async () => ({ Page: (await import('./pages/tool-servers/tool-servers-page.tsx')).ToolServersPage }),
  },
  {
    path: '/console/runs',
    routes: ['/console/runs', '/console/runs/:id'],
    title: 'Runs',
    icon: 'run',
    group: 'use',
    load: async () => ({ Page: (await import('./pages/runs/runs-page.tsx')).RunsPage }),
  },
  {
    path: '/console/accounts',
    title: 'Your accounts',
    icon: 'lock',
    group: 'use',
    load: async () => ({ Page: (await import('./pages/accounts/accounts-page.tsx')).AccountsPage }),
  },
  {
    path: '/console/presets',
    title: 'Presets',
    icon: 'preset',
    group: 'run',
    load: async () => ({ Page: (await import('./pages/presets/presets-page.tsx')).PresetsPage }),
  },
  {
    path: '/console/keys',
    title: 'Keys and people',
    icon: 'key',
    group: 'run',
    load: async () => ({ Page: (await import('./pages/keys/keys-page.tsx')).KeysPage }),
  },
  {
    path: '/console/usage',
    title: 'Usage',
    icon: 'chart',
    group: 'run',
    load: async () => ({ Page: (await import('./pages/usage/usage-page.tsx')).UsagePage }),
  },
  {
    path: '/console/health',
    title: 'Health',
    icon: 'health',
    group: 'run',
    load: async () => ({ Page: (await import('./pages/health/health-page.tsx')).HealthPage }),
  },
  {
    path: '/console/settings',
    title: 'Settings',
    icon: 'settings',
    group: 'run',
    load: async () => ({ Page: (await import('./pages/settings/settings-page.tsx')).SettingsPage }),
  },
];
