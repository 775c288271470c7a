import { dialogPath } from '../../dialog.ts'
import { html } from '../../html.ts'
import type { PageRequest } from '../../page.ts'
import { type Step, stepList } from '../../step-list.ts'
import { credentialPath } from './service-credential.ts'
import { ENDPOINT } from './service-endpoints.ts'
import { statePart } from './service-state.ts'
import type { ServiceJson } from './services.ts'

/** Steps of a draft until it is on sale; the next one links to its form. */
export const draftSteps = (service: ServiceJson, request: PageRequest<unknown>) =>
  stepList('Put it on sale', stepsOf(service, request))

function stepsOf(service: ServiceJson, request: PageRequest<unknown>): readonly Step[] {
  const { endpoints, missing, untested } = service
  const hasEndpoints = endpoints.length > 0
  const unpriced = endpoints.filter((each) => each.price_microdollars === null)
  const secret = missing.find(({ kind }) => kind === 'secret')?.what
  return [
    {
      title: 'Add endpoints',
      isDone: hasEndpoints,
      body: html`<p>Callers pay per request of an endpoint.</p>
<p><a class="button" href="${dialogPath(request.path, ENDPOINT)}">Add an endpoint</a></p>`,
    },
    {
      title: 'Set prices',
      isDone: hasEndpoints && unpriced.length === 0,
      body: html`<p>Without a price: ${unpriced.map(
        ({ method, path }, i) => html`${i > 0 && ', '}<code>${method} ${path}</code>`,
      )}.</p><p><a class="button" href="#endpoints">Set prices</a></p>`,
    },
    {
      title: 'Set the upstream credential',
      isDone: secret === undefined,
      body: html`<p>Missing: ${secret}. It is stored encrypted.</p>
<p><a class="button" href="${credentialPath(request.path, service)}">Set the
credential</a></p>`,
    },
    {
      title: 'Test every endpoint',
      isDone: hasEndpoints && untested.length === 0,
      body: html`<p>Without a passing test call: ${untested.map(
        (name, i) => html`${i > 0 && ', '}<code>${name}</code>`,
      )}.</p><p><a class="button" href="#test">Send test calls</a></p>${statePart(
        service,
        request,
      )}`,
    },
    {
      title: 'Publish',
      isDone: false,
      body: html`<p>Lists your API in the catalog; callers pay for each call.</p>${statePart(
        service,
        request,
      )}`,
    },
  ]
}
