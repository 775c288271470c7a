import type { Pool, PoolClient } from 'pg'
import { z } from 'zod'
import { type ActName, audited, type Change } from '../../../core/audit/audit.ts'
import {
  listServicesOfHouse,
  type ServiceOfHouse,
} from '../../../core/catalog/services/oversight.ts'
import {
  type Stoppable,
  standingOf,
  suspend,
  suspendListed,
} from '../../../core/catalog/services/suspension.ts'
import { unreadableSecrets } from '../../../core/catalog/upstreams/secrets.ts'
import type { SealingKeys } from '../../../core/crypto/sealing.ts'
import { Fault, type FaultCode } from '../../../core/errors.ts'
import { page, pageOf, paging, readCursor } from '../paging.ts'
import { reason } from '../reason.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'

const Service = z.object({
  slug: z.string(),
  name: z.string(),
  provider: z.string(),
  owner: z.string().nullable().meta({ description: 'The wallet, or the address of mail.' }),
  state: z.enum(['active', 'unlisted', 'retired']),
  stage: z.string().nullable().meta({
    description: 'Of one that was listed without code; pending: it waits for an administrator.',
  }),
  base_url: z.string().nullable().meta({ description: 'Of the same: where its API is.' }),
  revision: z.int().nullable().meta({
    description: 'Of the same: what is approved of. It rises when its owner changes anything.',
  }),
  unreadable_secrets: z.array(z.string()).meta({
    description:
      'Of the same: no key opens them, so it is not sold. HUB_ENCRYPTION_KEYS lacks one.',
  }),
  suspended: z.enum(['no', 'service', 'provider']).meta({
    description: 'Whether the operator has stopped it, by itself or with its provider.',
  }),
  suspended_reason: z.string().nullable(),
  commission_bps: z.int().nullable().meta({
    description: 'Of its prices today, in basis points; null: it has none.',
  }),
})
export type ServiceOfHouseJson = z.infer<typeof Service>

const Moved = z.object({
  id: z.string(),
  before: z.string().meta({ description: 'The state; suspended, or how it was before that.' }),
  after: z.string(),
})

export interface ServiceAdminPorts {
  readonly pool: Pool
  /** Of secrets of owners. */
  readonly keys: SealingKeys
}

/** What the operator sees of everything that is sold, lets be sold, and stops. */
export const serviceAdminRoutes = ({ pool, keys }: ServiceAdminPorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/admin/services',
    summary: 'All services, of whatever state, with owner, commission, and whether it is stopped.',
    auth: 'finance',
    query: z.strictObject({
      ...paging,
      provider: z.string().max(40).optional(),
      slug: z.string().max(40).optional(),
      only: z.enum(['all', 'suspended', 'pending']).default('all'),
    }),
    answer: { status: 200, schema: pageOf(Service) },
    handle: async ({ query: { limit, cursor, ...filter }, url }) => {
      const [after] = readCursor(cursor, z.tuple([z.string().max(40)])) ?? []
      const rows = await listServicesOfHouse(pool, { limit: limit + 1, after, ...filter })
      const slugs = rows.map(({ slug }) => slug)
      const lost = await unreadableSecrets(pool, keys, slugs)
      return page(
        rows,
        limit,
        url,
        ({ slug }) => [slug],
        (row) => show(row, lost.get(row.slug)),
      )
    },
  }),
  moveRoute(pool, 'service', 'approve', 'Lets a service be sold that waits for it.'),
  moveRoute(pool, 'service', 'suspend', 'Stops a service: nobody can call or find it.'),
  moveRoute(pool, 'service', 'resume', 'Lets a service go on that was stopped.'),
  moveRoute(pool, 'provider', 'suspend', 'Stops all that a provider sells.'),
  moveRoute(pool, 'provider', 'resume', 'Lets a provider go on that was stopped.'),
]

interface Said {
  readonly reason: string
  readonly revision?: number | undefined
}
const Reason: z.ZodType<Said> = z.strictObject({ reason })
const Seen: z.ZodType<Said> = z.strictObject({
  reason,
  revision: z.int().min(1).optional().meta({
    description: 'Of a service that was listed without code: the one that you have seen.',
  }),
})
const CHANGED: readonly FaultCode[] = ['service_changed', 'service_incomplete', 'validation_failed']

type Move = 'approve' | 'suspend' | 'resume'

const moveRoute = (pool: Pool, kind: Stoppable, what: Move, summary: string): AnyRoute =>
  route({
    method: 'POST',
    path: `/v1/admin/${kind}s/{id}/${what}`,
    summary,
    auth: 'admin',
    body: what === 'suspend' || kind === 'provider' ? Reason : Seen,
    answer: { status: 200, schema: Moved },
    faults: ['not_found', 'service_state', ...(what === 'suspend' ? [] : CHANGED)],
    handle: async (request) => {
      const { id = '' } = request.params
      const { reason: why, revision: seen } = request.body
      const by = staffOf(request)
      const moved = await audited(pool, by, why, async (client, note) => {
        const made = await move(client, { kind, id, what, why, seen })
        if (made.before !== made.after) note(changeOf(kind, id, what, made))
        return made
      })
      return { body: { id, ...moved } }
    },
  })

interface Moving {
  readonly before: string
  readonly after: string
}

function changeOf(kind: Stoppable, id: string, what: Move, { before, after }: Moving): Change {
  const act = `${kind}.${what}` as ActName // there is no provider.approve route
  return { act, subject: id, before: { state: before }, after: { state: after } }
}

async function move(
  client: PoolClient,
  order: { kind: Stoppable; id: string; what: Move; why: string; seen: number | undefined },
): Promise<Moving> {
  const { kind, id, what, why, seen } = order
  const wanted = what === 'suspend' ? why : null
  const listed = kind === 'service' ? await suspendListed(client, id, wanted, seen) : undefined
  if (listed) return listed
  if (what === 'approve') throw new Fault('not_found', 'No such service waits for it.')
  const { reason: was } = await standingOf(client, kind, id)
  await suspend(client, kind, id, wanted)
  return { before: said(was), after: said(wanted) }
}

const said = (reason: string | null): string => (reason === null ? 'on' : `suspended: ${reason}`)

const show = (service: ServiceOfHouse, lost: readonly string[] = []): ServiceOfHouseJson => ({
  slug: service.slug,
  name: service.name,
  provider: service.provider,
  owner: service.owner,
  state: service.state,
  stage: service.stage,
  base_url: service.baseUrl,
  revision: service.revision,
  unreadable_secrets: [...lost],
  suspended: service.suspended,
  suspended_reason: service.reason,
  commission_bps: service.commissionBps,
})
