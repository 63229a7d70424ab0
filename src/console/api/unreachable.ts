export const unreachableMessage = 'The gateway is not responding. Check that it is running, then try again.';

/** For an error answer without a message. */
export function statusMessage({ status, statusText }: Response): string {
  return `The gateway answered ${status} ${statusText}.`;
}
