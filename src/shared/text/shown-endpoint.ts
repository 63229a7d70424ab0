/** A method and an address, such as `DELETE http://shop.test/tasks/12`, without the origin: people who approve calls need not know where a tool server is. */
export function shownEndpoint(endpoint: string): string {
  const [method = '', url = ''] = endpoint.split(' ', 2);
  const parsed = URL.parse(url);
  if (parsed === null) return endpoint;
  // The parser writes the braces of a parameter that is not filled in as percent signs.
  return `${method} ${`${parsed.pathname}${parsed.search}`.replaceAll('%7B', '{').replaceAll('%7D', '}')}`;
}
