import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Loading, Problem } from '../../parts/states.tsx';
import { formatCount } from '../../parts/text/formats.ts';
import { showToast } from '../../parts/toasts.tsx';
import { emptyDraft, toChange, toDraft, toEntry } from './backend-draft.ts';
import type { Backend, BackendDraft } from './backend-draft.ts';
import { BackendFields, faultFields } from './backend-fields.tsx';
import { findFieldFault } from './field-fault.ts';
import { VerificationView } from './verification-view.tsx';
import type { Verification } from './verification-view.tsx';

interface AddBackendProps {
  onClose: () => void;
  onAdded: (id: string) => void;
}

/** Tests a backend, shows its models, and adds it. */
export function AddBackend({ onClose, onAdded }: AddBackendProps): JSX.Element {
  const [draft, setDraft] = useState(emptyDraft);
  const { isBusy, error, run, clear } = useRequest();
  const [report, setReport] = useState<Verification>();
  const change = (changed: BackendDraft): void => {
    setDraft(changed);
    setReport(undefined);
    clear();
  };
  const test = (): Promise<void> =>
    run(async () => {
      setReport(undefined);
      setReport(await call('POST /api/backends/verify', { body: toEntry(draft) }));
    });
  const add = (): Promise<void> =>
    run(async () => {
      const { id } = await call('POST /api/backends', { body: toEntry(draft) });
      showToast(`${id} was added.`);
      onAdded(id);
    });
  const isTested = report !== undefined;
  const isGood = report?.ok === true && report.models.length > 0;
  return (
    <Dialog
      title="Connect a model"
      isForm
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          {isTested && !isGood && (
            <Button isBusy={isBusy} onClick={() => void add()}>
              Add anyway
            </Button>
          )}
          <Button kind="main" type="submit" form="backend-fields" isBusy={isBusy}>
            {isGood ? `Add ${formatCount(report.models.length, 'model')}` : isTested ? 'Test again' : 'Test'}
          </Button>
        </>
      }
    >
      <BackendForm draft={draft} onChange={change} onSubmit={() => void (isGood ? add() : test())} error={error} stored={undefined} />
      <div aria-live="polite">
        {isBusy && <Loading label="Asking the server for its models" />}
        {report !== undefined && (
          // The form is higher than a dialog on a small screen.
          <div ref={(element) => element?.scrollIntoView({ block: 'nearest' })}>
            <VerificationView report={report} />
          </div>
        )}
      </div>
    </Dialog>
  );
}

interface EditBackendProps {
  backend: Backend;
  onClose: () => void;
  onSaved: () => void;
}

export function EditBackend({ backend, onClose, onSaved }: EditBackendProps): JSX.Element {
  const [draft, setDraft] = useState(() => toDraft(backend));
  const { isBusy, error, run, clear } = useRequest();
  const { id } = backend;
  const save = (): Promise<void> =>
    run(async () => {
      const { warnings = [] } = await call('PATCH /api/backends/:id', { params: { id }, body: toChange(draft) });
      for (const warning of warnings) showToast(warning, 'problem');
      if (warnings.length === 0) showToast(`${id} was saved.`);
      onSaved();
    });
  return (
    <Dialog
      title={`Edit ${id}`}
      isForm
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" form="backend-fields" isBusy={isBusy}>
            Save
          </Button>
        </>
      }
    >
      <BackendForm
        draft={draft}
        onChange={(changed) => (setDraft(changed), clear())}
        onSubmit={() => void save()}
        error={error}
        stored={{ hasKey: backend.has_key }}
      />
    </Dialog>
  );
}

interface BackendFormProps {
  draft: BackendDraft;
  onChange: (draft: BackendDraft) => void;
  onSubmit: () => void;
  error: unknown;
  stored: { hasKey: boolean } | undefined;
}

function BackendForm({ draft, onChange, onSubmit, error, stored }: BackendFormProps): JSX.Element {
  const fault = findFieldFault(error, faultFields);
  return (
    <form id="backend-fields" class="stack" onSubmit={(event) => (event.preventDefault(), onSubmit())}>
      <BackendFields draft={draft} set={onChange} fault={fault} stored={stored} />
      {error !== undefined && fault === undefined && <Problem error={error} />}
    </form>
  );
}

interface Request {
  isBusy: boolean;
  error: unknown;
  /** Runs one request at a time. */
  run: (request: () => Promise<void>) => Promise<void>;
  clear: () => void;
}

function useRequest(): Request {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  return {
    isBusy,
    error,
    async run(request) {
      setBusy(true);
      setError(undefined);
      await request().catch(setError);
      setBusy(false);
    },
    clear: () => setError(undefined),
  };
}
