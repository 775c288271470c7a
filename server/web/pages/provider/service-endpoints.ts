import { unitCount } from '../../../../core/money.ts'
import { type Dialog, dialogPath, dialogs, rowMenu } from '../../dialog.ts'
import { FLASH_ANCHOR, form, formFields, submittedWas, toSentence } from '../../form.ts'
import { dollarsValue } from '../../form-schemas.ts'
import { dayOf, formatDollars } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import type { PageRequest } from '../../page.ts'
import { cardTable } from '../../table.ts'
import type { ServiceJson } from './services.ts'

type Endpoint = ServiceJson['endpoints'][number]
type Request = PageRequest<{
  readonly endpoint?: string | undefined
  readonly edit?: string | undefined
}>

/** Name of the dialog that adds or edits an endpoint, and of its action. */
export const ENDPOINT = 'endpoint'

const nameOf = ({ method, path }: Endpoint): string => `${method} ${path}`

/** Endpoints with their prices, and the dialog that adds or edits one. */
export function endpointsPart(service: ServiceJson, request: Request): Html {
  const { path, query, submission } = request
  const named = submission?.act === ENDPOINT ? submission.values['was'] : query.endpoint
  const editing = service.endpoints.find((each) => nameOf(each) === named)
  return html`<h2 id="endpoints">Endpoints</h2>${
    service.endpoints.length === 0
      ? emptyState('No endpoints yet.')
      : endpointTable(service.endpoints, request)
  }${
    service.state !== 'retired' &&
    dialogs([endpointDialog(editing, request)], path, submission?.act ?? query.edit)
  }`
}

/** Form for a new price in a row of the table. */
function priceForm(endpoint: Endpoint, { submission }: Request): Html {
  const name = nameOf(endpoint)
  const mine =
    submission?.act === 'price' && submission.values['endpoint'] === name ? submission : undefined
  const error = mine?.errors['price']
  return html`<form method="post" action="${FLASH_ANCHOR}" class="small-form"><input type="hidden"
name="act" value="price"><input type="hidden" name="endpoint" value="${name}">
<input name="price" size="8" value="${mine?.values['price']}"
inputmode="decimal" autocomplete="off" required${
    error !== undefined &&
    html` id="price-price" aria-invalid="true" aria-describedby="price-error"`
  }
aria-label="New price of ${name}, in dollars">
<button type="submit" class="plain">Set</button>${
    error !== undefined && html`<p class="error" id="price-error">${toSentence(error)}</p>`
  }</form>`
}

function priceText(price: number, metered: Endpoint['metered']): string {
  if (!metered) return formatDollars(price)
  const { amount_microdollars: amount, per, unit } = metered
  return `${formatDollars(amount)} for ${unitCount(per, unit)}, up to ${formatDollars(price)}`
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
        cell: ({ price_microdollars: price, metered, coming_price: upcoming }) =>
          html`${price === null ? html`<span class="bad">none</span>` : priceText(price, metered)}${
            upcoming &&
            html`<br><span class="muted small">
${priceText(upcoming.price_microdollars, upcoming.metered)} from
${dayOf(upcoming.effective_at)}</span>`
          }`,
      },
      { head: 'New price (USD)', cell: (each) => priceForm(each, request) },
      {
        head: 'Actions',
        cell: (each) => endpointMenu(each, endpoints, request.path),
      },
    ],
    endpoints,
  )

const endpointMenu = (endpoint: Endpoint, all: readonly Endpoint[], path: string): Html => {
  const name = nameOf(endpoint)
  return rowMenu(`menu-endpoint-${all.indexOf(endpoint)}`, name, [
    html`<a href="${dialogPath(path, ENDPOINT, { endpoint: name })}">Edit</a>`,
    all.length > 1 &&
      form({
        act: 'drop',
        submit: 'Remove',
        to: path,
        hidden: { endpoint: name },
        kind: 'plain',
        label: `Remove ${name}`,
      }),
  ])
}

const METHODS = { GET: 'GET', POST: 'POST', PUT: 'PUT', PATCH: 'PATCH', DELETE: 'DELETE' }

const schemaText = (schema: unknown): string =>
  schema === null || schema === undefined ? '' : JSON.stringify(schema, null, 2)

const endpointDialog = (editing: Endpoint | undefined, request: Request): Dialog => ({
  name: ENDPOINT,
  button: 'Add an endpoint…',
  title: editing ? `Edit ${nameOf(editing)}` : 'Add an endpoint',
  content: endpointForm(editing, request),
})

function endpointForm(endpoint: Endpoint | undefined, { submission, path }: Request): Html {
  const { text, select } = formFields(ENDPOINT, submission)
  return form({
    act: ENDPOINT,
    submit: endpoint ? 'Save endpoint' : 'Add endpoint',
    to: path,
    hidden: { was: submittedWas(submission, ENDPOINT) ?? (endpoint ? nameOf(endpoint) : '') },
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
          label: 'Price (USD)',
          numeric: true,
          size: 8,
          value: endpoint ? '' : dollarsValue(null),
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
        label: 'Input schema',
        lines: 6,
        value: schemaText(endpoint?.input_schema),
        hint: 'JSON Schema of path, query and body in one object. Leave empty to accept any input.',
      }),
      text({
        name: 'output_schema',
        label: 'Response schema',
        lines: 6,
        value: schemaText(endpoint?.output_schema),
        hint: 'Calls are refunded if the response does not match.',
      }),
    ],
  })
}
