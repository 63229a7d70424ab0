import { isMeantBy, type ApprovalAnswer } from '../../core/user-input/approval.ts';
import type { Audit } from '../../core/audit.ts';
import { decisionOf } from '../../core/user-input/audited-decision.ts';
import { responseData, type DataOf } from '../../core/chat/run-event.ts';
import type { ElicitationReply } from '../../core/user-input/elicitation.ts';
import type { SendElicitation } from '../../core/tools/send-elicitation.ts';
import { isJsonObject, ownValue, type JsonObject } from '../../shared/json/json.ts';
import { limits } from '../../core/limits.ts';
import { canBeAsked, conversationOf, type RunContext } from '../../core/runs/run.ts';
import type { DecidedCall } from '../../core/runs/suspended-run.ts';
import type { ApprovalDecision, ApprovalGate, ApprovalRequest } from '../../core/tools/approval-gate.ts';
import type { Tool, ToolSpec } from '../../core/tools/tool.ts';
import { definitionOf, type ApprovalScope, type RememberedApprovals } from './remembered-approvals.ts';

interface ApprovalGateOptions {
  sendElicitation: SendElicitation;
  remembered: RememberedApprovals;
  /** Why edited arguments do not match the function's schema; undefined if they do. */
  objectionTo: (args: JsonObject, spec: ToolSpec, run: RunContext) => Promise<string | undefined>;
  /** How long a session may take for each answer. */
  timeoutMs: number;
  audit?: Audit | undefined;
}

/**
 * Decides whether a call may run: at once if it needs no approval or was decided before, by asking the run's session, or in
 * another request if the run can be suspended. Everything else, such as a malformed answer, is a rejection.
 */
export function createApprovalGate(options: ApprovalGateOptions): ApprovalGate {
  const { remembered, timeoutMs } = options;

  async function askUser(request: ApprovalRequest): Promise<ApprovalDecision | undefined> {
    const { callId } = request;
    const reply = await askUntilValid(options, request);
    if (reply.type === 'expired') {
      emitResponse(request, { id: callId, decision: 'expired' });
      const message = `Nobody approved the call of '${request.tool.spec.name}' within ${timeoutMs / 1000}s, so it was not run. Do not call it again unless the user asks for it.`;
      return { type: 'refused', code: 'approval_expired', message };
    }
    if (reply.type !== 'answered') return undefined;
    if (reply.objection !== undefined) {
      const message = `The user changed the arguments of '${request.tool.spec.name}' to invalid ones, so it was not run: ${reply.objection}`;
      emitResponse(request, { id: callId, decision: 'reject', message: reply.objection });
      return { type: 'refused', code: 'approval_rejected', message };
    }
    const answer = toAnswer(reply.data);
    if (ownValue(reply.data, 'remember') === true) await remembered.remember(scopeOf(request), answer.decision);
    emitResponse(request, responseData(callId, answer));
    const { run, tool, args } = request;
    const call = { id: callId, tool: tool.spec.name, server: tool.server, args };
    await options.audit?.record(decisionOf(answer, { callerId: run.caller.id, runId: run.runId, call }));
    return toDecision(answer, request);
  }

  return {
    async decide(request) {
      const { run, tool, callId, args } = request;
      // Before any `await`, so that calls with the same id take their decisions in order.
      const decided = run.suspension?.resumed?.takeDecision(callId, args);
      if (decided !== undefined) return toFormerDecision(decided, request);
      if (!(await needsApproval(request))) return { type: 'approved' };
      const known = await remembered.find(scopeOf(request));
      if (known !== undefined) {
        emitResponse(request, { id: callId, decision: known, remembered: true });
        return toDecision({ decision: known }, request);
      }
      if (!canBeAsked(run) && run.suspension === undefined) return cannotAsk(tool.spec.name);
      request.emit({ type: 'approval.request', data: { id: callId, tool: tool.spec.name, args, server: tool.server } });
      const decision = canBeAsked(run) ? await askUser(request) : undefined;
      if (decision !== undefined) return decision;
      if (run.suspension !== undefined) return { type: 'waiting', definition: definitionOf(tool) };
      emitResponse(request, { id: callId, decision: 'unavailable' });
      return cannotAsk(tool.spec.name);
    },
    async recheck(request) {
      await needsApproval(request);
    },
  };
}

/** Asks again if edited arguments do not match the schema, so that a typo can be corrected; the last reply is final. */
async function askUntilValid(
  { sendElicitation, objectionTo, timeoutMs }: ApprovalGateOptions,
  request: ApprovalRequest,
): Promise<ElicitationReply & { objection?: string | undefined }> {
  const { run, signal, tool } = request;
  let params = request.args;
  let objection: string | undefined;
  for (let tries = 1; ; tries += 1) {
    const words = objection === undefined ? promptFor(request) : { ...promptFor(request), message: objection, error: objection };
    const data = { run_id: run.runId, tool: tool.spec.name, params, ...words };
    const reply = await sendElicitation({ type: 'confirmation', data }, { run, signal, timeoutMs });
    const edited = reply.type === 'answered' && ownValue(reply.data, 'decision') === 'approve' ? ownValue(reply.data, 'params') : undefined;
    if (edited === undefined || edited === null) return reply;
    objection = isJsonObject(edited)
      ? await objectionTo(edited, tool.whole ?? tool.spec, run)
      : `The arguments of '${tool.spec.name}' are not a JSON object.`;
    if (objection === undefined || tries >= limits.approvalTries) return { ...reply, objection };
    if (isJsonObject(edited)) params = edited;
  }
}

async function needsApproval({ tool, args, run }: Pick<ApprovalRequest, 'tool' | 'args' | 'run'>): Promise<boolean> {
  const { approvalRule = false } = run;
  if (isMeantBy(approvalRule, namesOf(tool)) && !(approvalRule === true && tool.isHelper === true)) return true;
  return typeof tool.needsApproval === 'function' ? tool.needsApproval(args, run) : tool.needsApproval === true;
}

/** The names by which a rule may refer to the tool, whatever its offered name is. */
function namesOf({ spec, label, otherNames = [] }: Tool): string[] {
  return [spec.name, label, ...otherNames];
}

/** Anything but `approve` is a rejection. */
function toAnswer(data: JsonObject): ApprovalAnswer {
  const params = ownValue(data, 'params');
  const message = ownValue(data, 'message');
  if (ownValue(data, 'decision') === 'approve') return { decision: 'approve', ...(isJsonObject(params) && { args: params }) };
  return {
    decision: 'reject',
    ...(typeof message === 'string' && message !== '' && { message: message.slice(0, limits.approvalMessageCharacters) }),
  };
}

function toDecision(answer: ApprovalAnswer, { tool }: ApprovalRequest): ApprovalDecision {
  if (answer.decision === 'approve') return { type: 'approved', ...(answer.args !== undefined && { args: answer.args }) };
  const words = answer.message === undefined ? '' : ` The user says: ${answer.message}`;
  return {
    type: 'refused',
    code: 'approval_rejected',
    message: `The user rejected this call of '${tool.spec.name}'; it was not run.${words}`,
  };
}

/** A decision that was made while the run was suspended. */
function toFormerDecision(decided: DecidedCall, request: ApprovalRequest): ApprovalDecision {
  if (decided.call.definition === definitionOf(request.tool)) {
    const decision = toDecision(decided.answer, request);
    return decision.type === 'approved' ? { ...decision, decided } : decision;
  }
  const message = `The function '${decided.call.tool}' has changed since its call was shown for approval, so it was not run. Call it again with its current definition.`;
  return { type: 'refused', code: 'definition_changed', message };
}

function emitResponse(request: ApprovalRequest, data: Omit<DataOf<'approval.response'>, 'tool'>): void {
  request.emit({ type: 'approval.response', data: { ...data, tool: request.tool.spec.name } });
}

function scopeOf({ run, tool }: ApprovalRequest): ApprovalScope {
  return { callerId: run.caller.id, conversation: conversationOf(run), definition: definitionOf(tool) };
}

function promptFor({ tool }: ApprovalRequest): { title: string; message: string } {
  return { title: `Run ${tool.spec.name}?`, message: `The model wants to call ${tool.label} with these arguments.` };
}

function cannotAsk(name: string): ApprovalDecision {
  const message = `'${name}' requires approval by a person, and nobody can be asked here, so it was not run. Call it in a chat, where it can be approved.`;
  return { type: 'refused', code: 'approval_required', message };
}
