import { dialogPath, dialogs } from '../../dialog.ts'
import { form, formFields } from '../../form.ts'
import { formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import type { PageRequest } from '../../page.ts'
import type { ServiceJson } from './services.ts'

type RequiredSecret = NonNullable<ServiceJson['imported']>['secrets'][number]

type Request = PageRequest<{ readonly edit?: string | undefined }>

/** Secrets that the document requires and that are not set. */
const requiredSecrets = ({ secrets, imported }: ServiceJson): readonly RequiredSecret[] =>
  secrets.length === 0 ? (imported?.secrets ?? []) : []

/** Address of the dialog that sets the credential of a service. @param path its page */
export const credentialPath = (path: string, service: ServiceJson): string => {
  const [first] = requiredSecrets(service)
  return dialogPath(path, first?.in === 'oauth2' ? 'oauth2' : 'secret')
}

/** Dialogs that set the upstream credential: a header, or OAuth2 client credentials. */
export function credentialPart(service: ServiceJson, request: Request): Html {
  const { secrets, imported } = service
  const { submission, path, query } = request
  const required = requiredSecrets(service)
  const intro = html`<p>Authenticates the hub's requests to your API. It is stored encrypted and
never shown.${
    secrets.length > 0 &&
    html` Current: ${secrets.map(
      (each) => html`<code>${each.name}</code>${each.in === 'oauth2' && ' (OAuth2 token)'}, set
${formatTime(each.set_at)}. `,
    )}`
  }${requirement(required, secrets.length === 0 ? (imported?.secret_choices ?? []) : [])}</p>`
  const verb = secrets.length === 0 ? 'Set' : 'Replace by'
  return html`<h2 id="credential">Upstream credential</h2>${intro}${dialogs(
    [
      {
        name: 'secret',
        button: `${verb} a header…`,
        title: 'Header with a credential',
        content: headerForm(required, request),
      },
      {
        name: 'oauth2',
        button: `${verb} OAuth2 client credentials…`,
        title: 'OAuth2 client credentials',
        content: html`<p>The hub requests access tokens with them, and sends your API the token.
</p>${oauthForm(required, request)}`,
      },
    ],
    path,
    submission?.act ?? query.edit,
  )}`
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

function headerForm(required: readonly RequiredSecret[], { submission }: Request): Html {
  const { text } = formFields('secret', submission)
  const header = required.find((each) => each.in === 'header')?.name ?? 'Authorization'
  return form({
    act: 'secret',
    submit: 'Save credential',
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

function oauthForm(required: readonly RequiredSecret[], { submission }: Request): Html {
  const { text, select } = formFields('oauth2', submission)
  const { token_url: url = '', scope = '' } = required.find((each) => each.in === 'oauth2') ?? {}
  return form({
    act: 'oauth2',
    submit: 'Save client credentials',
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
