import { isJsonObject, textIn, type JsonObject, type JsonValue } from '../../shared/json/json.ts';
import { Html, html } from './html.ts';
import { renderPage } from './page.ts';
import { fieldsOf, typeOf, type SchemaField } from './schema-fields.ts';

// No comments and no foreign text, as in `page.ts`.
const style = `
main, .brand { max-width: 78rem }
nav ul { list-style: none; margin: 0; padding: 0 }
nav li { margin: .25rem 0 }
nav ul ul { display: none }
nav a { text-decoration: none }
nav a:hover { text-decoration: underline }
.area { margin: 2.5rem 0 0; font-size: 1.375rem }
h3 { font-size: 1rem; margin: 0 0 .5rem; font-weight: 600 }
h4 { font-size: .9rem; margin: 1rem 0 .25rem; color: var(--soft) }
.verb { font-weight: 700; font-family: var(--mono); margin-right: .5rem }
.anchor { color: inherit; text-decoration: none }
.anchor:hover { text-decoration: underline }
.fields { display: block; font-size: .9rem }
.fields dt { color: inherit; border-top: 1px solid var(--line); padding-top: .3rem; margin-top: .3rem }
.fields dd { margin: 0 0 .3rem; max-width: 48rem }
.fields .fields { margin: .25rem 0 0 1rem }
.type { color: var(--soft); margin-left: .35rem }
article { scroll-margin-top: 1rem }
.card:target { border-color: var(--accent); outline: 1px solid var(--accent) }
@media (min-width: 60rem) {
  .api { display: grid; grid-template-columns: 17rem minmax(0, 1fr); gap: 2.5rem }
  nav { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 1rem .25rem; font-size: .9rem }
  nav ul ul { display: block; padding-left: .75rem }
  nav ul ul li { margin: .1rem 0 }
}
`;

interface ListedOperation {
  id: string;
  method: string;
  path: string;
  tag: string;
  operation: JsonObject;
}

/** The OpenAPI document of this gateway for people: each operation with its parameters, body and answers, and an example for the terminal. */
export function renderApiPage(document: JsonObject): ReturnType<typeof renderPage> {
  const operations = operationsIn(document);
  const groups = listIn(document['tags'])
    .map((tag) => ({
      name: textIn(tag['name']),
      about: textIn(tag['description']),
      operations: operations.filter((shown) => shown.tag === tag['name']),
    }))
    .filter((group) => group.operations.length > 0);
  const info = objectIn(document['info']);
  const components = objectIn(document['components']);
  const schemas = Object.entries(objectIn(components['schemas']));
  const body = html`<h1>The API of this gateway</h1>
    <p class="soft">
      toolwharf ${textIn(info['version'])}. Programs can read the same as an OpenAPI ${textIn(document['openapi'])} document:
      <a href="openapi.json">openapi.json</a>.
    </p>
    <p>${prose(textIn(info['description']))}</p>
    <p>In the examples, <code>U</code> is the URL of the gateway and <code>KEY</code> is an API key:</p>
    <pre>
U=http://127.0.0.1:8080
KEY=sk-tw-...</pre>
    <div class="api">
      <nav aria-label="Routes">
        <ul>
          ${groups.map((group) => navigationOf(group))}
          <li><a href="#schemas">Schemas</a></li>
        </ul>
      </nav>
      <div>
        ${groups.map(
          ({ name, about, operations: shown }) =>
            html`<section aria-labelledby="${slug(name)}">
              <h2 class="area" id="${slug(name)}">${name}</h2>
              <p class="soft">${prose(about)}</p>
              ${shown.map((operation) => operationCard(operation))}
            </section>`,
        )}
        <section aria-labelledby="schemas">
          <h2 class="area" id="schemas">Schemas</h2>
          ${schemas.map(([name, schema]) => schemaCard(name, objectIn(schema)))}
        </section>
      </div>
    </div>`;
  return renderPage({ title: 'API', body, style });
}

function operationsIn({ paths }: JsonObject): ListedOperation[] {
  return Object.entries(objectIn(paths)).flatMap(([path, item]) =>
    Object.entries(objectIn(item)).map(([method, value]) => {
      const operation = objectIn(value);
      const tags: JsonValue | undefined = operation['tags'];
      const tag = Array.isArray(tags) ? textIn(tags[0]) : '';
      return { id: textIn(operation['operationId']), method: method.toUpperCase(), path, tag, operation };
    }),
  );
}

function navigationOf({ name, operations }: { name: string; operations: readonly ListedOperation[] }): Html {
  const listed = operations.filter(({ operation }) => aliasOf(operation) === '');
  const summaries = listed.map(({ operation }) => textIn(operation['summary']));
  const isUnique = (summary: string): boolean => summaries.indexOf(summary) === summaries.lastIndexOf(summary);
  return html`<li>
    <a href="#${slug(name)}">${name}</a>
    <ul>
      ${listed.map(({ id, method, path, operation }) => {
        const summary = textIn(operation['summary']);
        return html`<li><a href="#${id}">${isUnique(summary) ? summary : `${method} ${path}`}</a></li>`;
      })}
    </ul>
  </li>`;
}

function operationCard(shown: ListedOperation): Html {
  const { id, method, path, operation } = shown;
  return html`<article class="card" id="${id}" aria-labelledby="${id}-name">
    <h3 id="${id}-name">
      <a class="anchor" href="#${id}"><span class="verb">${method}</span><code>${path}</code></a>
    </h3>
    <p>
      ${textIn(operation['summary'])}.
      ${prose(aliasOf(operation) || textIn(operation['description']))}${isPublic(operation) && html` No key is needed.`}
    </p>
    ${aliasOf(operation) === '' && detailsOf(shown)}
  </article>`;
}

function detailsOf(shown: ListedOperation): Html {
  const { operation } = shown;
  const parameters = listIn(operation['parameters']);
  const body = bodyOf(operation);
  return html`${
      parameters.length > 0 &&
      html`<h4>Parameters</h4>
        ${fieldList(parameters.map((parameter) => toField(parameter)))}`
    }
    ${
      body !== undefined &&
      html`<h4>Body</h4>
        ${schemaMarkup(body.schema)}`
    }
    <h4>Example</h4>
    <pre role="group" tabindex="0" aria-label="Example">${exampleOf(shown)}</pre>
    <h4>Answers</h4>
    ${answerList(objectIn(operation['responses']))}`;
}

function schemaCard(name: string, schema: JsonObject): Html {
  return html`<article class="card" id="schema-${name}" aria-labelledby="schema-${name}-name">
    <h3 id="schema-${name}-name"><a class="anchor" href="#schema-${name}">${name}</a></h3>
    ${textIn(schema['description']) !== '' && html`<p>${prose(textIn(schema['description']))}</p>`} ${schemaMarkup(schema)}
  </article>`;
}

/** Empty unless the route is an alias of another one. */
function aliasOf(operation: JsonObject): string {
  const alias = textIn(operation['x-alias-of']);
  return alias === '' ? '' : `The same as \`${alias}\`.`;
}

function isPublic({ security }: JsonObject): boolean {
  return Array.isArray(security) && security.length === 0;
}

function bodyOf({ requestBody }: JsonObject): { schema: JsonObject; example: JsonValue | undefined } | undefined {
  const [content] = Object.values(objectIn(objectIn(requestBody)['content']));
  if (!isJsonObject(content)) return undefined;
  return { schema: objectIn(content['schema']), example: content['example'] };
}

function toField(parameter: JsonObject): SchemaField {
  const schema = objectIn(parameter['schema']);
  return {
    name: textIn(parameter['name']),
    type: typeOf(schema),
    isRequired: parameter['required'] === true,
    description: [`In the ${textIn(parameter['in'])}.`, textIn(parameter['description'])].join(' '),
  };
}

function schemaMarkup(schema: JsonObject): Html {
  const fields = fieldsOf(schema);
  return fields.length === 0 ? html`<p>${typeMarkup(typeOf(schema))}</p>` : fieldList(fields);
}

function fieldList(fields: readonly SchemaField[]): Html {
  return html`<dl class="fields">
    ${fields.map(
      ({ name, type, isRequired, description }) =>
        html`<dt><code>${name}</code> <span class="type">${typeMarkup(type)}${isRequired && ', required'}</span></dt>
          <dd>${prose(description)}</dd>`,
    )}
  </dl>`;
}

function answerList(responses: JsonObject): Html {
  const answers = Object.entries(responses).map(([status, value]) => ({ status, response: objectIn(value) }));
  const shared = answers.flatMap(({ status, response }) => ('$ref' in response && status !== 'default' ? [status] : []));
  return html`<dl class="fields">
    ${answers.filter(({ response }) => !('$ref' in response)).map(({ status, response }) => answerItem(status, response))}
    ${
      shared.length > 0 &&
      html`<dt>
        <b>${shared.join(', ')}</b> <span class="type"><a href="#schema-Error">Error</a></span>
      </dt>`
    }
  </dl>`;
}

function answerItem(status: string, { description, content }: JsonObject): Html {
  const contents = Object.entries(objectIn(content)).map(([type, value]) => ({ type, schema: objectIn(objectIn(value)['schema']) }));
  const types = contents.map(({ type, schema }) => (type === 'application/json' ? typeMarkup(typeOf(schema)) : html`<code>${type}</code>`));
  const fields = contents.flatMap(({ schema }) => fieldsOf(schema));
  return html`<dt><b>${status}</b> <span class="type">${join(types, ', ')}</span></dt>
    <dd>${prose(textIn(description))}${fields.length > 0 && fieldList(fields)}</dd>`;
}

/** Names of schemas link to them. */
function typeMarkup(type: string): Html {
  const parts = type.split(/(\{\w+\})/);
  return join(
    parts.map((part) => {
      const name = /^\{(\w+)\}$/.exec(part)?.[1];
      return name === undefined ? html`${part}` : html`<a href="#schema-${name}">${name}</a>`;
    }),
  );
}

function exampleOf({ method, path, operation }: ListedOperation): string {
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase());
  const body = bodyOf(operation);
  const lines = [
    `curl ${method === 'GET' || (method === 'POST' && body?.example !== undefined) ? '' : `-X ${method} `}"$U${url}"`,
    ...(isPublic(operation) ? [] : ['-H "authorization: Bearer $KEY"']),
    ...(body?.example === undefined
      ? []
      : ["-H 'content-type: application/json'", `-d '${JSON.stringify(body.example).replaceAll("'", String.raw`'\''`)}'`]),
  ];
  return lines.join(' \\\n  ');
}

/** Text with code in backticks. */
function prose(text: string): Html {
  return join(text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`)));
}

function join(parts: readonly Html[], separator = ''): Html {
  return new Html(parts.map(({ markup }) => markup).join(separator));
}

function slug(name: string): string {
  return name.toLowerCase().replaceAll(/\W+/g, '-');
}

function objectIn(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function listIn(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
