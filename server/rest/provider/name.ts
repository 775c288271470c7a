import type { Pool } from 'pg'
import { z } from 'zod'
import {
  type ProviderName,
  readProviderName,
  setProviderName,
} from '../../../core/catalog/review/provider-names.ts'
import { plainText } from '../fields.ts'
import { ReviewView, reviewRules, showReview } from '../review-view.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'

const NameView = z.object({
  provider_id: z.string().nullable().meta({ description: 'null: you have listed nothing yet.' }),
  name: z.string().nullable().meta({ description: 'Name that buyers see; null: none approved.' }),
  review: ReviewView,
})
export type ProviderNameJson = z.infer<typeof NameView>

export interface ProviderNameDeps {
  readonly pool: Pool
  readonly approval: boolean
  readonly proxyUrl: () => string
}

/** Display name of a provider, which buyers see instead of its id. */
export const providerNameRoutes = (deps: ProviderNameDeps): readonly AnyRoute[] => [
  route('GET /v1/provider/name', {
    summary: 'Returns your display name, and the one that awaits approval.',
    auth: 'provider',
    response: { status: 200, schema: NameView },
    faults: ['root_key_required'],
    handle: async (request) => ({
      body: showName(await readProviderName(deps.pool, ownerOf(request))),
    }),
  }),
  route('PUT /v1/provider/name', {
    summary: 'Sets your display name. A name that resembles another one is refused.',
    auth: 'provider',
    body: z.strictObject({ name: plainText(60) }),
    example: { name: 'Northwind Weather' },
    response: { status: 200, schema: NameView },
    faults: ['root_key_required'],
    handle: async (request) => {
      const owner = ownerOf(request)
      await setProviderName(deps.pool, owner, request.body.name, reviewRules(deps))
      return { body: showName(await readProviderName(deps.pool, owner)) }
    },
  }),
]

const showName = ({ provider, name, review }: ProviderName): ProviderNameJson => ({
  provider_id: provider ?? null,
  name: name ?? null,
  review: showReview(review),
})
