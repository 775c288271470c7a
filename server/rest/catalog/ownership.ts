import { z } from 'zod'
import { canonicalOrigin } from '../../../core/catalog/listings/discovery/canonical-url.ts'
import {
  findProof,
  PROOF_FILE,
  PROOF_LABEL,
  PROOF_NAME,
} from '../../../core/catalog/listings/find-proof.ts'
import {
  type OwnershipDeps,
  proofTokens,
  recordHostOwner,
  setOptOut,
} from '../../../core/catalog/listings/ownership.ts'
import { REASONS } from '../../../core/catalog/listings/reasons.ts'
import type { TargetRules } from '../../../core/egress/target.ts'
import { Fault } from '../../../core/errors.ts'
import { plainText } from '../fields.ts'
import { inputFault } from '../input-errors.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'

const Host = z.string().min(1).max(300).meta({ description: 'Host or origin.' })

const Ownership = z.object({
  host: z.string(),
  proven: z.boolean(),
  method: z.enum(['file', 'meta', 'dns']).nullable(),
  token: z.string(),
  ways: z.array(
    z.object({
      method: z.string(),
      where: z.string(),
      content: z.string(),
      problem: z.string().nullable().meta({ description: 'What the hub saw there just now.' }),
    }),
  ),
})

const OptOut = z.strictObject({
  host: Host,
  opted_out: z.boolean().default(true).meta({ description: 'false: list it again.' }),
  reason: plainText(500).optional(),
})

const OptedOut = z.object({ host: z.string(), opted_out: z.boolean(), listings: z.int() })

export const ownershipRoutes = (
  deps: OwnershipDeps & { readonly rules: TargetRules },
): readonly AnyRoute[] => [
  route('POST /v1/listings/ownership', {
    summary: 'Returns how to prove ownership of a host, and checks for the proof.',
    auth: 'key',
    body: z.strictObject({ host: Host }),
    response: { status: 200, schema: Ownership },
    faults: ['root_key_required'],
    handle: async (request) => {
      const [principal = ''] = ownerOf(request)
      const origin = parseOrigin(request.body.host, deps.rules, '/host')
      const { hostname: host } = new URL(origin)
      const tokens = proofTokens(deps.proofKeys, principal, host)
      const search = await findProof(deps, origin, tokens)
      const { proof } = search
      if (proof) await recordHostOwner(deps.pool, host, principal, proof.method)
      const [{ token }] = tokens
      const missing = search.proof ? [] : search.missing
      const ways = proofOptions(origin, host, token).map((way) => {
        const { problem = null } = missing.find(({ method }) => method === way.method) ?? {}
        return { ...way, problem }
      })
      const method = proof?.method ?? null
      return { body: { host, proven: proof !== undefined, method, token, ways } }
    },
  }),
  route('POST /v1/listings/opt-out', {
    summary: 'Removes all listings of your host from the catalog, or allows them again.',
    auth: 'key',
    body: OptOut,
    response: { status: 200, schema: OptedOut },
    faults: ['ownership_required', 'root_key_required'],
    handle: async (request) => {
      const [principal = ''] = ownerOf(request)
      const { opted_out: out, reason } = request.body
      const { hostname: host } = new URL(parseOrigin(request.body.host, deps.rules, '/host'))
      const listings = await setOptOut(deps.pool, { host, principal }, { out, reason })
      if (listings === undefined) throw new Fault('ownership_required')
      return { body: { host, opted_out: out, listings } }
    },
  }),
]

/** @throws Fault `validation_failed` if the hub must not call this host */
export function parseOrigin(text: string, rules: TargetRules, path: string): string {
  const canonical = canonicalOrigin(text, rules)
  if (typeof canonical === 'string') throw inputFault(path, REASONS[canonical])
  return canonical.origin
}

/** Three alternative ways to prove ownership. */
export const proofOptions = (origin: string, host: string, token: string) => [
  { method: 'file', where: `${origin}${PROOF_FILE}`, content: token },
  {
    method: 'meta',
    where: `${origin}/`,
    content: `<meta name="${PROOF_NAME}" content="${token}">`,
  },
  { method: 'dns', where: `TXT ${PROOF_LABEL}.${host}`, content: `${PROOF_NAME}=${token}` },
]
