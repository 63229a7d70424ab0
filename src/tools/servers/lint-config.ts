import { isJsonObject } from '../../shared/json.ts';
import { nearestWord } from '../../shared/nearest-word.ts';
import type { ToolServerRecord } from '../../core/registry.ts';

const known = [
  'enable',
  'default',
  'function_name_filter_list',
  'tags',
  'methods',
  'read_only',
  'needs_approval',
  'parallel',
  'repeats',
  'timeout_ms',
  'max_result_bytes',
  'execution',
];
/** Longer words are nobody's slip; frontends keep words of their own here. */
const longestWord = 40;
const mostChanges = 2;

/** Unknown words in `config` are kept, because frontends have some. One that only looks like a known one lifts a protection unseen. */
export function lintConfig({ extra }: Pick<ToolServerRecord, 'extra'>): string[] {
  const { config } = extra;
  if (!isJsonObject(config)) return [];
  return Object.keys(config).flatMap((key) => {
    if (known.includes(key) || key.length > longestWord) return [];
    const bare = (word: string): string => word.replaceAll(/[_-]/g, '');
    const { word, changes } = nearestWord(bare(key), known.map(bare));
    const meant = known.find((name) => bare(name) === word);
    return changes > mostChanges || meant === undefined
      ? []
      : [`config holds "${key}", which means nothing here. Did you mean "${meant}"?`];
  });
}
