import type { ComponentType, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Route, Switch, useLocation } from 'wouter-preact';
import { mayAdminister } from '../api/access.ts';
import { askForKey } from '../api/key.ts';
import { pages } from '../pages.ts';
import type { ConsolePage, PageProps } from './page.ts';
import { Button } from '../parts/button.tsx';
import { Empty, ErrorBoundary, SubstitutePage, Loading, Problem } from '../parts/states.tsx';
import { announce, showToastsIn, Toasts } from '../parts/toasts.tsx';
import { ConfirmDialog } from './confirm-dialog.tsx';
import { KeyDialog } from './key-dialog.tsx';
import { Brand, Navigation, WaitingChats } from './navigation.tsx';
import { setTitle } from './title.ts';

/** The frame around all pages. */
export function App(): JSX.Element {
  const [place] = useLocation();
  const main = useRef<HTMLElement>(null);
  const drawer = useRef<HTMLDialogElement>(null);
  const isFirst = useRef(true);
  const [isMenuOpen, setMenuOpen] = useState(false);
  // A page that was opened by a link is told to screen readers, and read from its start. Before the browser goes on: what is typed at once stays where it is.
  useLayoutEffect(() => {
    drawer.current?.close();
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [place]);
  useEffect(() => keepFocusWithin(main), []);
  useEffect(() => (isMenuOpen ? showToastsIn('menu') : undefined), [isMenuOpen]);
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to content
      </a>
      <div class="frame">
        <div class="top-bar">
          <Button kind="quiet" icon="menu" label="Menu" onClick={() => (drawer.current?.showModal(), setMenuOpen(true))} />
          <Brand />
          <WaitingChats />
        </div>
        <aside class="side-bar">
          <Navigation />
        </aside>
        <main id="content" ref={main} tabIndex={-1}>
          <ErrorBoundary place={place}>
            <Pages />
          </ErrorBoundary>
        </main>
      </div>
      <dialog
        ref={drawer}
        class="drawer"
        aria-label="Menu"
        onClose={() => setMenuOpen(false)}
        onClick={(event) => event.target === drawer.current && drawer.current?.close()}
      >
        <Navigation />
        {isMenuOpen && <Toasts dialog="menu" />}
      </dialog>
      <KeyDialog />
      <ConfirmDialog />
      <Toasts />
    </>
  );
}

/** For a page to say itself where the focus goes when what had it is gone, in milliseconds. */
const graceMs = 100;

/** Gives the page the focus when what had it is gone, such as the row of something that was deleted. */
function keepFocusWithin(main: { current: HTMLElement | null }): () => void {
  let last: EventTarget | null = null;
  const isLost = (): boolean => last instanceof Element && !last.isConnected && document.activeElement === document.body;
  const remember = ({ target }: FocusEvent): void => void (last = target);
  const observer = new MutationObserver(() => {
    if (isLost()) setTimeout(() => isLost() && main.current?.focus({ preventScroll: true }), graceMs);
  });
  document.addEventListener('focusin', remember);
  observer.observe(document.body, { childList: true, subtree: true });
  return () => {
    document.removeEventListener('focusin', remember);
    observer.disconnect();
  };
}

function Pages(): JSX.Element {
  return (
    <Switch>
      {pages.map((page) => (
        <Route key={page.path} path={patternOf(page)}>
          {(params) => <LoadedPage page={page} params={params} />}
        </Route>
      ))}
      <Route>
        <NoSuchPage />
      </Route>
    </Switch>
  );
}

function NoSuchPage(): JSX.Element {
  useEffect(() => setTitle('No such page'), []);
  return (
    <Empty icon="search" title="There is no such page" isPage>
      <p>
        <a href="/">Start a chat</a>
      </p>
    </Empty>
  );
}

/** One pattern for all addresses of a page, so that going from one to another keeps it as it is. */
function patternOf({ path, routes = [path] }: ConsolePage): RegExp {
  const forms = routes.map((route) => route.replaceAll(/:(\w+)/g, '(?<$1>[^/]+)'));
  // Names may stand in one form only.
  return new RegExp(`^(?:${forms.join('|')})/?$`);
}

const loaded = new Map<string, ComponentType<PageProps>>();

function LoadedPage({ page, params }: { page: ConsolePage; params: PageProps['params'] }): JSX.Element {
  const [, setTurn] = useState(0);
  const [error, setError] = useState<unknown>();
  const Page = loaded.get(page.path);
  useEffect(() => {
    setTitle(page.title);
    announce(page.title);
  }, [page]);
  const load = (): void => {
    setError(undefined);
    page.load().then(
      ({ Page }) => {
        loaded.set(page.path, Page);
        setTurn((turn) => turn + 1);
      },
      (failed: unknown) => {
        console.error(failed);
        setError(new Error('This page cannot be loaded: the gateway does not answer, or it was updated. Load the console again.'));
      },
    );
  };
  useEffect(() => {
    if (Page === undefined) load();
  }, [page]);
  if (page.isForAdministrators === true && mayAdminister.value !== true)
    return mayAdminister.value === undefined ? <Loading /> : <ForAdministrators title={page.title} />;
  if (Page !== undefined) return <Page params={params} />;
  if (error === undefined) return <Loading />;
  return (
    <SubstitutePage title={page.title}>
      <Problem error={error} retry={() => location.reload()} />
    </SubstitutePage>
  );
}

function ForAdministrators({ title }: { title: string }): JSX.Element {
  return (
    <SubstitutePage title={title}>
      <Empty icon="lock" title="This page is for administrators">
        <p>You are here as a user. Ask whoever runs this gateway for what you miss, or for the key of an administrator.</p>
        <Button onClick={() => void askForKey('Enter the key of an administrator.')}>Use another key</Button>
      </Empty>
    </SubstitutePage>
  );
}
