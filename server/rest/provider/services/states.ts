import { z } from 'zod'
import { activate, pause, retire, withdraw } from '../../../../core/catalog/upstreams/lifecycle.ts'
import { dayName, daysBefore } from '../../../../core/clock.ts'
import { inputFault } from '../../input-errors.ts'
import { type AnyRoute, ownerOf, route } from '../../route.ts'
import { type ServiceDeps, serviceReviewRules } from './deps.ts'
import { refreshAndShow, ServiceView } from './view.ts'

const RetirementOrder = z.strictObject({
  sunset: z.iso.date().optional().meta({
    description: 'Last UTC day of sale. Default: the end of the notice period.',
  }),
})

const ActivationOrder = z.strictObject({
  waive_tests: z
    .boolean()
    .default(false)
    .meta({
      description:
        'true: sell endpoints without a passing test call. Buyers see which ones, until a call ' +
        'of theirs was delivered.',
    }),
})

/** Lifecycle of a service: activate, pause, retire. */
export const serviceStateRoutes = (deps: ServiceDeps): readonly AnyRoute[] => [
  route('POST /v1/provider/services/{slug}/activate', {
    summary: 'Starts selling a service, or submits it for approval (state: pending).',
    auth: 'provider',
    body: ActivationOrder,
    example: {},
    response: { status: 200, schema: ServiceView },
    faults: ['root_key_required', 'service_not_found', 'service_incomplete', 'service_state'],
    handle: async (request) => {
      const { slug } = request.params
      const rules = { ...serviceReviewRules(deps), waivesTests: request.body.waive_tests }
      return refreshAndShow(deps, await activate(deps.pool, ownerOf(request), slug, rules))
    },
  }),
  route('POST /v1/provider/services/{slug}/withdraw', {
    summary:
      'Withdraws the version that awaits approval; your next changes start from what callers see.',
    auth: 'provider',
    response: { status: 200, schema: ServiceView },
    faults: ['root_key_required', 'service_not_found', 'service_state'],
    handle: async (request) =>
      refreshAndShow(deps, await withdraw(deps.pool, ownerOf(request), request.params.slug)),
  }),
  route('POST /v1/provider/services/{slug}/pause', {
    summary: 'Pauses a service immediately, until you activate it again.',
    auth: 'provider',
    response: { status: 200, schema: ServiceView },
    faults: ['root_key_required', 'service_not_found', 'service_state'],
    handle: async (request) =>
      refreshAndShow(deps, await pause(deps.pool, ownerOf(request), request.params.slug)),
  }),
  route('POST /v1/provider/services/{slug}/retire', {
    summary: 'Announces the end of a service to callers (Deprecation and Sunset headers).',
    auth: 'provider',
    body: RetirementOrder,
    example: { sunset: '2027-06-30' },
    response: { status: 200, schema: ServiceView },
    faults: ['root_key_required', 'service_not_found', 'service_state'],
    handle: async (request) => {
      const first = dayName(daysBefore(deps.clock.now(), -deps.listing.noticeDays))
      const { sunset = first } = request.body
      if (sunset < first) {
        const { noticeDays } = deps.listing
        throw inputFault('/sunset', `must be ${first} or later (${noticeDays} days' notice)`)
      }
      return refreshAndShow(
        deps,
        await retire(deps.pool, ownerOf(request), request.params.slug, sunset),
      )
    },
  }),
]
