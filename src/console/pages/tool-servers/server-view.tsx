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

/** While it is down, in milliseconds: it comes back by itself. */
const refreshMs = 5_000;

/** One tool server: what it offers, and how it may be used. */
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

function Server({ server, onChanged }: { server: ToolServer; onChanged: () => void }): JSX.Element {
  const { id, url, type, config, info, report, origin } = server;
  const [, go] = useLocation();
  const [tried, setTried] = useState<TriedFunction>();
  const [isBusy, setBusy] = useState(false);
  const params = { id };
  const isOwn = origin === 'database' || origin === 'bundled';
  const filter = namesIn(config['function_name_filter_list']);
  const approvals = config['needs_approval'];

  const act = async (work: () => Promise<unknown>, done: string): Promise<void> => {
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
  const patch = (changed: Record<string, unknown>, done: string): void =>
    void act(() => call('PATCH /api/tool-servers/:id', { params, body: { config: changed } }), done);
  const remove = async (): Promise<void> => {
    const isConfirmed = await confirm({
      title: `Delete ${id}?`,
      text: 'Models lose its functions, and what people have connected to it is deleted.',
      action: 'Delete',
      isDangerous: true,
    });
    if (!isConfirmed) return;
    await call('DELETE /api/tool-servers/:id', { params });
    go('/console/tool-servers');
  };
  const isOn = config['enable'] !== false;
  const isApproved = (name: string): boolean => approvals === true || namesIn(approvals).includes(name);
  const names = report.functions.map(({ name }) => name);
  const approve = (name: string, isNeeded: boolean): void => {
    // A rule for a function that is left out for now holds when it is back.
    const others = namesIn(approvals).filter((each) => !names.includes(each));
    const now = [...others, ...names.filter((each) => (each === name ? isNeeded : isApproved(each)))];
    patch({ needs_approval: now.length === 0 ? false : now }, isNeeded ? `${name} now waits for a person.` : `${name} now runs at once.`);
  };

  const leaveOut = (name: string): void => patch({ function_name_filter_list: [...filter, `!${name}`] }, `${name} is left out.`);

  return (
    <>
      <header>
        <Back />
        <h1 class="cut">{textOf(info['name']) || id}</h1>
        <State server={server} />
        <Button
          icon="refresh"
          isBusy={isBusy}
          onClick={() => void act(() => call('POST /api/tool-servers/:id/refresh', { params }), 'The server was asked again.')}
        >
          Refresh
        </Button>
        {isOwn && (
          <>
            <Button onClick={() => patch({ enable: !isOn }, isOn ? `${id} is off.` : `${id} is on.`)}>
              {isOn ? 'Switch off' : 'Switch on'}
            </Button>
            <Button icon="trash" onClick={() => void remove().catch(showError)}>
              Delete
            </Button>
          </>
        )}
      </header>
      <div class="row tool-server-head">
        <span class="chip">{type === 'mcp' ? 'MCP' : 'OpenAPI'}</span>
        {server.per_user === true && <span class="chip">a key of each person</span>}
        {!isOwn && <span class="chip">from the {origin}</span>}
        <span class="mono small cut grow">{url}</span>
      </div>
      {report.held !== undefined && report.held.length > 0 && (
        <ChangedDefinitions server={server} held={report.held} onLeaveOut={isOwn ? leaveOut : undefined} act={act} />
      )}
      {report.credential === 'refused' && isOwn && (
        <section class="card stack">
          <h2>It wants a credential</h2>
          <p class="soft">{report.error}</p>
          <KeyField
            action="Use this key"
            onKey={(key) =>
              void act(
                () => call('PATCH /api/tool-servers/:id', { params, body: { auth_type: 'bearer', key } }),
                'The key is kept, and tried.',
              )
            }
          />
        </section>
      )}
      {(report.credential === 'own' || server.per_user === true || server.auth_type === 'oauth') && (
        <PersonalFunctions id={id} isListed={report.credential !== 'own'} onTry={setTried} />
      )}
      {report.next_try_ms !== undefined && isOn && (
        <p class="soft" role="status">
          {`It is tried again by itself in ${formatWait(report.next_try_ms)}.`}
        </p>
      )}
      {isOwn && names.length > 1 && (
        <p class="row">
          <span class="soft grow">{approvalWords(approvals)}</span>
          <label class="row">
            <input
              type="checkbox"
              checked={approvals === true}
              disabled={isBusy}
              onChange={() =>
                patch(
                  { needs_approval: approvals !== true },
                  approvals === true ? 'Its functions now run at once.' : 'All its functions now wait for a person, new ones too.',
                )
              }
            />
            All wait for approval
          </label>
        </p>
      )}
      {!(report.credential === 'own' || (report.credential === 'refused' && isOwn)) && (
        <ReportView
          report={report}
          actions={(fn) => (
            <span class="row">
              {isOwn && (
                <Button
                  isSmall
                  kind="quiet"
                  icon="lock"
                  isPressed={isApproved(fn.name)}
                  label={isApproved(fn.name) ? `${fn.name} waits for approval` : `Have ${fn.name} wait for approval`}
                  onClick={() => approve(fn.name, !isApproved(fn.name))}
                />
              )}
              {isOwn && <Button isSmall kind="quiet" icon="close" label={`Leave out ${fn.name}`} onClick={() => leaveOut(fn.name)} />}
              <Button isSmall onClick={() => setTried(fn)}>
                Try
              </Button>
            </span>
          )}
        />
      )}
      {isOwn && filter.length > 0 && (
        <p class="row">
          <span class="soft">
            {formatCount(filter.length, 'entry', 'entries')} of its filter: <span class="mono small">{filter.join(', ')}</span>
          </span>
          <Button isSmall onClick={() => patch({ function_name_filter_list: [] }, 'All functions are offered again.')}>
            Offer all
          </Button>
        </p>
      )}
      {tried !== undefined && <TryFunction server={id} fn={tried} onClose={() => setTried(undefined)} />}
    </>
  );
}

function formatWait(milliseconds: number): string {
  const seconds = Math.max(1, Math.round(milliseconds / 1_000));
  return seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1_000);
}

function approvalWords(rule: unknown): string {
  if (rule === true) return 'Every call waits for a person to approve it.';
  const { length } = namesIn(rule);
  return length === 0 ? 'Calls run at once.' : `Calls of ${formatCount(length, 'function')} wait for a person to approve them.`;
}

function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : [];
}
