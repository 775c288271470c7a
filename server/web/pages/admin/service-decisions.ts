import type { AdminServiceJson } from '../../../rest/admin/services.ts'
import type { ImpactsJson } from '../../../rest/admin/suspension-impact.ts'
import type { ReviewJson } from '../../../rest/review-view.ts'
import type { Dialog } from '../../dialog.ts'
import { form, formFields } from '../../form.ts'
import { formatDollars, pluralize } from '../../format.ts'
import { type Html, type HtmlPart, html } from '../../html.ts'
import type { PageRequest } from '../../page.ts'
import { reviewSummary } from '../../review.ts'
import { withQuery } from '../../table.ts'
import { reasonField } from '../finance/components.ts'
import { commissionForm } from './commission.ts'

export const PATH = '/admin'

/** Ids of self-registered providers, which own themselves. */
const SELF_REGISTERED = /^p-[0-9a-f]{20}$/

export const FIRST_PARTY = 'agenthub'

/** Dialogs with the decisions about a service that can be made at any time. */
export function decisionDialogs(
  request: PageRequest,
  service: AdminServiceJson,
  { service: ofService, provider: ofProvider, days }: ImpactsJson,
): readonly (Dialog | false)[] {
  const { provider, suspended } = service
  const isFirstParty = provider === FIRST_PARTY
  const decision = (name: string, title: string, impact?: ImpactsJson['service']): Dialog => ({
    name,
    title,
    button: `${title}…`,
    ...(impact && { kind: 'danger' as const }),
    content: html`${impact && impactText(impact, days)}${decisionForm(
      request,
      service,
      name,
      title,
    )}`,
  })
  return [
    !isFirstParty && {
      name: 'commission',
      title: 'Commission',
      button: 'Commission…',
      content: commissionForm(request, service),
    },
    !isFirstParty &&
      !SELF_REGISTERED.test(provider) && {
        name: 'owner',
        title: 'Owner',
        button: 'Owner…',
        content: ownerForm(request, service),
      },
    suspended === 'service'
      ? decision('resume', 'Resume service')
      : decision('suspend', 'Suspend service', ofService),
    suspended === 'provider'
      ? decision('resume-provider', 'Resume provider')
      : decision('suspend-provider', 'Suspend provider', ofProvider),
  ]
}

/** States what a suspension stops. */
function impactText({ services, ...recent }: ImpactsJson['service'], days: number): Html {
  const calls = pluralize(recent.calls, 'call')
  const callers = pluralize(recent.callers, 'caller')
  const charged = formatDollars(recent.charged_microdollars)
  return html`<p class="small muted">Stops ${pluralize(services, 'service')}. Last ${days} days:
${calls} by ${callers}, who paid ${charged}.</p>`
}

/** Changes of the waiting version, and the forms that decide on it. */
export async function reviewPart(
  request: PageRequest,
  service: AdminServiceJson,
): Promise<HtmlPart> {
  if (!service.waiting) return undefined
  const params = { id: service.slug }
  const review = await request.api<ReviewJson>('GET /v1/admin/services/{id}/review', { params })
  const decide = (name: string, submit: string) =>
    html`<section><h3>${submit}</h3>${decisionForm(request, service, name, submit)}</section>`
  return html`<h2 id="review">Review</h2>${reviewSummary(review)}<div class="columns">${[
    decide('approve', 'Approve version'),
    decide('refuse', 'Refuse version'),
  ]}</div>`
}

function decisionForm(
  { submission }: PageRequest,
  { slug, provider, version }: AdminServiceJson,
  name: string,
  submit: string,
): Html {
  const fields = formFields(name, submission)
  const sendsVersion = /^(?:approve|refuse|resume)$/.test(name) && version !== null
  return form({
    act: name,
    submit,
    to: withQuery(PATH, { slug }),
    ...(/^(?:suspend|refuse)/.test(name) && { kind: 'danger' as const }),
    hidden: {
      slug,
      id: name.endsWith('-provider') ? provider : slug,
      ...(sendsVersion && { version: String(version) }),
    },
    fields: [reasonField(fields)],
  })
}

/** Form that sets who owns the provider of a plugin's service and so earns from it. */
function ownerForm({ submission }: PageRequest, service: AdminServiceJson): Html {
  const { slug, provider } = service
  const fields = formFields('owner', submission)
  return form({
    act: 'owner',
    submit: 'Set owner',
    to: withQuery(PATH, { slug }),
    hidden: { slug, id: provider },
    fields: [
      fields.text({
        name: 'name',
        label: 'Wallet or email address',
        hint: `Earns from ${provider}, sees its sales and sets its payout address.`,
        required: true,
        max: 254,
      }),
      reasonField(fields),
    ],
  })
}
