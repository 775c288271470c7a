import { z } from 'zod'
import {
  canonicalOrigin,
  type UrlRules,
} from '../../../core/catalog/listings/discovery/canonical.ts'
import {
  findProof,
  type OwnershipPorts,
  optOut,
  ownerOf,
  PROOF_FILE,
  PROOF_LABEL,
  PROOF_NAME,
  proofToken,
  recordOwner,
} from '../../../core/catalog/listings/ownership.ts'
import { REASONS } from '../../../core/catalog/listings/reasons.ts'
import { Fault } from '../../../core/errors.ts'
import { type AnyRoute, callerOf, route } from '../route.ts'

const Host = z.string().min(1).max(300).meta({ description: 'A host or an origin.' })

const Ownership = z.object({
  host: z.string(),
  proven: z.boolean(),
  method: z.enum(['file', 'meta', 'dns']).nullable(),
  token: z.string(),
  ways: z.array(z.object({ method: z.string(), where: z.string(), content: z.string() })),
})

const OptOut = z.strictObject({
  host: Host,
  opted_out: z.boolean().default(true).meta({ description: 'false: to be listed again.' }),
  reason: z.string().max(500).optional(),
})

const OptedOut = z.object({ host: z.string(), opted_out: z.boolean(), listings: z.int() })

/** Where owners of hosts prove that they are, and decide whether they are listed. */
export const ownershipRoutes = (
  ports: OwnershipPorts & { readonly rules: UrlRules },
): readonly AnyRoute[] => [
  route({
    method: 'POST',
    path: '/v1/listings/ownership',
    summary: 'Tells how to prove that a host is yours, and looks whether you have done so.',
    auth: 'key',
    body: z.strictObject({ host: Host }),
    answer: { status: 200, schema: Ownership },
    handle: async (request) => {
      const { principal } = callerOf(request)
      const origin = originOf(request.body.host, ports.rules)
      const { hostname: host } = new URL(origin)
      const token = proofToken(ports.secret, principal, host)
      const method = await findProof(ports, origin, token)
      if (method) await recordOwner(ports.pool, host, principal, method)
      const ways = waysOf(origin, host, token)
      return { body: { host, proven: method !== undefined, method: method ?? null, token, ways } }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/listings/opt-out',
    summary:
      'Takes every listing of a host that is yours out of the catalogue, or lets it come back.',
    auth: 'key',
    body: OptOut,
    answer: { status: 200, schema: OptedOut },
    faults: ['ownership_required'],
    handle: async (request) => {
      const { principal } = callerOf(request)
      const { opted_out: out, reason } = request.body
      const { hostname: host } = new URL(originOf(request.body.host, ports.rules))
      const owner = await ownerOf(ports.pool, host)
      const changed =
        owner?.principal === principal
          ? await optOut(ports.pool, { host, principal }, { out, reason })
          : undefined
      if (changed === undefined) throw new Fault('ownership_required')
      return { body: { host, opted_out: out, listings: changed } }
    },
  }),
]

/** @throws Fault `validation_failed` for what is no host that may be asked */
function originOf(text: string, rules: UrlRules): string {
  const canonical = canonicalOrigin(text, rules)
  if (typeof canonical !== 'string') return canonical.origin
  const message = REASONS[canonical]
  throw new Fault('validation_failed', `/host: ${message}`, {
    extras: { issues: [{ path: '/host', message }] },
  })
}

export const waysOf = (origin: string, host: string, token: string) => [
  { method: 'file', where: `${origin}${PROOF_FILE}`, content: token },
  {
    method: 'meta',
    where: `${origin}/`,
    content: `<meta name="${PROOF_NAME}" content="${token}">`,
  },
  { method: 'dns', where: `TXT ${PROOF_LABEL}.${host}`, content: `${PROOF_NAME}=${token}` },
]
