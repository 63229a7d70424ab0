import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import type { AnswerOf } from '../../api/api-types.ts';
import { Table } from '../../parts/table.tsx';
import { Breakable } from '../../parts/text/breakable.tsx';
import { formatBytes, formatNumber } from '../../parts/text/formats.ts';

type Facts = AnswerOf<'POST /api/backends/verify'>['model_details'][number];

/** A longer list has a search field. */
const shortList = 12;
/** Further matches are not shown. */
const maxShown = 100;

interface ModelTableProps {
  models: readonly Facts[];
  /** Whether chats can use them already. */
  hasLinks?: boolean;
}

/** Models with their size, context and abilities, as far as their server says. */
export function ModelTable({ models, hasLinks = false }: ModelTableProps): JSX.Element {
  const [search, setSearch] = useState('');
  const words = search.toLowerCase().split(/\s+/);
  const found = models.filter(({ id }) => words.every((word) => id.toLowerCase().includes(word)));
  return (
    <div class="stack">
      {models.length > shortList && (
        <input
          type="search"
          aria-label="Search models"
          placeholder="Search models"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
      )}
      {found.length > 0 && (
        <Table<Facts>
          label="Models"
          rows={found.slice(0, maxShown)}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Model', cell: ({ id }) => <Breakable text={id} /> },
            { title: 'Abilities', isBelow: true, cell: Abilities },
            { title: 'Size', isBelow: true, cell: sizeOf },
            { title: 'Context', isNumber: true, isBelow: true, cell: ({ context }) => formatNumber(context) },
            ...(hasLinks ? [{ title: 'Actions', isActions: true as const, cell: ChatLink }] : []),
          ]}
        />
      )}
      <p class="soft small" role="status">
        {found.length === 0 && search !== '' && 'No matching models.'}
        {found.length > maxShown && `${formatNumber(found.length - maxShown)} more. Refine your search to see them.`}
      </p>
    </div>
  );
}

function Abilities({ tools, vision }: Facts): JSX.Element {
  return (
    <span class="row models-abilities">
      {tools === true && <span class="chip good">tools</span>}
      {tools === false && (
        <span class="chip" title="The gateway chooses tools for it by a prompt.">
          tools by prompt
        </span>
      )}
      {vision === true && <span class="chip good">vision</span>}
      {tools === undefined && vision === undefined && <span class="soft">unknown</span>}
    </span>
  );
}

function sizeOf({ parameters, bytes }: Facts): string {
  const parts = [parameters, bytes === undefined ? undefined : formatBytes(bytes)].filter((part) => part !== undefined);
  return parts.length === 0 ? '–' : parts.join(', ');
}

function ChatLink({ id }: Facts): JSX.Element {
  return (
    <Link class="button plain small" href={`/?model=${encodeURIComponent(id)}`} aria-label={`Chat with ${id}`}>
      Chat
    </Link>
  );
}
