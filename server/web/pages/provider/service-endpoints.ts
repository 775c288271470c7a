import { dollarText } from '../../fields.ts'
import { fieldsOf, fold, form, SAID, sentence } from '../../form.ts'
import { day, money } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import type { PageRequest } from '../../page.ts'
import { address, cardTable } from '../../table.ts'
import type { ServiceJson } from './services.ts'

type Endpoint = ServiceJson['endpoints'][number]
type Request = PageRequest<{ readonly endpoint?: string | undefined }>

const nameOf = ({ method, path }: Endpoint): string => `${method} ${path}`

/** What is sold, each with its price, and the form that makes or changes one. */
export function endpointsPart(service: ServiceJson, request: Request): Html {
  const editing = service.endpoints.find((each) => nameOf(each) === request.query.endpoint)
  return html`<h2 id="endpoints">Endpoints</h2>${
    service.endpoints.length === 0
      ? empty('There is no endpoint yet.')
      : endpointTable(service.endpoints, request)
  }${service.state !== 'retired' && endpointFold(service, editing, request)}`
}

/** A new price, beside the one that is in force. */
function priceForm(endpoint: Endpoint, { sent }: Request): Html {
  const name = nameOf(endpoint)
  const mine = sent?.act === 'price' && sent.values['endpoint'] === name ? sent : undefined
  const error = mine?.errors['price']
  return html`<form method="post" action="${SAID}" class="small-form"><input type="hidden"
name="act" value="price"><input type="hidden" name="endpoint" value="${name}">
<input name="price" size="8" value="${mine?.values['price']}"
inputmode="decimal" autocomplete="off" required${
    error !== undefined &&
    html` id="price-price" aria-invalid="true" aria-describedby="price-error"`
  }
aria-label="New price of ${name}, in dollars">
<button type="submit" class="plain">Set</button>${
    error !== undefined && html`<p class="error" id="price-error">${sentence(error)}</p>`
  }</form>`
}

const endpointTable = (endpoints: readonly Endpoint[], request: Request): Html =>
  cardTable(
    'Endpoints',
    [
      {
        head: 'Endpoint',
        cell: (each) =>
          html`<code>${nameOf(each)}</code><br><span class="muted small">${each.summary}</span>`,
      },
      {
        head: 'Price',
        number: true,
        cell: ({ price_microdollars: price, coming_price: coming }) =>
          html`${price === null ? html`<span class="bad">none</span>` : money(price)}${
            coming &&
            html`<br><span class="muted small">${money(coming.price_microdollars)} from ${day(
              coming.effective_at,
            )}</span>`
          }`,
      },
      {
        head: 'New price, in dollars',
        cell: (each) => priceForm(each, request),
      },
      {
        head: 'Change',
        cell: (each) =>
          html`<div class="actions"><a class="button plain" href="${address(request.path, {
            endpoint: nameOf(each),
          })}#endpoint" aria-label="Change ${nameOf(each)}">Change</a>${
            endpoints.length > 1 &&
            form({
              act: 'drop',
              submit: 'Remove',
              hidden: { endpoint: nameOf(each) },
              kind: 'plain',
              label: `Remove ${nameOf(each)}`,
            })
          }</div>`,
      },
    ],
    endpoints,
  )

const METHODS = { GET: 'GET', POST: 'POST', PUT: 'PUT', PATCH: 'PATCH', DELETE: 'DELETE' }

const written = (schema: unknown): string =>
  schema === null || schema === undefined ? '' : JSON.stringify(schema, null, 2)

/** The form is open where it is what comes next. */
const endpointFold = (
  { endpoints }: ServiceJson,
  editing: Endpoint | undefined,
  request: Request,
): Html =>
  html`<div id="endpoint">${fold(
    editing ? html`Change <code>${nameOf(editing)}</code>` : 'Add an endpoint',
    endpointForm(editing, request),
    editing !== undefined || endpoints.length === 0 || request.sent?.act === 'endpoint',
  )}</div>`

function endpointForm(endpoint: Endpoint | undefined, { sent, path }: Request): Html {
  const { text, select } = fieldsOf('endpoint', sent)
  const was = endpoint ? nameOf(endpoint) : ''
  return html`${form({
    act: 'endpoint',
    submit: endpoint ? 'Save the endpoint' : 'Add the endpoint',
    kind: 'plain',
    to: path,
    hidden: { was: sent?.act === 'endpoint' ? (sent.values['was'] ?? '') : was },
    fields: [
      html`<div class="row">${[
        select(
          { name: 'method', label: 'Method', value: endpoint?.method ?? 'GET', required: true },
          METHODS,
        ),
        text({
          name: 'path',
          label: 'Path',
          required: true,
          max: 300,
          size: 20,
          value: endpoint?.path ?? '',
          placeholder: '/cities/{city}/weather',
        }),
        text({
          name: 'price',
          label: 'Price, in dollars',
          numeric: true,
          size: 8,
          value: endpoint ? '' : dollarText(null),
        }),
      ]}</div>`,
      text({
        name: 'summary',
        label: 'Summary',
        required: true,
        max: 500,
        value: endpoint?.summary ?? '',
      }),
      text({
        name: 'input_schema',
        label: 'Schema of the input',
        lines: 6,
        value: written(endpoint?.input_schema),
        hint: 'JSON Schema of an object: path, query and body in one. Left empty: anything.',
      }),
      text({
        name: 'output_schema',
        label: 'Schema of the answer',
        lines: 6,
        value: written(endpoint?.output_schema),
        hint: 'An answer that does not satisfy it is refunded.',
      }),
    ],
  })}${endpoint && html`<p><a href="${path}#endpoints">Leave it as it is</a></p>`}`
}
