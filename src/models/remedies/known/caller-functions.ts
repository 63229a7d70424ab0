import type { Lesson } from '../../../core/models/lesson.ts';
import type { CallerSchemas, ModelRequest, SchemaForm } from '../../../core/models/model.ts';
import { changesInProfile, nameOfFunction } from '../../schema-profiles/caller-schemas.ts';
import type { SchemaProfile } from '../../schema-profiles/to-profile.ts';
import { hashOf } from '../hash-content.ts';
import type { Recognised, Refused, Remedy } from '../remedy.ts';
import { findCallerFault } from './find-fault.ts';

/** How often one model request is repeated; the last time with all functions simplified. */
const maxRepairs = 5;
/** After so many refusals all functions are simplified. */
const repairsBeforeAll = 3;

/**
 * For a backend that refuses the schemas of the caller's own functions: they are converted to its profile, then the one that it names is simplified,
 * or all of them. What they are called stays, so that calls fit the caller's own schemas. `isInProfile`: they are in the profile from the start.
 */
export function callerFunctionRemedy(profile: SchemaProfile, isInProfile: boolean): Remedy {
  function recognise({ refusal, request, sent, repeats }: Refused): Recognised | undefined {
    if (sent.callerTools.every((entry) => nameOfFunction(entry) === undefined)) return undefined;
    const fault = findCallerFault(refusal, sent);
    if (fault === undefined) return undefined;
    const found = (form: SchemaForm, name = ''): Recognised => ({
      lesson: lessonAbout(request, form, name),
      pointsAt: fault.words,
      rule: 'own',
    });
    const { all, simple = [] } = sent.callerSchemas ?? {};
    if (all === 'simple') return undefined;
    if (!isInProfile && all === undefined && sent.callerTools.some((entry) => changesInProfile(entry, profile))) return found('profile');
    const { name } = fault;
    return name === undefined || simple.includes(name) || repeats >= repairsBeforeAll ? found('simple') : found('simple', name);
  }

  return {
    kinds: ['caller-functions'],
    maxRepeats: maxRepairs,
    reason: 'functions_refused',
    recognise,
    change: (request, lesson) => ({ ...request, callerSchemas: withChange(request.callerSchemas, lesson) }),
    concerns: ({ content }, { callerTools }) => callerTools.length > 0 && hashOf(callerTools) === content,
  };
}

function withChange({ all, simple = [] }: CallerSchemas = {}, { subject, change }: Lesson): CallerSchemas {
  const form = change === 'simple' ? 'simple' : 'profile';
  if (subject === '') return { all: all === 'simple' ? all : form, simple };
  return { ...(all !== undefined && { all }), simple: [...simple, subject] };
}

function lessonAbout({ callerTools }: ModelRequest, form: SchemaForm, name: string): Lesson {
  const which = name === '' ? 'The functions of the request are' : `The function "${name}" of the request is`;
  const message = `${which} offered in a simpler form: the model refuses ${name === '' ? 'the schema of one' : 'its schema'}.`;
  return {
    kind: 'caller-functions',
    subject: name,
    change: form,
    content: hashOf(callerTools),
    warning: { code: 'function_schema_refused', message },
  };
}
