import { argv, env, exit, stdout } from 'node:process';

/** The client of a scenario, as the suite starts it: with the address of its server as the last argument. */
const [, , driver = '', serverUrl = ''] = argv;
const { MCP_CONFORMANCE_SCENARIO: name, MCP_CONFORMANCE_CONTEXT: context = '{}' } = env;
const answer = await fetch(driver, { method: 'POST', body: JSON.stringify({ name, serverUrl, context: JSON.parse(context) }) });
stdout.write(await answer.text());
exit(answer.ok ? 0 : 1);
