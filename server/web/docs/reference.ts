import { FAULTS, type FaultCode } from '../../../core/errors.ts'
import type { FaultRow } from '../../../core/fault-row.ts'
import type { JsonObject } from '../../../core/json.ts'
import { AUDIENCES } from '../../rest/openapi/audiences.ts'
import { type Html, html } from '../html.ts'
import { fieldList, typeName } from '../schema-fields.ts'
import { apiSnippet } from '../snippets.ts'
import { cardTable, definitionList } from '../table.ts'
import { code, docsForm, docsPage } from './docs-page.ts'

interface Media {
  readonly schema?: JsonObject
  readonly example?: unknown
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly security: readonly JsonObject[]
  readonly deprecated?: boolean
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly description?: string
    readonly schema: JsonObject
  }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string
        readonly 'x-codes'?: readonly FaultCode[]
        readonly content?: Readonly<Record<string, Media>>
      }
    >
  >
  readonly 'x-payment-info'?: { readonly price: JsonObject }
}

/** OpenAPI document of the hub, limited to the members used here. */
export interface ApiDocument extends JsonObject {
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: JsonObject
}

export interface NamedOperation {
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

export const operationsOf = ({ paths }: ApiDocument): readonly NamedOperation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation,
    })),
  )

const sectionOf = ({ operation }: NamedOperation): string => operation.tags[0] ?? 'hub'

const sectionUrl = (section: string): string => `/docs/reference/${section}`

/** URL of the description of an operation. */
export const operationUrl = (named: NamedOperation): string =>
  `${sectionUrl(sectionOf(named))}#${named.operation.operationId}`

/** Groups operations by tag. */
const sectionsOf = (
  document: ApiDocument,
): readonly (readonly [string, readonly NamedOperation[]])[] =>
  [...Map.groupBy(operationsOf(document), sectionOf)].toSorted(([a], [b]) => a.localeCompare(b))

/** `/docs`: every operation, linked to its description. */
export function referencePage(document: ApiDocument) {
  const sections = sectionsOf(document)
  return docsPage(
    'API reference',
    'API reference',
    html`${docsForm()}<p>Amounts are whole microdollars: 1,000,000 = 1 USD. Send your key as
<code>Authorization: Bearer ahk_…</code> or <code>X-API-Key</code>.
Every error is a problem document (RFC 9457) that states the charge;
see <a href="/docs/problems">error codes</a>. This reference is also available as OpenAPI:
${openApiLinks()}.</p>
<nav aria-label="Sections"><ul class="columns-list">${sections.map(
      ([section, all]) =>
        html`<li><a href="${sectionUrl(section)}">${section}</a> (${all.length})</li>`,
    )}</ul></nav>${sections.map(
      ([section, all]) =>
        html`<section id="tag-${section}"><h2><a href="${sectionUrl(section)}">${section}</a></h2>
<ul class="plain-list">${all.map(lineOf)}</ul></section>`,
    )}`,
  )
}

const openApiLinks = (): readonly Html[] =>
  Object.values(AUDIENCES).map(
    ({ path, title }, i) => html`${i > 0 && ', '}<a href="${path}">${title}</a>`,
  )

const lineOf = (named: NamedOperation): Html =>
  html`<li id="${named.operation.operationId}"><a href="${operationUrl(named)}"><code>${
    named.method
  } ${named.path}</code></a> ${named.operation.summary}</li>`

/**
 * `/docs/reference/{section}`: parameters, bodies and price of each operation. Undefined for an
 * unknown section.
 */
export function sectionPage(section: string, document: ApiDocument) {
  const all = operationsOf(document).filter((each) => sectionOf(each) === section)
  return all.length === 0 ? undefined : pageOf(section, all, document.servers[0]?.url ?? '')
}

const pageOf = (section: string, all: readonly NamedOperation[], baseUrl: string) =>
  docsPage(
    `API reference: ${section}`,
    'API reference',
    html`<p>The schemas of responses are in OpenAPI: ${openApiLinks()}.</p>
<nav aria-label="Operations"><ul>${all.map(
      ({ method, path, operation }) =>
        html`<li><a href="#${operation.operationId}"><code>${method} ${path}</code></a></li>`,
    )}</ul></nav>${all.map((each) => articleOf(each, baseUrl))}`,
  )

/** Articles by operation: most operations are the same objects from document to document. */
const articles = new WeakMap<Operation, Html>()

function articleOf(named: NamedOperation, baseUrl: string): Html {
  const known = articles.get(named.operation)
  if (known) return known
  const article = describeOperation(named, baseUrl)
  articles.set(named.operation, article)
  return article
}

/** Description of an operation, with a request beside it on wide screens. */
function describeOperation({ method, path, operation }: NamedOperation, baseUrl: string): Html {
  const { operationId, summary, security, parameters = [], requestBody, responses } = operation
  const price = operation['x-payment-info']?.price
  const bodies = Object.entries(requestBody?.content ?? {})
  const sample = {
    method,
    path,
    auth: authOf(security),
    body: bodies.find(([type]) => type === 'application/json')?.[1].example,
  }
  return html`<article class="endpoint" id="${operationId}"><h2><code>${method} ${path}</code></h2>
<div class="operation"><div><p>${
    operation.deprecated && html`<strong>Deprecated.</strong> `
  }${summary}</p>
<p>${security.length === 0 ? 'Public.' : `Requires ${security.map(schemeOf).join(' or ')}.`}${
    price ? ` Price in USD: ${priceOf(price)}.` : undefined
  }</p>${
    parameters.length === 0
      ? undefined
      : html`<h3>Parameters</h3>
<dl class="definitions schema-fields">${parameters.map(parameterOf)}</dl>`
  }${bodies.map(([type, media]) => mediaDetails('Body', type, media, true))}${Object.entries(
    responses,
  ).flatMap(([status, { content = {} }]) =>
    status < '300'
      ? Object.entries(content).map(([type, media]) =>
          mediaDetails(`Response ${status}`, type, media),
        )
      : [],
  )}${errorsOf(responses)}</div>${code(apiSnippet(sample, baseUrl))}</div></article>`
}

const parameterOf = (one: NonNullable<Operation['parameters']>[number]): Html =>
  html`<div><dt><code>${one.name}</code><span class="small">${one.in}, ${typeName(
    one.schema,
  )}${one.required && ', required'}</span></dt><dd>${one.description}</dd></div>`

function errorsOf(responses: Operation['responses']): Html | undefined {
  const failing = Object.entries(responses).filter(([, { 'x-codes': codes }]) => codes)
  if (failing.length === 0) return undefined
  return html`<details><summary>Errors: ${failing
    .map(([status]) => status)
    .join(', ')}</summary><dl class="definitions">${failing.map(
    ([status, { 'x-codes': codes = [] }]) =>
      html`<div><dt>${status}</dt><dd>${codes.map(
        (code, i) => html`${i > 0 && ', '}${linkTo(code)}`,
      )}</dd></div>`,
  )}</dl></details>`
}

/** @param isFull true to add the schema to its list of fields; else OpenAPI has it */
function mediaDetails(what: string, type: string, { schema, example }: Media, isFull = false) {
  const fields = fieldList(schema)
  return html`<details><summary>${what}: <code>${type}</code></summary>${
    example !== undefined &&
    html`<p>Example</p><pre tabindex="0"><code>${formatJson(example)}</code></pre>`
  }${fields}${
    (isFull || !fields) && html`<pre tabindex="0"><code>${formatJson(schema ?? {})}</code></pre>`
  }</details>`
}

const formatJson = (value: unknown): string => JSON.stringify(value, null, 2)

/** Credential of the sample: a key, if one is accepted. */
const authOf = (security: readonly JsonObject[]): 'key' | 'session' | undefined =>
  security.some((each) => 'apiKey' in each || 'credits' in each)
    ? 'key'
    : security.some((each) => 'session' in each)
      ? 'session'
      : undefined

const schemeOf = (scheme: JsonObject): string => {
  const [name] = Object.keys(scheme)
  return name === undefined ? 'a payment' : name === 'session' ? 'a session' : 'a key'
}

const priceOf = ({ mode, amount, min, max }: JsonObject): string =>
  mode === 'fixed' ? String(amount) : `${String(min)} to ${String(max)}`

const linkTo = (code: FaultCode): Html =>
  html`<a href="/docs/problems/${code}"><code>${code}</code></a>`

/** `/docs/problems`: all error codes. */
export const problemsPage = () =>
  docsPage(
    'Error codes',
    'Error codes',
    html`<p>Every error has one of these codes. Its <code>charged_microdollars</code> is 0, unless
an external seller took the money.</p>${cardTable(
      'Error codes',
      [
        { head: 'Code', noWrap: true, cell: linkTo },
        { head: 'Status', cell: (code) => FAULTS[code][0] },
        { head: 'Meaning', cell: (code) => FAULTS[code][1] },
        { head: 'What to do', cell: (code) => FAULTS[code][2] },
      ],
      Object.keys(FAULTS) as FaultCode[],
    )}`,
  )

/** `/docs/problems/{code}`, the `type` URL of a problem; undefined for an unknown code. */
export function problemPage(code: string, document: ApiDocument) {
  if (!Object.hasOwn(FAULTS, code)) return undefined
  const known = code as FaultCode
  const [status, title, advice, seconds]: FaultRow = FAULTS[known]
  const occurrences = operationsOf(document).filter(({ operation }) =>
    Object.values(operation.responses).some((one) => one['x-codes']?.includes(known)),
  )
  return docsPage(
    title,
    'Error codes',
    html`<p class="lead">${advice}</p>${definitionList({
      Code: html`<code>${code}</code>`,
      'HTTP status': status,
      Retry:
        seconds === undefined
          ? 'Will fail again'
          : html`May succeed after the seconds in <code>Retry-After</code>, usually ${seconds}`,
    })}${
      occurrences.length === 0
        ? undefined
        : html`<h2>Where it occurs</h2><ul>${occurrences.map(
            (named) =>
              html`<li><a href="${operationUrl(named)}"><code>${named.method} ${
                named.path
              }</code></a>
</li>`,
          )}</ul>`
    }`,
  )
}
