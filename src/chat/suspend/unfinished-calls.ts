/** What became of a suspended run. `decided`: it has been resumed, and has no result yet. */
export type WaitState = 'waiting' | 'expired' | 'cancelled' | 'decided';

/** What a model reads as the result of a call that has not run. `said`: as the answer after it, instead of the text with the link. */
type UnfinishedTexts = Record<WaitState, { result: string; said?: string }>;

const forApproval: UnfinishedTexts = {
  waiting: { result: 'This call waits for an approval, which the user gives on a page and never in the chat. It has not run.' },
  expired: { result: 'Nobody approved this call in time, so it was not run.', said: 'Nobody approved it in time, so it was not run.' },
  cancelled: { result: 'The run was cancelled before this call was approved, so it was not run.', said: 'It was cancelled and not run.' },
  decided: {
    result: 'The user has decided on this call. Its result is not known here: it is running or was interrupted. Do not call it again.',
    said: 'The user has decided, but there is no result yet.',
  },
};

const forConnection: UnfinishedTexts = {
  waiting: {
    result: 'This call waits until the user has connected to its server, which they do on a page and never in the chat. It has not run.',
  },
  expired: { result: 'The user did not connect to its server in time, so this call was not run.', said: 'It was not run.' },
  cancelled: {
    result:
      'This call waited until the user had connected to its server, and was not run. If the user still wants it, call it again: its result also shows whether they have connected since.',
  },
  decided: {
    result:
      'The user has connected, and this call continues. Its result is not known here: it is running or was interrupted. Do not call it again.',
    said: 'The user has connected, but there is no result yet.',
  },
};

export function unfinishedTexts(state: WaitState, { isToConnect }: { isToConnect: boolean }): { result: string; said?: string } {
  return (isToConnect ? forConnection : forApproval)[state];
}

/** The result of a call of a client's own function that its client never got, because another call of the same turn waited. */
export const unmadeCall = JSON.stringify({
  error:
    'This call was not made, because another call beside it had to wait for the user. Call it again, unless the user does not want it any more.',
});
