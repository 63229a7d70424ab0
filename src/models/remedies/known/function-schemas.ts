import type { Lesson } from '../../../core/models/lesson.ts';
import type { ModelRequest } from '../../../core/models/model.ts';
import type { ToolSpec } from '../../../core/tools/tool.ts';
import { hashOffer, hashSchema } from '../hash-content.ts';
import type { Recognised, Refused, Remedy } from '../remedy.ts';
import { findFault } from './find-fault.ts';
import { simplifyOnce } from '../../schema-profiles/simplify-parameters.ts';
import { keepAsIs } from '../../schema-profiles/to-profile.ts';

/** How often one model request is repeated; the last times with all functions simplified. */
const maxRepairs = 6;
/** After so many refusals all functions are simplified: the backend understands little of JSON Schema. */
const repairsBeforeAll = 3;

/** What is done about a function that a backend refused. `plain`: sent as it is, without `strict`. */
type Repair = 'plain' | 'simplified' | 'left out';

/**
 * For a backend that refuses the schema of a function: that function is sent without `strict`, then simplified, then left out. Where no function is
 * named, or several are refused, all functions of the offer are simplified.
 */
export const functionRemedy: Remedy = {
  kinds: ['function', 'functions'],
  maxRepeats: maxRepairs,
  reason: 'functions_refused',
  recognise,
  change,
  concerns({ kind, subject, content }, { tools }) {
    if (kind === 'functions') return tools.length > 0 && hashOffer(tools) === content;
    return tools.some(({ name, parameters }) => name === subject && hashSchema(parameters) === content);
  },
};

function change(request: ModelRequest, { kind, subject, change: repair }: Lesson): ModelRequest {
  const tools = request.tools.flatMap((spec) => {
    if (kind === 'function' && spec.name !== subject) return [spec];
    if (repair === 'left out') return [];
    const { strict, ...plain } = spec;
    if (repair === 'plain' && kind === 'functions' && strict !== true) return [spec];
    return [keepAsIs(repair === 'plain' ? plain : { ...plain, parameters: simplifyOnce(spec.parameters) })];
  });
  return { ...request, tools };
}

function recognise({ refusal, request, sent, made, repeats }: Refused): Recognised | undefined {
  if (sent.tools.length === 0) return undefined;
  const fault = findFault(refusal, sent);
  if (fault === undefined) return undefined;
  const { pointsAt } = fault;
  const named = fault.type === 'named' ? request.tools.find(({ name }) => name === fault.spec.name) : undefined;
  const ofAll = made.find(({ kind }) => kind === 'functions')?.change;
  const ofNamed = made.find(({ kind, subject }) => kind === 'function' && subject === named?.name)?.change;
  if (named === undefined || (ofAll === undefined && repeats >= repairsBeforeAll)) {
    const isStrict = ofAll === undefined && request.tools.some(({ strict }) => strict === true);
    if (ofAll === 'simplified') return undefined;
    return { lesson: lessonAboutAll(request, isStrict ? 'plain' : 'simplified'), pointsAt };
  }
  const isStrict = named.strict === true && ofAll === undefined && ofNamed === undefined;
  const isSimple = ofNamed === 'simplified' || ofAll === 'simplified';
  if (ofNamed === 'left out') return undefined;
  return { lesson: lessonAbout(named, request, isStrict ? 'plain' : isSimple ? 'left out' : 'simplified'), pointsAt };
}

const strictMessage = 'The model refuses the strict form of a function; it is offered in its plain one.';

function lessonAbout({ name, parameters }: ToolSpec, request: ModelRequest, repair: Repair): Lesson {
  const messages: Record<Repair, string> = {
    plain: strictMessage,
    simplified: `The function "${name}" is offered in a simpler form: the model refuses its schema.`,
    'left out': `The function "${name}" is left out: the model refuses its schema.`,
  };
  const content = hashSchema(parameters);
  return { kind: 'function', subject: name, change: repair, content, ...shownAs(messages[repair], [name], request) };
}

function lessonAboutAll(request: ModelRequest, repair: Repair): Lesson {
  const message = repair === 'plain' ? strictMessage : 'The model refuses the schema of a function; all are offered in a simpler form.';
  const names = request.tools.map(({ name }) => name);
  return { kind: 'functions', subject: '', change: repair, content: hashOffer(request.tools), ...shownAs(message, names, request) };
}

function shownAs(message: string, names: readonly string[], { origin }: ModelRequest): Pick<Lesson, 'warning' | 'servers'> {
  const sources = names.flatMap((name) => origin?.sourceOf(name) ?? []).filter(({ isOwn }) => !isOwn);
  const servers = [...new Set(sources.map(({ server }) => server))];
  return { warning: { code: 'function_schema_refused', message }, ...(servers.length > 0 && { servers }) };
}
