import { effect, signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import { mayAdminister } from '../api/access.ts';
import { callerName } from '../api/caller.ts';
import { key, keyQuestion, saveKey, askForKey } from '../api/key.ts';
import { canSignIn, findSignIn, login, signOut } from '../api/login.ts';
import type { Login } from '../api/login.ts';
import { pages } from '../pages.ts';
import type { ConsolePage } from './page.ts';
import { RecentChats } from '../pages/chat/recent-chats.tsx';
import { waitingChats } from '../pages/chat/state/waiting-chats.ts';
import { confirm } from '../parts/confirm.ts';
import { Button } from '../parts/button.tsx';
import { Icon } from '../parts/icon.tsx';
import { showError } from '../parts/toasts.tsx';
import { readItem, writeItem } from '../storage/local-items.ts';
import { isMac, overlay } from './shortcuts.ts';
import { theme, themes } from './theme.ts';

export function Brand(): JSX.Element {
  return (
    <Link href="/" class="brand">
      <svg width="26" height="26" viewBox="0 0 32 32" aria-hidden="true">
        <rect width="32" height="32" rx="8" />
        <path d="M7 11.500h18M10.500 11.500v9M16 11.500v9M21.500 11.500v9M6.500 24.200c1.600 0 1.600-1.200 3.200-1.200s1.600 1.200 3.200 1.200 1.600-1.200 3.200-1.200 1.600 1.200 3.200 1.200 1.600-1.200 3.200-1.200 1.600 1.200 3.200 1.200" />
      </svg>
      toolwharf
    </Link>
  );
}

/** The content of the side bar and the drawer: chats first, and all other pages behind one entry. */
export function Navigation(): JSX.Element {
  const [current] = useLocation();
  return (
    <>
      <Brand />
      <WaitingChats />
      <Link href="/" class="page-link new-chat" aria-current={current === '/' ? 'page' : undefined}>
        <Icon name="add" />
        New chat
      </Link>
      <button type="button" class="page-link go-to" onClick={() => (overlay.value = 'palette')}>
        <Icon name="search" />
        Go to…
        <kbd>{isMac ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      <RecentChats />
      <Manage current={current} />
      <div class="side-end">
        <AccountButton />
        <ThemeButton />
      </div>
    </>
  );
}

/** All pages but the chats. It is open on these pages, and wherever a person has opened it. */
function Manage({ current }: { current: string }): JSX.Element {
  const isOther = current !== '/' && !current.startsWith('/console/chats/');
  const shown = pages.filter(
    ({ path, isForAdministrators }) => path !== '/' && (isForAdministrators !== true || mayAdminister.value !== false),
  );
  const groups = (['use', 'run'] as const).map((group) => shown.filter((page) => page.group === group));
  return (
    <details
      class="manage"
      open={isOther || isManageOpen.value}
      onToggle={({ currentTarget: { open } }) => {
        if (!isOther) isManageOpen.value = open;
      }}
    >
      <summary class="page-link">
        <Icon name="settings" />
        Manage
        <Icon name="down" size={15} />
      </summary>
      <nav aria-label="Pages">
        {groups.map((group, index) => (
          <ul key={index}>
            {group.map((page) => (
              <li key={page.path}>
                <PageLink page={page} current={current} />
              </li>
            ))}
          </ul>
        ))}
      </nav>
    </details>
  );
}

const manageItem = 'manage';
const isManageOpen = signal(readItem(manageItem) === 'open');
effect(() => writeItem(manageItem, isManageOpen.value ? 'open' : undefined));

/** Links to a chat that waits for input and is not visible. */
export function WaitingChats(): JSX.Element | null {
  const [current] = useLocation();
  const paths = waitingChats.value.map((id) => `/console/chats/${id}`).filter((path) => path !== current);
  const [first] = paths;
  if (first === undefined) return null;
  return (
    <Link href={first} class="page-link waiting-chats">
      <Icon name="chat" />
      {paths.length === 1 ? 'Input needed' : `Input needed (${paths.length})`}
    </Link>
  );
}

function PageLink({ page, current }: { page: ConsolePage; current: string }): JSX.Element {
  const isHere = current === page.path || current.startsWith(`${page.path}/`);
  return (
    <Link href={page.path} class="page-link" aria-current={isHere ? 'page' : undefined}>
      <Icon name={page.icon} />
      {page.title}
    </Link>
  );
}

function AccountButton(): JSX.Element {
  if (key.value !== undefined) return <RemoveKey />;
  if (login.value !== undefined) return <SignOut login={login.value} />;
  const ask = async (): Promise<void> => {
    await findSignIn();
    await askForKey('The console will use this key for everything you do here.');
  };
  return (
    <Button
      kind="quiet"
      icon={canSignIn.value === true ? 'person' : 'key'}
      isDisabled={keyQuestion.value !== undefined}
      onClick={() => void ask()}
    >
      {canSignIn.value === true ? 'Sign in' : 'Enter key'}
    </Button>
  );
}

function RemoveKey(): JSX.Element {
  const remove = async (): Promise<void> => {
    const isConfirmed = await confirm({
      title: 'Sign out?',
      text: 'The key is removed from this browser. To sign in again you need to enter it, and it can’t be shown again.',
      action: 'Sign out',
    });
    if (isConfirmed) saveKey(undefined);
  };
  const name = callerName.value;
  return (
    <>
      {name !== undefined && <Account icon="key" name={name} title={name} />}
      <Button kind="quiet" icon="leave" label="Sign out" onClick={() => void remove()} />
    </>
  );
}

/** The current caller. */
function Account({ icon, name, title }: { icon: 'key' | 'person'; name: string; title: string }): JSX.Element {
  return (
    <span class="account" title={title}>
      <Icon name={icon} />
      <span class="account-name">{name}</span>
    </span>
  );
}

function SignOut({ login: { person } }: { login: Login }): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const leave = (): void => {
    setBusy(true);
    signOut().catch((error: unknown) => {
      setBusy(false);
      showError(error);
    });
  };
  return (
    <>
      <Account icon="person" name={person.name ?? person.email ?? person.id} title={person.email ?? person.id} />
      <Button kind="quiet" icon="leave" label="Sign out" isBusy={isBusy} onClick={leave} />
    </>
  );
}

const labels = { system: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' };

function ThemeButton(): JSX.Element {
  const next = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? 'system';
  return <Button kind="quiet" icon={theme.value} label={labels[theme.value]} onClick={() => (theme.value = next)} />;
}
