import { z } from 'zod'
import { activate, pause, retire } from '../../../core/catalog/upstreams/states.ts'
import { dayName, daysBefore } from '../../../core/clock.ts'
import { Fault } from '../../../core/errors.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'
import { changed, type ServicePorts } from './services-parts.ts'
import { ServiceView } from './services-view.ts'

const Announcement = z.strictObject({
  sunset: z.iso.date().optional().meta({
    description: 'The last day of its sale, UTC. Left out: the first that its notice allows.',
  }),
})

/** Draft, active, paused, retired. */
export const serviceStates = (ports: ServicePorts): readonly AnyRoute[] => [
  route({
    method: 'POST',
    path: '/v1/provider/services/{slug}/activate',
    summary: 'Sells a service, or asks an administrator to approve of it (state: pending).',
    auth: 'provider',
    answer: { status: 200, schema: ServiceView },
    faults: ['root_key_required', 'service_not_found', 'service_incomplete', 'service_state'],
    handle: async (request) => {
      const { slug = '' } = request.params
      const { approval } = ports.listing
      return changed(ports, await activate(ports.pool, ownerOf(request), slug, approval))
    },
  }),
  route({
    method: 'POST',
    path: '/v1/provider/services/{slug}/pause',
    summary: 'Stops the sale of a service at once, until you activate it again.',
    auth: 'provider',
    answer: { status: 200, schema: ServiceView },
    faults: ['root_key_required', 'service_not_found', 'service_state'],
    handle: async (request) => {
      const { slug = '' } = request.params
      return changed(ports, await pause(ports.pool, ownerOf(request), slug))
    },
  }),
  route({
    method: 'POST',
    path: '/v1/provider/services/{slug}/retire',
    summary: 'Announces its end: callers are told by Deprecation and Sunset until it comes.',
    auth: 'provider',
    body: Announcement,
    example: { sunset: '2027-06-30' },
    answer: { status: 200, schema: ServiceView },
    faults: ['root_key_required', 'service_not_found', 'service_state'],
    handle: async (request) => {
      const { slug = '' } = request.params
      const first = dayName(daysBefore(ports.clock.now(), -ports.listing.noticeDays))
      const { sunset = first } = request.body
      if (sunset < first) {
        const message = `is before ${first}: callers have ${ports.listing.noticeDays} days`
        throw new Fault('validation_failed', `/sunset: ${message}`, {
          extras: { issues: [{ path: '/sunset', message }] },
        })
      }
      return changed(ports, await retire(ports.pool, ownerOf(request), slug, sunset))
    },
  }),
]
