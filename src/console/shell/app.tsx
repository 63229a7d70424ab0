import type { ComponentType, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Link, Route, Switch, useLocation } from 'wouter-preact';
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
import { Overlay } from './overlay.tsx';
import { overlay } from './shortcuts.ts';
import { setTitle } from './title.ts';

/** The frame around all pages. */
export function App(): JSX.Element {
  const [path] = useLocation();
  const main = useRef<HTMLElement>(null);
  const drawer = useRef<HTMLDialogElement>(null);
  const isFirst = useRef(true);
  const [isMenuOpen, setMenuOpen] = useState(false);
  // Screen readers read a page that was opened by a link from its start. In the same step, so that what is typed at once stays in its field.
  useLayoutEffect(() => {
    drawer.current?.close();
    overlay.value = undefined;
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [path]);
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
        <section class="side-bar" aria-label="Side bar">
          <Navigation />
        </section>
        <main id="content" ref={main} tabIndex={-1}>
          <ErrorBoundary path={path}>
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
      <Overlay />
      <KeyDialog />
      <ConfirmDialog />
      <Toasts />
    </>
  );
}

/** A page has this long to move the focus itself when the focused element disappears, in milliseconds. */
const graceMs = 100;

/** Focuses the page when the focused element disappears, such as the row of a deleted item. */
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
  useEffect(() => setTitle('Page not found'), []);
  return (
    <Empty icon="search" title="Page not found" isPage>
      <p>
        <Link href="/">Start a chat</Link>
      </p>
    </Empty>
  );
}

/** One pattern for all paths of a page, so that its state stays when the path changes. */
function patternOf({ path, routes = [path] }: ConsolePage): RegExp {
  const forms = routes.map((route) => route.replaceAll(/:(\w+)/g, '(?<$1>[^/]+)'));
  // A name may occur in only one form.
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
        setError(new Error('This page can’t be loaded because the gateway is not responding or was updated. Reload the console.'));
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
      <Empty icon="lock" title="For administrators only">
        <p>You don’t have access to this page. To open it, enter an administrator key.</p>
        <Button onClick={() => void askForKey('Enter an administrator key.')}>Use another key</Button>
      </Empty>
    </SubstitutePage>
  );
}
