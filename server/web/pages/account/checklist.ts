import type { PublishedService } from '../../../../core/catalog/services/published-services.ts'
import type { FirstSteps } from '../../../../core/identity/first-steps.ts'
import { dialogPath } from '../../dialog.ts'
import { form, formFields } from '../../form.ts'
import { formatCount } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import type { Submission } from '../../page.ts'
import { type Step, stepList } from '../../step-list.ts'
import { withQuery } from '../../table.ts'

export interface ChecklistContent {
  readonly steps: FirstSteps & { readonly hasCredits: boolean }
  /** Service for the first call. */
  readonly service: PublishedService | undefined
  /** A main key, if there is one. */
  readonly keyId: string | undefined
  readonly submission: Submission | undefined
}

/** Steps of a new account; undefined once all are done. */
export const checklist = (content: ChecklistContent) => stepList('Get started', stepsOf(content))

function stepsOf({ steps, service, keyId, submission }: ChecklistContent): readonly Step[] {
  const key = keyId ?? ''
  return [
    { title: 'Create a key', isDone: steps.hasKey, body: keyForm(submission) },
    { title: 'Make your first call', isDone: steps.hasCalled, body: callStep(service) },
    {
      title: 'Add credits',
      isDone: steps.hasCredits,
      body: html`<p>Free calls end after a number per month. Credits pay for all others.</p>
<p><a class="button" href="${withQuery('/topup', { key_id: key })}">Add credits</a></p>`,
    },
    {
      title: 'Limit what an agent can spend',
      isDone: steps.hasLimits,
      body: html`<p>Give each agent a sub-key with a limit per call, per day or in total.</p>
<p><a class="button" href="${dialogPath(`/account/keys/${key}`, 'child')}">Create a
sub-key</a></p>`,
    },
  ]
}

const keyForm = (submission: Submission | undefined): Html =>
  html`<p>Agents call with a key, which holds credits. Have a wallet with a key already?
<a href="/account/wallets">Link it</a>.</p>${form({
    act: 'make',
    submit: 'Create key',
    fields: [formFields('make', submission).text({ name: 'name', label: 'Name', max: 100 })],
  })}`

const callStep = (service: PublishedService | undefined): Html =>
  service === undefined
    ? html`<p><a class="button" href="/services">Browse services</a></p>`
    : html`<p>${service.name}: ${service.summary}${
        service.freeCallsPerMonth > 0 &&
        ` ${formatCount(service.freeCallsPerMonth)} calls per month are free.`
      }</p><p><a class="button" href="/services/${service.slug}/try">Try ${service.name}</a>
<a class="button plain" href="/services">Browse services</a></p>`
