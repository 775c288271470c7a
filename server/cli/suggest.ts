import { distance } from 'fastest-levenshtein'
import { HubError } from '../../core/client/index.ts'
import type { Context } from './context.ts'
import { Failure, toFailure } from './failure.ts'

/** Share of a slug that may be mistyped. */
const MISTYPED_MAX = 0.4

/** Adds the most similar slug to a failure because of an unknown service. */
export async function withSuggestion<T>(
  { client }: Context,
  slug: string,
  work: Promise<T>,
): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof HubError) || error.code !== 'service_not_found') throw error
    const { body } = await client().send('/v1/services?limit=100')
    const { data } = body as unknown as { readonly data: readonly { readonly slug: string }[] }
    const [best] = data
      .map((each) => ({ slug: each.slug, errors: distance(each.slug, slug) }))
      .filter(({ errors }) => errors <= slug.length * MISTYPED_MAX)
      .toSorted((a, b) => a.errors - b.errors)
    if (!best) throw error
    const { kind, message, code, details } = toFailure(error)!
    throw new Failure(kind, message, `Did you mean ${best.slug}?`, { code, details, cause: error })
  }
}
