import type { ToolServerRecord } from '../../core/registry.ts';
import type { CredentialPlace, CredentialSet } from '../openapi/operation.ts';

const namedPlaces = 4;

/**
 * Whoever forgets the key of a connection sees working functions, and each call refused. A document may also declare credentials that nothing asks for,
 * so this is a remark and no error. Headers of the connection's own may be credentials, and are taken for such.
 */
export function lintCredential(functions: readonly { security?: CredentialSet[] }[], record: ToolServerRecord): string[] {
  const { authType, key = '', headers } = record;
  if (authType === 'session' || (authType !== 'none' && key !== '') || Object.keys(headers).length > 0) return [];
  const wanting = functions.filter(({ security = [] }) => security.length > 0);
  if (wanting.length === 0) return [];
  const places = [...new Set(wanting.flatMap(({ security = [] }) => security.flat().map(nameOf)))].slice(0, namedPlaces);
  return [
    `The document speaks of credentials (${places.join(', ')}), and this connection sends none: calls that need one are refused. ` +
      'Set "auth_type" and "key".',
  ];
}

function nameOf(place: CredentialPlace): string {
  if (place.kind === 'bearer') return 'a bearer key';
  return place.kind === 'basic' ? 'user and password' : `${place.kind} ${place.name}`;
}
