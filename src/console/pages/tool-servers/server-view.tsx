import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Link, useLocation } from 'wouter-preact';
import type { ToolServer } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { useQuery } from '../../api/use-query.ts';
import { confirm } from '../../parts/confirm.ts';
import { Button } from '../../parts/button.tsx';
import { formatCount, formatDuration } from '../../parts/text/formats.ts';
import { Loaded } from '../../parts/states.tsx';
import { showToast, showError } from '../../parts/toasts.tsx';
import { textOf } from '../../parts/text/text-of.ts';
import { KeyField } from './credential-fields.tsx';
import { ChangedDefinitions } from './changed-definitions.tsx';
import { ReportView } from './report-view.tsx';
import { State } from './server-state.tsx';
import { PersonalFunctions } from './personal-functions.tsx';
import { TryFunction } from './try-function.tsx';
import type { TriedFunction } from './try-function.tsx';

/** While the server is down, its state is reloaded this often. */
const refreshMs = 5_000;

/** One tool server: its functions, and how they may be used. */
export function ServerView({ id }: { id: string }): JSX.Element {
  const [isSettled, setSettled] = useState(true);
  const query = useQuery('GET /api/tool-servers/:id', { params: { id }, ...(!isSettled && { everyMs: refreshMs }) });
  const { report, config } = query.data ?? {};
  useEffect(
    () => setSettled(report === undefined || report.ok || report.credential !== undefined || config?.['enable'] === false),
    [query.data],
  );
  return (
    <div class="page tool-server">
      {query.data === undefined && (
        <header>
          <Back />
          <h1 class="cut">{id}</h1>
        </header>
      )}
      <Loaded query={query}>{(server) => <Server server={server} onChanged={query.reload} />}</Loaded>
    </div>
  );
}

function Back(): JSX.Element {
  return (
    <Link href="/console/tool-servers" class="trail">
      Tool servers
    </Link>
  );
}

interface ServerProps {
  server: ToolServer;
  onChanged: () => void;
}

function Server({ server, onChanged }: ServerProps): JSX.Element {
  const { id, url, type, config, report, origin } = server;
  const [tried, setTried] = useState<TriedFunction>();
  const actions = useServerActions(server, onChanged);
  const isEditable = origin === 'database' || origin === 'bundled';
  const isOn = config['enable'] !== false;
  const { credential, held = [] } = report;
  return (
    <>
      <ServerHead server={server} isEditable={isEditable} actions={actions} />
      <div class="row tool-server-head">
        <span class="chip">{type === 'mcp' ? 'MCP' : 'OpenAPI'}</span>
        {server.per_user === true && <span class="chip">one key per user</span>}
        {!isEditable && <span class="chip">from the {origin}</span>}
        <span class="mono small cut grow">{url}</span>
      </div>
      {held.length > 0 && (
        <ChangedDefinitions server={server} held={held} onLeaveOut={isEditable ? actions.exclude : undefined} act={actions.act} />
      )}
      {credential === 'refused' && isEditable && (
        <section class="card stack">
          <h2>Authentication required</h2>
          <p class="soft">{report.error}</p>
          <KeyField action="Use this key" onKey={actions.useKey} />
        </section>
      )}
      {(credential === 'own' || server.per_user === true || server.auth_type === 'oauth') && (
        <PersonalFunctions id={id} isListed={credential !== 'own'} onTry={setTried} />
      )}
      {report.next_try_ms !== undefined && isOn && (
        <p class="soft" role="status">
          {`Next attempt in ${formatWait(report.next_try_ms)}.`}
        </p>
      )}
      {isEditable && report.functions.length > 1 && <ApprovalRule rule={config['needs_approval']} actions={actions} />}
      {!(credential === 'own' || (credential === 'refused' && isEditable)) && (
        <ReportView
          report={report}
          actions={(fn) => (
            <span class="row">
              {isEditable && <FunctionActions name={fn.name} actions={actions} />}
              <Button isSmall onClick={() => setTried(fn)}>
                Try
              </Button>
            </span>
          )}
        />
      )}
      {isEditable && actions.filter.length > 0 && <FilterEntries actions={actions} />}
      {tried !== undefined && <TryFunction server={id} fn={tried} onClose={() => setTried(undefined)} />}
    </>
  );
}

function FilterEntries({ actions: { filter, patch } }: { actions: ServerActions }): JSX.Element {
  return (
    <p class="row">
      <span class="soft">
        {formatCount(filter.length, 'filter entry', 'filter entries')}: <span class="mono small">{filter.join(', ')}</span>
      </span>
      <Button isSmall onClick={() => patch({ function_name_filter_list: [] }, 'All functions are included again.')}>
        Include all
      </Button>
    </p>
  );
}

interface ServerActions {
  isBusy: boolean;
  /** Entries of the function filter. */
  filter: readonly string[];
  act: (work: () => Promise<unknown>, done: string) => Promise<void>;
  patch: (config: Record<string, unknown>, done: string) => void;
  useKey: (key: string) => void;
  exclude: (name: string) => void;
  needsApproval: (name: string) => boolean;
  setApproval: (name: string, isNeeded: boolean) => void;
}

/** Changes to a server. Each one reports its success or failure and reloads the server. */
function useServerActions({ id, config, report }: ToolServer, onChanged: () => void): ServerActions {
  const [isBusy, setBusy] = useState(false);
  const params = { id };
  const filter = namesIn(config['function_name_filter_list']);
  const rule = config['needs_approval'];
  const act: ServerActions['act'] = async (work, done) => {
    setBusy(true);
    try {
      await work();
      showToast(done);
      onChanged();
    } catch (error) {
      showError(error);
    } finally {
      setBusy(false);
    }
  };
  const patch: ServerActions['patch'] = (changed, done) =>
    void act(() => call('PATCH /api/tool-servers/:id', { params, body: { config: changed } }), done);
  const needsApproval = (name: string): boolean => rule === true || namesIn(rule).includes(name);
  return {
    isBusy,
    filter,
    act,
    patch,
    needsApproval,
    useKey: (key) =>
      void act(
        () => call('PATCH /api/tool-servers/:id', { params, body: { auth_type: 'bearer', key } }),
        'The key was saved. Checking it…',
      ),
    exclude: (name) => patch({ function_name_filter_list: [...filter, `!${name}`] }, `${name} was excluded.`),
    setApproval(name, isNeeded) {
      const names = report.functions.map((fn) => fn.name);
      // The rule of a function that is excluded now still applies when it is included again.
      const others = namesIn(rule).filter((other) => !names.includes(other));
      const now = [...others, ...names.filter((other) => (other === name ? isNeeded : needsApproval(other)))];
      patch(
        { needs_approval: now.length === 0 ? false : now },
        isNeeded ? `${name} now requires approval.` : `${name} no longer requires approval.`,
      );
    },
  };
}

interface ServerHeadProps {
  server: ToolServer;
  isEditable: boolean;
  actions: ServerActions;
}

function ServerHead({ server, isEditable, actions: { isBusy, act, patch } }: ServerHeadProps): JSX.Element {
  const { id, info, config } = server;
  const [, go] = useLocation();
  const params = { id };
  const isOn = config['enable'] !== false;
  const remove = async (): Promise<void> => {
    const isConfirmed = await confirm({
      title: `Delete ${id}?`,
      text: 'Models lose its functions, and everyone’s connections to it are deleted.',
      action: 'Delete',
      isDangerous: true,
    });
    if (!isConfirmed) return;
    await call('DELETE /api/tool-servers/:id', { params });
    go('/console/tool-servers');
  };
  return (
    <header>
      <Back />
      <h1 class="cut">{textOf(info['name']) || id}</h1>
      <State server={server} />
      <Button
        icon="refresh"
        isBusy={isBusy}
        onClick={() => void act(() => call('POST /api/tool-servers/:id/refresh', { params }), 'The server was refreshed.')}
      >
        Refresh
      </Button>
      {isEditable && (
        <>
          <Button onClick={() => patch({ enable: !isOn }, `${id} was turned ${isOn ? 'off' : 'on'}.`)}>
            {isOn ? 'Turn off' : 'Turn on'}
          </Button>
          <Button icon="trash" onClick={() => void remove().catch(showError)}>
            Delete
          </Button>
        </>
      )}
    </header>
  );
}

function ApprovalRule({ rule, actions: { isBusy, patch } }: { rule: unknown; actions: ServerActions }): JSX.Element {
  const { length } = namesIn(rule);
  return (
    <p class="row">
      <span class="soft grow">
        {rule === true
          ? 'Every call requires approval.'
          : length === 0
            ? 'Calls run without approval.'
            : `${formatCount(length, 'function requires', 'functions require')} approval.`}
      </span>
      <label class="row">
        <input
          type="checkbox"
          checked={rule === true}
          disabled={isBusy}
          onChange={() =>
            patch(
              { needs_approval: rule !== true },
              rule === true ? 'Calls no longer require approval.' : 'All functions now require approval, including new ones.',
            )
          }
        />
        Require approval for all
      </label>
    </p>
  );
}

function FunctionActions({ name, actions }: { name: string; actions: ServerActions }): JSX.Element {
  const isNeeded = actions.needsApproval(name);
  return (
    <>
      <button
        type="button"
        class={isNeeded ? 'chip warn' : 'chip off'}
        aria-pressed={isNeeded}
        aria-label={`Require approval for ${name}`}
        title={isNeeded ? 'Calls wait for a person. Click to let them run.' : 'Calls run without approval. Click to require it.'}
        onClick={() => actions.setApproval(name, !isNeeded)}
      >
        approval
      </button>
      <label class="switch small">
        <input type="checkbox" role="switch" checked aria-checked aria-label={`Offered: ${name}`} onChange={() => actions.exclude(name)} />
        Offered
      </label>
    </>
  );
}

function formatWait(milliseconds: number): string {
  const seconds = Math.max(1, Math.round(milliseconds / 1_000));
  return seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1_000);
}

function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : [];
}
