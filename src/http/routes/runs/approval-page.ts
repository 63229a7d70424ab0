import { isDeepStrictEqual } from 'node:util';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApprovalAnswer } from '../../../core/user-input/approval.ts';
import { openCallerId, type Caller } from '../../../core/callers/caller.ts';
import { GatewayError } from '../../../core/errors.ts';
import { limits } from '../../../core/limits.ts';
import { isWithin } from '../../../core/callers/people.ts';
import type { RateLimiter } from '../../../core/callers/rate-limit.ts';
import type { WaitingCall } from '../../../core/runs/suspended-run.ts';
import type { LinkedApprovals, LinkedDecision, LinkedRun } from '../../../runs/suspended/linked-approvals.ts';
import { isDeeperThan, isJsonObject, type JsonObject } from '../../../shared/json/json.ts';
import { withoutExcerpt } from '../../../shared/json/without-excerpt.ts';
import { tokenOf, type Authenticator } from '../../auth/authenticate.ts';
import { logError, toGatewayError } from '../../errors/error-handler.ts';
import { installFormPages, originsOf, ownMachineOnly, refuseOtherSites, sendPage } from '../form-pages.ts';
import { openApprovalPage, type OpenApproval } from '../../pages/approval-page.ts';
import { decidedApprovalPage } from '../../pages/decided-approval-page.ts';
import { messagePage, type Page } from '../../pages/page.ts';
import { parseInput } from '../../parse-input.ts';
import { parseExactly } from '../../../shared/json/parse-exactly.ts';

interface ApprovalPageOptions {
  linked: LinkedApprovals;
  callers: Pick<Authenticator, 'findById' | 'findByToken' | 'isOpen'>;
  limiter: Pick<RateLimiter, 'admit'>;
  /** `PUBLIC_URL`: behind a proxy the gateway sees another `Host` than the browser. */
  publicUrl: string | undefined;
}

/** How often the page asks whether a run that goes on has ended. */
const refreshSeconds = 2;

/**
 * `GET /approvals/{link}` shows the calls that wait, or what came of them; it changes nothing, because previews of links fetch it too. `POST` takes
 * decisions as a form, and leads back to the page. For people whose frontend knows nothing of approvals.
 */
export const approvalPageRoutes: FastifyPluginAsync<ApprovalPageOptions> = async (app, { linked, callers, limiter, publicUrl }) => {
  const ownOrigins = originsOf(publicUrl);
  installFormPages(app, titles);

  app.get<{ Params: { link: string }; Querystring: { receipt?: unknown } }>('/approvals/:link', async (request, reply) => {
    const found = await linked.find(request.params.link);
    const caller = await requireCaller(callers, request, found);
    if (found.type === 'open') return sendPage(reply, await openApprovalPage({ ...found, caller }));
    const { receipt } = request.query;
    const hasDecided = typeof receipt === 'string' && linked.checkReceipt(receipt, request.params.link);
    return sendPage(reply, decidedApprovalPage(found, { mayFollow: hasDecided, seconds: refreshSeconds }));
  });

  app.post<{ Params: { link: string } }>('/approvals/:link', async (request, reply) => {
    refuseOtherSites(request, ownOrigins, 'Decisions are accepted only from this page. Open the link in the chat, and decide there.');
    const found = await linked.find(request.params.link);
    const caller = await requireCaller(callers, request, found);
    if (found.type === 'over') {
      return sendPage(reply.code(409), decidedApprovalPage(found, { mayFollow: false, seconds: refreshSeconds }));
    }
    const form = parseForm(request.body);
    try {
      const decisions = decisionsIn(form, found);
      const release = limiter.admit(caller);
      await linked.decide(found, decisions, { caller, log: request.log, release });
    } catch (error) {
      const shown = toGatewayError(error, request.id);
      logError(error, shown, { request, reply });
      return sendPage(reply.code(shown.status), await pageAfter(shown, { link: request.params.link, form, caller }));
    }
    // Without a path, which a proxy in front may have shortened: it leads to where the browser is.
    return reply
      .code(303)
      .header('location', `?receipt=${linked.receiptOf(request.params.link)}`)
      .header('cache-control', 'no-store')
      .send();
  });

  /** The page as it is now, with what was wrong about the form and with what was written into it. */
  async function pageAfter(
    { message, code }: GatewayError,
    { link, form, caller }: { link: string; form: DecisionForm; caller: Caller },
  ): Promise<Page> {
    const found = await linked.find(link);
    if (found.type === 'over')
      return code === 'conflict'
        ? decidedApprovalPage(found, { mayFollow: false, seconds: refreshSeconds })
        : messagePage('Not decided', message);
    const { call: callId, arguments: args, message: words } = form;
    const refused: OpenApproval['refused'] = {
      callId,
      message,
      ...(args !== undefined && { args }),
      ...(words !== undefined && { reply: words }),
    };
    return openApprovalPage({ ...found, caller, refused });
  }
};

/** @throws GatewayError `not_found` */
async function requireCaller(callers: ApprovalPageOptions['callers'], request: FastifyRequest, { callerId }: LinkedRun): Promise<Caller> {
  const token = tokenOf(request.headers);
  const shown = token === undefined ? undefined : await callers.findByToken(token, request, false);
  const caller = await callers.findById(callerId, request);
  if (caller !== undefined && (shown === undefined || isWithin(callerId, shown.id))) return caller;
  if (caller === undefined && callerId === openCallerId && (await callers.isOpen())) throw ownMachineOnly();
  throw new GatewayError(
    'not_found',
    'No calls made with your key are waiting behind this link. Open it without a key, or with the key that the chat used, if that key is still valid.',
  );
}

const titles: Partial<Record<GatewayError['code'], string>> = {
  not_found: 'No calls waiting',
  approval_expired: 'Too late',
  forbidden: 'Sent from another page',
};

const formSchema = z.object({
  call: z.string().optional(),
  decision: z.string('must be "approve" or "reject"'),
  arguments: z.string().optional(),
  message: z.string().max(limits.approvalMessageCharacters).optional(),
  remember: z.literal('true').optional(),
});

/** `call`: absent for all calls that wait. */
type DecisionForm = z.infer<typeof formSchema>;

/** @throws GatewayError `invalid_request`, `unsupported_media_type` */
function parseForm(body: unknown): DecisionForm {
  if (body instanceof URLSearchParams) return parseInput(formSchema, Object.fromEntries(body), 'the form of this page');
  throw new GatewayError(
    'unsupported_media_type',
    'Send decisions with the form on this page. Programs use POST /api/runs/{id}/approvals/{call_id}.',
  );
}

/** @throws GatewayError `invalid_request`, `conflict` */
function decisionsIn(
  { call, decision, remember, message, arguments: args }: DecisionForm,
  { run, answers }: LinkedRun & { type: 'open' },
): LinkedDecision[] {
  if (decision !== 'approve' && decision !== 'reject')
    throw new GatewayError('invalid_request', 'Nothing is decided yet: press one of the buttons.', { param: 'decision' });
  const way: ApprovalAnswer['decision'] = decision;
  const words = message?.trim() ?? '';
  const isRemembered = remember === 'true';
  const chosen = run.calls.filter(({ id }) => (call === undefined ? !answers.has(id) : id === call));
  if (chosen.length === 0) throw new GatewayError('conflict', 'These calls have already been decided.');
  return chosen.map((waiting) => {
    if (way === 'reject') return { callId: waiting.id, answer: { decision: way, ...(words !== '' && { message: words }) }, isRemembered };
    const edited = args === undefined ? undefined : editedArguments(args, waiting);
    return { callId: waiting.id, answer: { decision: way, ...(edited !== undefined && { args: edited }) }, isRemembered };
  });
}

/** Undefined if they are as they were. @throws GatewayError `invalid_request` */
function editedArguments(text: string, { args }: WaitingCall): JsonObject | undefined {
  let value: unknown;
  try {
    value = parseExactly(text);
  } catch (error) {
    throw new GatewayError('invalid_request', `The arguments are not JSON: ${withoutExcerpt((error as Error).message)}.`);
  }
  if (!isJsonObject(value) || isDeeperThan(value, limits.jsonDepth))
    throw new GatewayError('invalid_request', `The arguments must be a JSON object, nested at most ${limits.jsonDepth} levels deep.`);
  return isDeepStrictEqual(value, args) ? undefined : value;
}
