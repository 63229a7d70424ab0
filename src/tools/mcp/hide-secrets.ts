import type { ToolServerRecord } from '../../core/registry.ts';
import { secretsInAddress } from '../../core/secret-addresses.ts';
import { isSecretName } from '../../core/secret-names.ts';
import type { ToolOutcome } from '../../core/tool.ts';
import { callHeaders, callQuery } from '../connection-headers.ts';
import { formsOfSecrets, hideInText, hideInValue, sessionSecrets } from '../hide-values.ts';

const secretName = /auth|key|token|secret|cookie|pass/i;

/** Messages reach the model and the caller; nothing that was sent may, whatever the server said. */
export function hideSecrets(text: string, record: ToolServerRecord): string {
  const given = [...Object.values(sentHeaders(record)), ...Object.values(record.process?.environment ?? {})];
  return hideInText(text, [...formsOfSecrets([...given, ...credentialsOf(record)]), ...sessionSecrets(record.authType === 'session')]);
}

/** A server may give back what it was sent. In a result only credentials are taken out: an id of the run may be meant to stand there. */
export function hideInOutcome(outcome: ToolOutcome, record: ToolServerRecord): ToolOutcome {
  if (outcome.type === 'error') return { ...outcome, message: hideSecrets(outcome.message, record) };
  const secrets = [...formsOfSecrets(credentialsOf(record)), ...sessionSecrets(record.authType === 'session')];
  const { value, files, documents } = outcome;
  const uriOf = ({ uri }: { uri?: string }): { uri?: string } => (uri === undefined ? {} : { uri: hideInText(uri, secrets) });
  return {
    ...outcome,
    value: hideInValue(value, secrets),
    ...(files && { files: files.map((file) => ({ ...file, ...uriOf(file) })) }),
    ...(documents && { documents: documents.map((document) => ({ ...document, ...uriOf(document) })) }),
  };
}

function sentHeaders(record: ToolServerRecord): Record<string, string> {
  return callHeaders(record, undefined);
}

function credentialsOf(record: ToolServerRecord): string[] {
  const named = Object.entries({ ...sentHeaders(record), ...record.process?.environment }).filter(([name]) => secretName.test(name));
  const { args = [], environment = {} } = record.process ?? {};
  const inAddresses = [...args, ...Object.values(environment)].flatMap(secretsInAddress);
  return [
    record.key ?? '',
    ...named.map(([, value]) => value),
    ...Object.values(callQuery(record)),
    ...secretsInArguments(args),
    // Of `user:password` also the password alone.
    ...inAddresses.flatMap((text) => [text, text.slice(text.indexOf(':') + 1)]),
  ];
}

/** The values of `--api-key VALUE`, `--token=VALUE` and `TOKEN=VALUE`. */
function secretsInArguments(args: readonly string[]): string[] {
  return args.flatMap((argument, index) => {
    const [name = '', ...value] = argument.split('=');
    if (!isSecretName(name)) return [];
    if (value.length > 0) return [value.join('=')];
    return name.startsWith('-') ? [args[index + 1] ?? ''] : [];
  });
}
