import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { mayAdminister } from '../../api/access.ts';
import type { AnswerOf, Preset } from '../../api/api-types.ts';
import { call } from '../../api/request.ts';
import { useQuery } from '../../api/use-query.ts';
import { confirm } from '../../parts/confirm.ts';
import { Button } from '../../parts/button.tsx';
import { Loaded, Empty } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import type { Column } from '../../parts/table.tsx';
import { showToast, showError } from '../../parts/toasts.tsx';
import { PresetDialog } from './preset-dialog.tsx';

type Listed = AnswerOf<'GET /api/presets'>['data'][number];

/** Models with a prompt, tools and parameters of their own, which chats choose by their name. */
export function PresetsPage(): JSX.Element {
  const query = useQuery('GET /api/presets');
  const [edited, setEdited] = useState<Partial<Preset>>();
  const mayChange = mayAdminister.value === true;
  const remove = async ({ id, name }: Listed): Promise<void> => {
    const isConfirmed = await confirm({
      title: `Delete ${name ?? id}?`,
      text: 'Chats can no longer choose it, and clients that name it get an error.',
      action: 'Delete',
      isDangerous: true,
    });
    if (!isConfirmed) return;
    await call('DELETE /api/presets/:id', { params: { id } });
    showToast(`${name ?? id} is deleted.`);
    query.reload();
  };
  const actions: Column<Listed> = {
    title: 'Actions',
    isActions: true,
    cell: (preset) => (
      <span class="row">
        {mayChange && preset.origin === 'file' && <span class="soft small">toolwharf.yaml</span>}
        <Link class="button plain small" href={`/?model=${encodeURIComponent(preset.id)}`} aria-label={`Chat with ${preset.id}`}>
          Chat
        </Link>
        {mayChange && preset.origin === 'database' && (
          <>
            <Button isSmall label={`Edit ${preset.id}`} onClick={() => setEdited(preset)}>
              Edit
            </Button>
            <Button isSmall kind="quiet" icon="trash" label={`Delete ${preset.id}`} onClick={() => void remove(preset).catch(showError)} />
          </>
        )}
      </span>
    ),
  };
  return (
    <div class="page presets">
      <header>
        <h1>Presets</h1>
        {mayChange && (
          <Button kind="main" icon="add" onClick={() => setEdited({})}>
            New preset
          </Button>
        )}
      </header>
      <Loaded query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="preset" title="No presets yet">
              <p>
                A preset is a model with a prompt and tools of its own: a clerk, a researcher, a translator without tools. Chats and every
                client choose it like a model.
              </p>
            </Empty>
          ) : (
            <Table<Listed>
              label="Presets"
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                { title: 'Preset', cell: Named },
                { title: 'Model', cell: ({ base_model: model }) => model },
                ...(mayChange ? [{ title: 'Tools', isBelow: true, cell: toolsOf }] : []),
                { title: 'About', isBelow: true, cell: ({ description }) => description ?? '' },
                actions,
              ]}
            />
          )
        }
      </Loaded>
      {edited !== undefined && (
        <PresetDialog
          preset={edited}
          onClose={() => setEdited(undefined)}
          onSaved={() => {
            setEdited(undefined);
            query.reload();
          }}
        />
      )}
    </div>
  );
}

function Named({ id, name }: Listed): JSX.Element {
  return (
    <>
      {name ?? id}
      {name !== null && name !== id && <div class="soft small">{id}</div>}
    </>
  );
}

function toolsOf({ origin, tools }: Listed): string {
  // Users are not told.
  if (origin === undefined) return '';
  if (tools === undefined || tools === null) return 'the defaults';
  return tools.length === 0 ? 'none' : tools.map((entry) => entry.replace(/^server:/, '')).join(', ');
}
