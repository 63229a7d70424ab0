/**
 * Reason phrases by HTTP status. Taken without `import`: of `node:http` that also loads the WebSocket and `fetch` of Node, which takes 20 ms and
 * 12 MB of every start.
 */
export const statusPhrases: Readonly<Record<number, string | undefined>> = process.getBuiltinModule('node:http').STATUS_CODES;
