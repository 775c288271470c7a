import { collapsible, form, formFields } from '../../form.ts'
import { formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import type { PageRequest } from '../../page.ts'
import type { ServiceJson } from './services.ts'

type RequiredSecret = NonNullable<ServiceJson['imported']>['secrets'][number]

/** Forms that set the upstream credential: a header, or OAuth2 client credentials. */
export function credentialPart(service: ServiceJson, request: PageRequest<unknown>): Html {
  const { secrets, imported } = service
  const { act } = request.submission ?? {}
  const required = secrets.length === 0 ? (imported?.secrets ?? []) : []
  const intro = html`<p>Authenticates the hub's requests to your API. It is stored encrypted and
never shown.${
    secrets.length > 0 &&
    html` Current: ${secrets.map(
      (each) => html`<code>${each.name}</code>${each.in === 'oauth2' && ' (OAuth2 token)'}, set
${formatTime(each.set_at)}. `,
    )}`
  }${requirement(required, secrets.length === 0 ? (imported?.secret_choices ?? []) : [])}</p>`
  const part = collapsible(
    'Upstream credential',
    html`${intro}${headerForm(required, request)}<h3>OAuth2 client credentials</h3><p>The hub
requests access tokens with them, and sends your API the token.</p>${oauthForm(required, request)}`,
    act === 'secret' || act === 'oauth2' || required.length > 0,
  )
  return html`<div id="credential">${part}</div>`
}

function requirement(
  [required]: readonly RequiredSecret[],
  choices: readonly (readonly string[])[],
): Html | undefined {
  if (choices.length > 0)
    return html` One of these is enough: ${choices.map(
      (each, i) => html`${i > 0 && ', or '}<code>${each.join(' and ')}</code>`,
    )}.`
  return required && html` The document requires <code>${required.name}</code>.`
}

function headerForm(
  required: readonly RequiredSecret[],
  { submission }: PageRequest<unknown>,
): Html {
  const { text } = formFields('secret', submission)
  const header = required.find((each) => each.in === 'header')?.name ?? 'Authorization'
  return form({
    act: 'secret',
    submit: 'Save credential',
    kind: 'plain',
    fields: [
      text({ name: 'name', label: 'Header', required: true, value: header, max: 100 }),
      text({
        name: 'value',
        label: 'Value',
        hint: html`The full value, such as <code>Bearer abc</code>. Leave empty to remove it.`,
      }),
    ],
  })
}

function oauthForm(
  required: readonly RequiredSecret[],
  { submission }: PageRequest<unknown>,
): Html {
  const { text, select } = formFields('oauth2', submission)
  const { token_url: url = '', scope = '' } = required.find((each) => each.in === 'oauth2') ?? {}
  return form({
    act: 'oauth2',
    submit: 'Save client credentials',
    kind: 'plain',
    fields: [
      text({ name: 'token_url', label: 'Token URL', type: 'url', required: true, value: url }),
      text({ name: 'client_id', label: 'Client ID', required: true }),
      text({ name: 'client_secret', label: 'Client secret', required: true }),
      text({ name: 'scope', label: 'Scopes', value: scope, hint: 'Separated by spaces.' }),
      text({ name: 'audience', label: 'Audience', hint: 'If the token endpoint requires one.' }),
      select(
        { name: 'client_authentication', label: 'Sent', required: true, value: 'basic' },
        { basic: 'in the header Authorization', body: 'in the body' },
      ),
    ],
  })
}
